"""The logistic loss of a comparison: RankNet's, and the likelihood of Bradley-Terry-Luce."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.exact import ConvexPhi
from rankbench.surrogates.pairwise import Pairwise

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["PairwiseLogistic"]


class PairwiseLogistic(Pairwise):
    """Charge ``log(1 + exp(alpha_l - alpha_w))`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). With its defaults it is the negative log-likelihood of the
    Bradley-Terry-Luce model (26).
    """

    name: ClassVar[str] = "pairwise-logistic"
    source: ClassVar[str] = "[DMJ13]_ eq. (29)"

    def phi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``log(1 + e^-t)``."""
        return np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))

    def dphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``-1 / (1 + e^t)``."""
        e = np.exp(-np.abs(margin))
        return -np.where(margin > 0, e, 1.0) / (1.0 + e)

    def ddphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``e^t / (1 + e^t)^2``."""
        e = np.exp(-np.abs(margin))
        return e / np.square(1.0 + e)

    def exact_phi(self) -> ConvexPhi:
        """Return the expression."""
        return ConvexPhi(expression="log(1 + exp(-t))", infimum=Fraction(0))

    def phi_kernels(self) -> tuple[Kernel, Kernel, Kernel]:
        """Return compiled phi, dphi and ddphi."""
        from rankbench.kernels.signatures import Kernel
        from rankbench.surrogates.kernels.logistic import ddphi, dphi, phi

        return Kernel(phi), Kernel(dphi), Kernel(ddphi)
