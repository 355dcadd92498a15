"""Its hook raises."""

import rankbench

CAUGHT = "loading"
BY = "hook rankbench_register raised ZeroDivisionError"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        return x.copy()


@rankbench.hookimpl
def rankbench_register():
    return [Broken] * (1 // 0)
