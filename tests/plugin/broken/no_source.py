"""It does not say where it is described."""

import rankbench

CAUGHT = "loading"
BY = "does not say its source"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"

    def features(self, x):
        return x.copy()


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
