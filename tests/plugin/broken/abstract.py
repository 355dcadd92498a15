"""Its class leaves out what a model must do."""

import rankbench

CAUGHT = "loading"
BY = "does not implement features"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
