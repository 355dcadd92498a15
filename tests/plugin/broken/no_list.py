"""Its hook returns a class instead of a list of them."""

import rankbench

CAUGHT = "loading"
BY = "returned ModelMetaclass, not a list"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        return x.copy()


@rankbench.hookimpl
def rankbench_register():
    return Broken
