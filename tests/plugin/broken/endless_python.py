"""It never returns, in Python."""

import rankbench

CAUGHT = "process"
BY = "not done after"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        while True:
            pass


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
