"""The declared range is [0, 1], values reach 2."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "within-the-declared-range"


class Broken(rankbench.Loss):
    """One less Kendall's tau, of pairs of unequal relevance."""

    name = "broken"
    source = "A test"
    properties = frozenset({"shift-invariant", "equivariant"})
    range = (0.0, 1.0)

    def value(self, alpha, structure):
        pairs = structure[:, None] > structure[None, :]
        signs = np.sign(alpha[:, None] - alpha[None, :])[pairs]
        return 1 - float(signs.mean()) if len(signs) else 0.0


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
