"""It divides by a parameter that may be 0."""

import numpy as np
from pydantic import Field

import rankbench

CAUGHT = "process"
BY = "ZeroDivisionError"


class Broken(rankbench.Aggregator):
    """Wins of an item, in units."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    unit: float = Field(default=1.0, ge=0, le=10, allow_inf_nan=False, description="Wins that are worth one.")

    def aggregate(self, winners, losers, weights, m):
        return np.bincount(winners, weights, m) * (1.0 / self.unit)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
