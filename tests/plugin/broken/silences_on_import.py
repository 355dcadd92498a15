"""It silences all warnings of the process when it is imported."""

import warnings

import rankbench

CAUGHT = "process"
BY = "importing it changes the warning filters"

warnings.simplefilter("ignore")


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        return x.copy()


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
