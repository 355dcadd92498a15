"""The squared loss of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.exact import ConvexPhi
from rankbench.surrogates.pairwise import Pairwise

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["PairwiseSquared"]


class PairwiseSquared(Pairwise):
    """Charge ``(1 - (alpha_w - alpha_l))^2`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). It increases beyond t = 1, so that winning by more is charged too,
    and it is not consistent on the aggregator `difference-graph` either.
    """

    name: ClassVar[str] = "pairwise-squared"
    source: ClassVar[str] = "[DMJ13]_ eq. (12), (13)"

    def phi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``(1 - t)^2``."""
        value: NDArray[np.float64] = np.square(1.0 - margin)
        return value

    def dphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``2 (t - 1)``."""
        value: NDArray[np.float64] = 2.0 * (margin - 1.0)
        return value

    def ddphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 2."""
        value: NDArray[np.float64] = np.full_like(margin, 2.0)
        return value

    def exact_phi(self) -> ConvexPhi:
        """Return ``1 - 2t + t^2``."""
        return ConvexPhi.polynomial(1, -2, 1)

    def phi_kernels(self) -> tuple[Kernel, Kernel, Kernel]:
        """Return compiled phi, dphi and ddphi."""
        from rankbench.kernels.signatures import Kernel
        from rankbench.surrogates.kernels.squared import ddphi, dphi, phi

        return Kernel(phi), Kernel(dphi), Kernel(ddphi)
