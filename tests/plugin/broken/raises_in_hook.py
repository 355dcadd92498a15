"""Its hook raises."""

import rankbench

CAUGHT = "loading"
BY = "hook rankbench_register_models raised ZeroDivisionError"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        return x.copy()


@rankbench.hookimpl
def rankbench_register_models():
    return [Broken] * (1 // 0)
