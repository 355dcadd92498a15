"""Composite gradient steps (25) and accelerated proximal gradients minimize regularized risks."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property
from rankbench.interfaces.method import Fit, Penalty, PenaltyName, Problem, Solver, StepOptimizer
from rankbench.kernels import Kernel
from rankbench.optimizers.newton import finite
from rankbench.optimizers.score_problem import PenalizedProblem


class Composite(StepOptimizer):
    r"""Step along a sampled gradient, with the penalty R taken exactly.

    .. math:: \theta^{t+1} = \operatorname{argmin}_\theta \Big\{ \langle \theta, g_t \rangle
              + R(\theta) + \frac{1}{2 \eta_t} |\theta - \theta^t|^2 \Big\}
              = \operatorname{prox}_{\eta_t R}(\theta^t - \eta_t g_t)

    with ``eta_t = c / (t + t0)`` (``inverse-t``) or ``c / sqrt(t + t0)``
    (``inverse-sqrt``); for the l2 penalty it is
    :math:`(\theta^t - \eta_t g_t) / (1 + \eta_t \lambda)`, see `Penalty` for the others.

    The answer is an average of the iterates after each step: of all (``full``, which the
    guarantees of the paper are for), of the last share `tail` of them (``tail``, which keeps
    the 1/T rate without the logarithm that early iterates cost, Rakhlin, Shamir and
    Sridharan 2012), or the last one alone (``off``). An average of sparse iterates is
    sparse only where all of them are.

    Prefer it to study stochastic optimization, or where the risk has no short form: surrogates of pairs at a k in
    between. It takes every surrogate and penalty.

    Notes
    -----
    c and t0 are plain numbers, in the units of the features. With L the largest
    curvature of a sampled risk (for regression the largest eigenvalue of ``X'X/m``, at
    most the mean ``|x|^2``, near d for z-scored features):

    - ``inverse-t`` is for strongly convex risks. ``c = 1/lambda`` is the step of the
      1/T guarantee, ``eta_t = 1/(lambda (t + t0))``, and ``t0 >= L/lambda`` keeps the
      first steps at or below 1/L; without that the early steps overshoot, the more the
      smaller lambda. A c much below 1/(curvature) is safe and slow.
    - ``inverse-sqrt`` needs no lambda, and has 1/sqrt(T); ``c <= 1/L``.

    The default c = 0.01 is such a 1/L for about a hundred z-scored features.
    """

    name: ClassVar[str] = "composite"
    source: ClassVar[str] = "[DMJ13]_ eq. (25)"
    penalties: ClassVar[frozenset[PenaltyName]] = frozenset({"l2", "l1", "radius", "box"})

    schedule: Literal["inverse-t", "inverse-sqrt"] = Field(
        default="inverse-sqrt", description="Step size: c/(t + t0) or c/sqrt(t + t0)."
    )
    c: float = Field(default=0.01, gt=0, allow_inf_nan=False, description="Step constant.")
    t0: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="Steps that the schedule is ahead.")
    averaging: Literal["full", "tail", "off"] = Field(
        default="full", description="Iterates that are averaged: all, the last share `tail`, or the last one alone."
    )
    tail: float = Field(default=0.5, gt=0, le=1, description="Share of the iterates, for averaging=tail.")

    def size(self, t: int) -> float:
        """Return the step size eta_t at step t = 1, 2, ..."""
        return self.c / (t + self.t0) if self.schedule == "inverse-t" else self.c / math.sqrt(t + self.t0)

    def unaveraged(self, steps: int) -> int:
        """Return the number of first iterates, of `steps`, that the average leaves out; at least one is in it."""
        if self.averaging == "full":
            return 0
        kept = 1 if self.averaging == "off" else max(1, math.ceil(self.tail * steps))
        return steps - kept

    def step(
        self,
        theta: NDArray[np.float64],
        gradient: NDArray[np.float64],
        t: int,
        penalty: Penalty,
        state: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return ``prox(theta - eta_t g)``."""
        size = self.size(t)
        return penalty.prox(theta - size * gradient, size)

    def kernel(self, penalty: Penalty) -> Kernel:
        """Return the compiled step."""
        from rankbench.optimizers.kernels import INVERSE_SQRT, INVERSE_T, step

        schedule = INVERSE_T if self.schedule == "inverse-t" else INVERSE_SQRT
        return Kernel(step, np.concatenate([[schedule, self.c, self.t0], penalty.params]))


EASE, STRAIN = 0.8, 2.0
"""Factors of the curvature estimate after every step, and after one that was too long."""


class Proximal(Solver):
    r"""Minimize risk plus penalty R by accelerated proximal gradient steps.

    .. math:: \theta^{t+1} = \operatorname{prox}_{R/L}(y - \nabla f(y) / L), \qquad
              y = \theta^{t+1} + \tfrac{\tau_t - 1}{\tau_{t+1}} (\theta^{t+1} - \theta^t)

    The exact counterpart of `composite` for the penalties ``l1``, ``radius`` and ``box``
    (FISTA). Momentum is given up whenever it leads uphill. The curvature L is searched for
    at every step by comparing gradients, :math:`(\nabla f(\theta) - \nabla f(y))'(\theta - y)
    \leq L |\theta - y|^2 / 2`, which rounding disturbs less than comparing values.

    Prefer it for smooth surrogates with ``l1``, ``radius`` or ``box``. Its optimality is the length of a proximal
    step, which is 0 exactly at minimizers.
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
        """Return the point after a short enough step, the gradient there and its curvature; None if no step is left."""
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
