"""It takes the name of a built-in component."""

import rankbench

CAUGHT = "loading"
BY = "model 'linear' is contested: rankbench .* and .* both register it"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "linear"
    source = "A test"

    def features(self, x):
        return x.copy()


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
