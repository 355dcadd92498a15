"""The stochastic composite gradient step of the paper's experiments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.kinds.optimizer import StepOptimizer
from rankbench.kinds.penalty import Penalty, PenaltyName

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["Composite"]


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
        """Return how many of `steps` iterates the average leaves out; at least one is in it."""
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
        from rankbench.kernels.signatures import Kernel
        from rankbench.optimizers.kernels.composite import INVERSE_SQRT, INVERSE_T, step

        schedule = INVERSE_T if self.schedule == "inverse-t" else INVERSE_SQRT
        return Kernel(step, np.concatenate([[schedule, self.c, self.t0], penalty.params]))
