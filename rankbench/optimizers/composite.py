"""The stochastic composite gradient step of the paper's experiments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.optimizers.base import StepOptimizer

if TYPE_CHECKING:
    from rankbench.kernels import Kernel

__all__ = ["Composite"]


class Composite(StepOptimizer):
    r"""Step along a sampled gradient, with the l2 penalty taken exactly.

    .. math:: \theta^{t+1} = \operatorname{argmin}_\theta \Big\{ \langle \theta, g_t \rangle
              + \frac{\lambda}{2} |\theta|^2 + \frac{1}{2 \eta_t} |\theta - \theta^t|^2 \Big\}
              = \frac{\theta^t - \eta_t g_t}{1 + \eta_t \lambda}

    with ``eta_t = c / (t + t0)`` (``inverse-t``) or ``c / sqrt(t + t0)``
    (``inverse-sqrt``). The guarantees are for the averaged iterate, which the runner keeps.

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

    schedule: Literal["inverse-t", "inverse-sqrt"] = Field(
        default="inverse-sqrt", description="Step size: c/(t + t0) or c/sqrt(t + t0)."
    )
    c: float = Field(default=0.01, gt=0, allow_inf_nan=False, description="Step constant.")
    t0: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="Steps that the schedule is ahead.")

    def size(self, t: int) -> float:
        """Return the step size eta_t at step t = 1, 2, ..."""
        return self.c / (t + self.t0) if self.schedule == "inverse-t" else self.c / math.sqrt(t + self.t0)

    def step(
        self,
        theta: NDArray[np.float64],
        gradient: NDArray[np.float64],
        t: int,
        l2: float,
        state: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return ``(theta - eta_t g) / (1 + eta_t lambda)``."""
        size = self.size(t)
        return (theta - size * gradient) * (1.0 / (1.0 + size * l2))

    def kernel(self, l2: float) -> Kernel:
        """Return the compiled step."""
        from rankbench.kernels import Kernel
        from rankbench.optimizers.kernels.composite import INVERSE_SQRT, INVERSE_T, step

        schedule = INVERSE_T if self.schedule == "inverse-t" else INVERSE_SQRT
        return Kernel(step, np.array([schedule, self.c, self.t0, l2]))
