"""Accelerated proximal gradient steps, for smooth risks with any penalty."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.kinds.optimizer import Fit, Problem, Solver
from rankbench.kinds.penalty import Penalty, PenaltyName
from rankbench.optimizers.finite import finite
from rankbench.optimizers.penalized import PenalizedProblem

__all__ = ["Proximal"]

EASE, STRAIN = 0.8, 2.0
"""What the curvature estimate is multiplied with after every step, and after one that was too long."""


class Proximal(Solver):
    r"""Minimize risk plus penalty R by accelerated proximal gradient steps.

    .. math:: \theta^{t+1} = \operatorname{prox}_{R/L}(y - \nabla f(y) / L), \qquad
              y = \theta^{t+1} + \tfrac{\tau_t - 1}{\tau_{t+1}} (\theta^{t+1} - \theta^t)

    The exact counterpart of `composite` for the penalties ``l1``, ``radius`` and ``box``
    (FISTA). Momentum is given up whenever it leads uphill. The curvature L is searched for
    at every step by comparing gradients, :math:`(\nabla f(\theta) - \nabla f(y))'(\theta - y)
    \leq L |\theta - y|^2 / 2`, which rounding disturbs less than comparing values.
    """

    name: ClassVar[str] = "proximal"
    source: ClassVar[str] = "Beck and Teboulle 2009; O'Donoghue and Candes 2015"
    needs: ClassVar[frozenset[Property]] = frozenset({"smooth"})
    penalties: ClassVar[frozenset[PenaltyName]] = frozenset({"l2", "l1", "radius", "box"})
    budget: ClassVar[str | None] = "max_iterations"

    tolerance: float = Field(
        default=1e-8, gt=0, allow_inf_nan=False, description="Length of a proximal gradient step to stop at."
    )
    max_iterations: int = Field(default=20_000, ge=1, description="Steps to take at most.")

    def solve(self, problem: Problem) -> Fit:
        """Minimize from theta = 0.

        `Fit.optimality` is `Penalty.optimality`, the gradient norm where there is no more
        than the l2 penalty.

        Raises
        ------
        ContenderDiverged
            Objective or gradient are not finite.
        """
        penalty = problem.penalty if isinstance(problem, PenalizedProblem) else Penalty()
        theta = np.zeros(problem.dimension)
        value, gradient = problem.value_and_gradient(theta)
        finite(self.name, value, gradient, 0)
        off = penalty.optimality(theta, gradient)
        ahead, slope, momentum, curvature, iteration = theta, gradient, 1.0, 1.0, 0
        while off > self.tolerance and iteration < self.max_iterations:
            iteration += 1
            found = self._step(problem, penalty, ahead, slope, curvature, iteration)
            if found is None:
                break
            there, gradient, curvature = found
            off = penalty.optimality(there, gradient)
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
            if (ahead - there) @ (there - theta) > 0:
                momentum, ahead, slope = 1.0, there, gradient
            else:
                ahead = there + (momentum - 1.0) / following * (there - theta)
                momentum = following
                value, slope = problem.value_and_gradient(ahead)
                finite(self.name, value, slope, iteration)
            theta, curvature = there, EASE * curvature
        return Fit(theta, off, iteration, off <= self.tolerance)

    def _step(
        self,
        problem: Problem,
        penalty: Penalty,
        start: NDArray[np.float64],
        slope: NDArray[np.float64],
        curvature: float,
        iteration: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float] | None:
        """Return where a short enough step leads, the gradient there and its curvature; None if no step is left."""
        while True:
            there = penalty.prox(start - slope / curvature, 1.0 / curvature)
            move = there - start
            if not move.any():
                return None
            value, gradient = problem.value_and_gradient(there)
            finite(self.name, value, gradient, iteration)
            if (gradient - slope) @ move <= 0.5 * curvature * float(move @ move):
                return there, gradient, curvature
            curvature *= STRAIN
