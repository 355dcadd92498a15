"""It says smooth, and has a kink that its second derivative knows nothing of."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "gradient-is-the-difference-quotient"


class Broken(rankbench.PairwiseSurrogate):
    """A hinge whose derivative is rounded off: max(0, 1 - t)."""

    name = "broken"
    source = "A test"
    properties = frozenset({"convex", "smooth"})

    def phi(self, margin):
        return np.clip(1 - margin, 0, None)

    def dphi(self, margin):
        return -np.clip(1 - margin, 0, 1)

    def ddphi(self, margin):
        return ((margin > 0) & (margin < 1)).astype(float)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
