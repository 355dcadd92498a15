"""The exponential loss of a comparison: RankBoost's."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.exact import ConvexPhi
from rankbench.surrogates.pairwise import Pairwise

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["PairwiseExponential"]


class PairwiseExponential(Pairwise):
    """Charge ``exp(alpha_l - alpha_w)`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). With ``form=margin`` it is (12) again, with weights
    ``exp(h(Y))``. Margins below -709 cost infinitely much.
    """

    name: ClassVar[str] = "pairwise-exponential"
    source: ClassVar[str] = "Freund, Iyer, Schapire and Singer 2003; [DMJ13]_ eq. (12), (13)"

    def phi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``e^-t``."""
        with np.errstate(over="ignore"):
            phi: NDArray[np.float64] = np.exp(-margin)
        return phi

    def dphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``-e^-t``."""
        with np.errstate(over="ignore"):
            dphi: NDArray[np.float64] = -np.exp(-margin)
        return dphi

    def ddphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``e^-t``."""
        with np.errstate(over="ignore"):
            ddphi: NDArray[np.float64] = np.exp(-margin)
        return ddphi

    def exact_phi(self) -> ConvexPhi:
        """Return the expression."""
        return ConvexPhi(expression="exp(-t)", infimum=Fraction(0))

    def phi_kernels(self) -> tuple[Kernel, Kernel, Kernel]:
        """Return compiled phi, dphi and ddphi."""
        from rankbench.kernels.signatures import Kernel
        from rankbench.surrogates.kernels.exponential import ddphi, dphi, phi

        return Kernel(phi), Kernel(dphi), Kernel(ddphi)
