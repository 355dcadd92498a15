"""Limited-memory BFGS, for smooth problems of any number of parameters."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.kinds.optimizer import Fit, Problem, Solver
from rankbench.optimizers.finite import finite

__all__ = ["LBFGS"]


class LBFGS(Solver):
    """Minimize with SciPy's L-BFGS-B, run to a gradient norm and not to a small decrease.

    Its line search compares objective values, so that the gradient norm cannot get far
    below ``sqrt(eps |objective| curvature)``, about 1e-8 for objectives near 1. `Newton`
    does not have this floor.
    """

    name: ClassVar[str] = "lbfgs"
    source: ClassVar[str] = "Byrd, Lu, Nocedal and Zhu 1995"

    budget: ClassVar[str | None] = "max_iterations"

    tolerance: float = Field(default=1e-8, gt=0, allow_inf_nan=False, description="Gradient norm to stop at.")
    max_iterations: int = Field(default=2000, ge=1, description="Steps to take at most.")
    memory: int = Field(default=20, ge=1, description="Pairs of differences that are remembered.")

    def solve(self, problem: Problem) -> Fit:
        """Minimize from theta = 0.

        `Fit.converged` says whether the gradient norm reached the tolerance, whatever
        SciPy calls success.

        Raises
        ------
        ContenderDiverged
            Objective or gradient are not finite.
        """
        from scipy.optimize import minimize

        calls = 0

        def guarded(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            nonlocal calls
            value, gradient = problem.value_and_gradient(theta)
            finite(self.name, value, gradient, calls)
            calls += 1
            return value, gradient

        theta = np.zeros(problem.dimension)
        iterations = 0
        norm = float(np.linalg.norm(guarded(theta)[1]))
        # Near the minimum the line search can fail on the objective's rounding; the curvature
        # it remembers is then worthless, and a second start from there gets further.
        while norm > self.tolerance and iterations < self.max_iterations:
            result = minimize(
                guarded,
                theta,
                jac=True,
                method="L-BFGS-B",
                options={
                    "maxcor": self.memory,
                    "maxiter": self.max_iterations - iterations,
                    "maxfun": 20 * self.max_iterations,
                    "ftol": 0.0,
                    # SciPy's is the largest entry; this one implies ours, the Euclidean norm.
                    "gtol": self.tolerance / np.sqrt(problem.dimension),
                },
            )
            iterations += int(result.nit)
            reached = float(np.linalg.norm(result.jac))
            if result.nit == 0 or reached > 0.5 * norm:
                if reached < norm:
                    theta, norm = result.x, reached
                break
            theta, norm = result.x, reached
        return Fit(np.asarray(theta, dtype=np.float64), norm, iterations, norm <= self.tolerance)
