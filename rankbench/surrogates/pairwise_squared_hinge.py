"""The squared hinge loss of a comparison."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.exact import ConvexPhi
from rankbench.surrogates.pairwise import Pairwise

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["PairwiseSquaredHinge"]


class PairwiseSquaredHinge(Pairwise):
    """Charge ``max(0, 1 - (alpha_w - alpha_l))^2`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). Its derivative is continuous, with a second derivative everywhere
    but at t = 1; `ddphi` takes the flat side there, which Newton steps can do with.
    """

    name: ClassVar[str] = "pairwise-squared-hinge"
    source: ClassVar[str] = "Chapelle and Keerthi 2010; [DMJ13]_ eq. (12), (13)"

    def phi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``max(0, 1 - t)^2``."""
        value: NDArray[np.float64] = np.square(np.maximum(1.0 - margin, 0.0))
        return value

    def dphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``-2 max(0, 1 - t)``."""
        value: NDArray[np.float64] = -2.0 * np.maximum(1.0 - margin, 0.0)
        return value

    def ddphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 2 where t < 1, else 0."""
        value: NDArray[np.float64] = 2.0 * (margin < 1.0).astype(np.float64)
        return value

    def exact_phi(self) -> ConvexPhi:
        """Return ``1 - 2t + t^2`` up to 1, then 0."""
        return ConvexPhi(((Fraction(1), (Fraction(1), Fraction(-2), Fraction(1))), (None, (Fraction(0),))))

    def phi_kernels(self) -> tuple[Kernel, Kernel, Kernel]:
        """Return compiled phi, dphi and ddphi."""
        from rankbench.kernels.signatures import Kernel
        from rankbench.surrogates.kernels.squared_hinge import ddphi, dphi, phi

        return Kernel(phi), Kernel(dphi), Kernel(ddphi)
