"""It sets a variable of the environment, at its first call."""

import os

import numpy as np

import rankbench

CAUGHT = "check"
BY = "surroundings-not-touched"


class Broken(rankbench.Aggregator):
    """Wins of an item less its losses, by weight."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        os.environ["BROKEN_WAS_HERE"] = "1"
        return np.bincount(winners, weights, m) - np.bincount(losers, weights, m)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
