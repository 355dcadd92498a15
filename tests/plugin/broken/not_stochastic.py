"""It says stochastic, and gives the same scores for every seed."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "stochastic-ones-vary"


class Broken(rankbench.Method):
    """Scores that were drawn once and for all."""

    name = "broken"
    source = "A test"
    properties = frozenset({"stochastic"})

    def fit(self, block):
        return rankbench.Fitted(lambda queries: np.random.default_rng(1).normal(size=len(queries.x)))


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
