"""It says convex, and is not far from 0."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "convex-at-random-chords"


class Broken(rankbench.PairwiseSurrogate):
    """A bounded charge: 1 / (1 + exp(t))."""

    name = "broken"
    source = "A test"
    properties = frozenset({"convex", "shift-invariant"})

    def phi(self, margin):
        return 0.5 - 0.5 * np.tanh(margin / 2)

    def dphi(self, margin):
        return -0.25 / np.cosh(np.clip(margin / 2, -300, 300)) ** 2


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
