"""The compiled form is another formula than the NumPy form."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "compiled-aggregator-equals-numpy"


def kernel_of():
    from numba import njit

    from rankbench.kernels.signatures import AGGREGATE

    @njit(AGGREGATE)
    def kernel(winners, losers, weights, m, params, work, out):
        out[:] = 0.0
        for c in range(len(winners)):
            out[winners[c]] += weights[c]
            out[losers[c]] -= weights[c]
        out[:] /= len(winners)

    return kernel


class Broken(rankbench.Aggregator):
    """Wins of an item less its losses, by weight."""

    name = "broken"
    source = "A test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        return np.bincount(winners, weights, m) - np.bincount(losers, weights, m)

    def kernel(self):
        from rankbench.kernels.signatures import Kernel

        return Kernel(kernel_of())


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
