"""It never comes back from being imported."""

import time

CAUGHT = "process"
BY = "importing it: not done after"

while True:
    time.sleep(1)
