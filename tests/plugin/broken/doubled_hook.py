"""It defines the hook twice, as where each of several old ones was renamed."""

import rankbench

CAUGHT = "loading"
BY = "defines rankbench_register 2 times, and Python keeps the last; return everything in one list"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        return x.copy()


@rankbench.hookimpl
def rankbench_register():
    return [Broken]


@rankbench.hookimpl
def rankbench_register():  # noqa: F811
    return []
