"""It says converged wherever it stops."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "solver-says-how-optimal-it-is"


class Broken(rankbench.Solver):
    """One gradient step."""

    name = "broken"
    source = "A test"

    def solve(self, problem):
        theta = -1e-3 * problem.value_and_gradient(np.zeros(problem.dimension))[1]
        return rankbench.Fit(theta, 0.0, 1, True)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
