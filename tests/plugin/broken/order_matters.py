"""The last judgment counts double, and it does not say sequential."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "order-of-judgments-does-not-matter"


class Broken(rankbench.Aggregator):
    """Wins of an item less its losses, by weight."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        weights = np.append(weights[:-1], 2 * weights[-1])
        return np.bincount(winners, weights, m) - np.bincount(losers, weights, m)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
