"""It takes more iterations than it was given."""

import numpy as np
from pydantic import Field

import rankbench

CAUGHT = "check"
BY = "budget-obeyed"


class Broken(rankbench.Solver):
    """Gradient descent with a step of a tenth."""

    name = "broken"
    source = "A test"
    budget = "steps"

    steps: int = Field(default=5000, ge=1, description="Steps to take at most.")

    def solve(self, problem):
        theta = np.zeros(problem.dimension)
        for _ in range(10 * self.steps):
            gradient = problem.value_and_gradient(theta)[1]
            if np.linalg.norm(gradient) < 1e-9:
                break
            theta = theta - 0.1 * gradient
        norm = float(np.linalg.norm(problem.value_and_gradient(theta)[1]))
        return rankbench.Fit(theta, norm, 10 * self.steps, norm < 1e-8)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
