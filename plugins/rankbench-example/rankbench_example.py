import numpy as np
import rankbench


class SquaredHinge(rankbench.PairwiseSurrogate):
    """Squared hinge: phi(t) = max(0, 1 - t)^2 / 2 of the margin t between winner and loser."""

    name = "squared-hinge"
    source = "Chapelle and Keerthi, 2010"
    properties = frozenset({"convex", "shift-invariant"})

    def phi(self, margin):
        return np.maximum(0.0, 1.0 - margin) ** 2 / 2

    def dphi(self, margin):
        return -np.maximum(0.0, 1.0 - margin)


@rankbench.hookimpl
def rankbench_register():
    return [SquaredHinge]
