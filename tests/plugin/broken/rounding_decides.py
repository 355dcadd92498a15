"""It takes signs of sums of weights, which differ by rounding when the judgments come in another order."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "order-of-judgments-does-not-matter"


class Broken(rankbench.Aggregator):
    """Opponents that an item beats less those that beat it."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        preferred = np.zeros((m, m))
        np.add.at(preferred, (winners, losers), weights)
        return np.sign(preferred - preferred.T).sum(axis=1)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
