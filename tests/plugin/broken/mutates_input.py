"""It sorts the weights that it was given."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "inputs-not-mutated"


class Broken(rankbench.Aggregator):
    """Wins of an item less its losses, by weight."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        weights.sort()
        return np.bincount(winners, weights, m) - np.bincount(losers, weights, m)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
