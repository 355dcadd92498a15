"""A sign of the derivative is wrong."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "gradient-is-the-difference-quotient"


class Broken(rankbench.PairwiseSurrogate):
    """Logistic: log(1 + exp(-t))."""

    name = "broken"
    source = "A test"
    properties = frozenset({"convex", "shift-invariant"})

    def phi(self, margin):
        return np.logaddexp(0, -margin)

    def dphi(self, margin):
        return 1 / (1 + np.exp(np.clip(margin, -500, 500)))


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
