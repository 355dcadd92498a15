"""It returns one number for each judgment instead of each item."""

import rankbench

CAUGHT = "check"
BY = "shape-and-finiteness"


class Broken(rankbench.Aggregator):
    """Wins of an item less its losses, by weight."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        return weights - 0.5


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
