"""It draws from a generator without a seed."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "same-input-same-result"


class Broken(rankbench.Method):
    """Random scores."""

    name = "broken"
    source = "A test"
    properties = frozenset({"stochastic"})

    def fit(self, block):
        return rankbench.Fitted(lambda queries: np.random.default_rng().normal(size=len(queries.x)))


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
