"""It ends the process when it is imported."""

import os

CAUGHT = "process"
BY = "importing it: it ended its process (exit code 3)"

os._exit(3)
