"""Ties are broken by the number of the item, and it says equivariant."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "equivariant-under-relabelling"


class Broken(rankbench.Aggregator):
    """Wins of an item less its losses, by weight."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        return np.bincount(winners, weights, m) - np.bincount(losers, weights, m) + 1e-3 * np.arange(m)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
