"""It silences all warnings of the process."""

import itertools
import warnings

import numpy as np

import rankbench

CAUGHT = "check"
BY = "surroundings-not-touched"

CALLS = itertools.count()


class Broken(rankbench.Aggregator):
    """Wins of an item less its losses, by weight."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        warnings.filterwarnings("ignore", message=f"call {next(CALLS)}")
        return np.bincount(winners, weights, m) - np.bincount(losers, weights, m)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
