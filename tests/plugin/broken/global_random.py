"""It draws from numpy.random, and puts noise on every score."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "draws-from-no-global-generator"


class Broken(rankbench.Aggregator):
    """Wins of an item less its losses, by weight."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        return np.bincount(winners, weights, m) - np.bincount(losers, weights, m) + 1e-9 * np.random.rand(m)  # noqa: NPY002


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
