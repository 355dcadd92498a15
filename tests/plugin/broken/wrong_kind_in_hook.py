"""Its hook for models returns a loss."""

import rankbench

CAUGHT = "loading"
BY = "does not derive from rankbench.kinds.model.Model"


class Broken(rankbench.Loss):
    """Nothing is lost."""

    name = "broken"
    source = "A test"
    range = (0.0, 1.0)

    def value(self, alpha, structure):
        return 0.0


@rankbench.hookimpl
def rankbench_register_models():
    return [Broken]
