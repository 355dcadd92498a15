"""Items without judgments get 0/0."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "edge-cases"


class Broken(rankbench.Aggregator):
    """Wins of an item less its losses, by weight."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        won, lost = np.bincount(winners, weights, m), np.bincount(losers, weights, m)
        with np.errstate(invalid="ignore"):
            return won / (won + lost)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
