"""Damped Newton, L-BFGS and closed forms solve whole blocks."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.method import UNFINISHED, Fit, Problem, Solver
from rankbench.optimizers.problems import QuadraticProblem


def finite(solver: str, value: float, gradient: NDArray[np.float64], iteration: int) -> None:
    """Raise `ContenderDiverged` unless the objective and its gradient (or Hessian) are finite."""
    if not (math.isfinite(value) and np.isfinite(gradient).all()):
        raise ContenderDiverged(
            f"{solver}: objective or derivatives are not finite at iteration {iteration}; "
            "check the scale of the features, or raise lambda"
        )


SUFFICIENT = 1e-4
SHORTEST = 2.0**-30


class Newton(Solver):
    """Minimize by Newton steps with a backtracking line search.

    A Hessian costs several gradients, so that one is kept for as long as a full step
    with it shrinks the gradient norm tenfold (Shamanskii's method). That changes the
    path, not where it ends.

    Prefer it for smooth surrogates with up to a few thousand features; it deals with the penalty ``lambda`` alone.
    """

    name: ClassVar[str] = "newton"
    source: ClassVar[str] = "Boyd and Vandenberghe 2004, algorithm 9.5"
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
        first = norm = float(np.linalg.norm(gradient))
        iteration = 0
        while norm > self.tolerance and iteration < self.max_iterations:
            iteration += 1
            fresh = factor is None
            if factor is None:
                hessian = problem.hessian(theta)
                finite(self.name, value, hessian, iteration)
                factor = _Factor(hessian)
            moved = self._search(problem, theta, value, gradient, factor.step(gradient))
            while moved is None and fresh and norm > UNFINISHED * first and factor.firmer():
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
        self._hessian, self._ridge = hessian, 0.0
        self._scale = float(np.trace(hessian)) / len(hessian) or 1.0
        self._factorize(1e-12 * self._scale)

    def _factorize(self, least: float) -> None:
        from scipy.linalg import LinAlgError, cho_factor

        while True:
            try:
                self.factor = cho_factor(self._hessian + self._ridge * np.eye(len(self._hessian)))
                return
            except LinAlgError:
                self._ridge = max(10 * self._ridge, least)

    def firmer(self) -> bool:
        """Increase the diagonal, so that steps are shorter and nearer to the gradient; False at the largest increase.

        Where phi is straight at all margins, as a smooth hinge at theta = 0, the Hessian knows no length of a step.
        """
        self._ridge = max(1e6 * self._ridge, self._scale)
        self._factorize(self._ridge)
        return self._ridge < 1e24 * self._scale

    def step(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the Newton step ``-H^-1 g``."""
        from scipy.linalg import cho_solve

        solved: NDArray[np.float64] = cho_solve(self.factor, gradient)
        return -solved


class LBFGS(Solver):
    """Minimize with SciPy's L-BFGS-B, run to a gradient norm and not to a small decrease.

    Its line search compares objective values, so that the gradient norm cannot get far
    below ``sqrt(eps |objective| curvature)``, about 1e-8 for objectives near 1. `Newton`
    does not have this floor.

    Prefer it to `newton` where features are many; it deals with the penalty ``lambda`` alone.
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


class Exact(Solver):
    """Solve the normal equations through the problem's eigendecomposition.

    ``theta = (H + lambda I)^-1 b``; with ``lambda = 0`` and a singular H the minimizer of
    least norm.

    Prefer it for quadratic surrogates (`regression`, `linear`); it deals with the penalty ``lambda`` alone.
    """

    name: ClassVar[str] = "exact"
    source: ClassVar[str] = "Normal equations of ridge regression (Hoerl and Kennard 1970)"

    needs: ClassVar[frozenset[Property]] = frozenset({"quadratic"})

    tolerance: float = Field(
        default=1e-8, gt=0, allow_inf_nan=False, description="Gradient norm up to which the fit counts as converged."
    )

    def solve(self, problem: Problem) -> Fit:
        """Return the minimizer with the gradient norm that rounding left.

        Raises
        ------
        SpecError
            The problem is not quadratic.
        ContenderDiverged
            The solution is not finite.
        """
        if not isinstance(problem, QuadraticProblem):
            raise SpecError(
                "optimizer 'exact' needs a quadratic surrogate, such as regression; use newton or lbfgs for this one"
            )
        theta = problem.minimizer()
        value, gradient = problem.value_and_gradient(theta)
        finite(self.name, value, gradient, 1)
        norm = float(np.linalg.norm(gradient))
        return Fit(theta, norm, 1, norm <= self.tolerance)
