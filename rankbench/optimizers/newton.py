"""Damped Newton for smooth convex problems of a few hundred parameters."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.kinds.optimizer import Fit, Problem, Solver
from rankbench.optimizers.finite import finite

__all__ = ["Newton"]

SUFFICIENT = 1e-4
SHORTEST = 2.0**-30


class Newton(Solver):
    """Minimize by Newton steps with a backtracking line search.

    A Hessian costs several gradients, so that one is kept for as long as a full step
    with it shrinks the gradient norm tenfold (Shamanskii's method). That changes the
    path, not where it ends.
    """

    name: ClassVar[str] = "newton"
    source: ClassVar[str] = "Boyd and Vandenberghe 2004, algorithm 9.5; Shamanskii 1967"
    needs: ClassVar[frozenset[Property]] = frozenset({"smooth"})
    budget: ClassVar[str | None] = "max_iterations"

    tolerance: float = Field(default=1e-8, gt=0, allow_inf_nan=False, description="Gradient norm to stop at.")
    max_iterations: int = Field(default=100, ge=1, description="Steps to take at most.")
    reuse: float = Field(
        default=0.1, ge=0, lt=1, description="Keep a Hessian while steps shrink the gradient norm to this share."
    )

    def solve(self, problem: Problem, start: NDArray[np.float64] | None = None) -> Fit:
        """Minimize from theta = 0, or from `start`, shape (d,).

        `Fit.converged` says whether the gradient norm reached the tolerance; where no step
        lowers the objective any more in floating point, the fit stops short and says so.

        Raises
        ------
        SpecError
            The surrogate is not smooth.
        ContenderDiverged
            Objective or gradient are not finite.
        """
        theta = np.zeros(problem.dimension) if start is None else start
        value, gradient = problem.value_and_gradient(theta)
        finite(self.name, value, gradient, 0)
        factor: _Factor | None = None
        norm = float(np.linalg.norm(gradient))
        iteration = 0
        while norm > self.tolerance and iteration < self.max_iterations:
            iteration += 1
            fresh = factor is None
            if factor is None:
                hessian = problem.hessian(theta)
                finite(self.name, value, hessian, iteration)
                factor = _Factor(hessian)
            moved = self._search(problem, theta, value, gradient, factor.step(gradient))
            if moved is None:
                if fresh:
                    break
                factor = None
                continue
            length, theta, value, gradient = moved
            finite(self.name, value, gradient, iteration)
            before, norm = norm, float(np.linalg.norm(gradient))
            if length < 1.0 or norm > self.reuse * before:
                factor = None
        return Fit(theta, norm, iteration, norm <= self.tolerance)

    def _search(
        self,
        problem: Problem,
        theta: NDArray[np.float64],
        value: float,
        gradient: NDArray[np.float64],
        step: NDArray[np.float64],
    ) -> tuple[float, NDArray[np.float64], float, NDArray[np.float64]] | None:
        """Halve the step until the objective falls enough; None if it never does.

        Near the minimum the fall is smaller than the objective's own rounding. A step
        that keeps the objective within rounding and shrinks the gradient is then a good
        one.
        """
        slope = float(gradient @ step)
        norm = float(np.linalg.norm(gradient))
        rounding = 8 * np.finfo(np.float64).eps * max(abs(value), 1.0)
        length = 1.0
        while length >= SHORTEST:
            there = theta + length * step
            new_value, new_gradient = problem.value_and_gradient(there)
            falls = new_value <= value + SUFFICIENT * length * slope
            if falls or (new_value <= value + rounding and np.linalg.norm(new_gradient) < norm):
                return length, there, new_value, new_gradient
            length *= 0.5
        return None


class _Factor:
    """A Cholesky factor of the Hessian, its diagonal raised if it is not positive definite."""

    def __init__(self, hessian: NDArray[np.float64]) -> None:
        from scipy.linalg import LinAlgError, cho_factor

        ridge = 0.0
        scale = float(np.trace(hessian)) / len(hessian) or 1.0
        while True:
            try:
                self.factor = cho_factor(hessian + ridge * np.eye(len(hessian)))
                return
            except LinAlgError:
                ridge = max(10 * ridge, 1e-12 * scale)

    def step(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the Newton step ``-H^-1 g``."""
        from scipy.linalg import cho_solve

        solved: NDArray[np.float64] = cho_solve(self.factor, gradient)
        return -solved
