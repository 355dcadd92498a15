"""The hinge loss of a comparison: the ranking support vector machine."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Property
from rankbench.kinds.exact import ConvexPhi
from rankbench.surrogates.pairwise import Pairwise

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["PairwiseHinge"]


class PairwiseHinge(Pairwise):
    """Charge ``max(0, 1 - (alpha_w - alpha_l))`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). Convex and not smooth; `dphi` is a subgradient, at the kink t = 1
    the one of the flat side.
    """

    name: ClassVar[str] = "pairwise-hinge"
    source: ClassVar[str] = "Herbrich, Graepel and Obermayer 2000; [DMJ13]_ eq. (12), (13)"
    properties: ClassVar[frozenset[Property]] = frozenset({"convex", "hinge", "shift-invariant", "equivariant"})

    def phi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``max(0, 1 - t)``."""
        value: NDArray[np.float64] = np.maximum(1.0 - margin, 0.0)
        return value

    def dphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``-1`` where t < 1, else 0."""
        value: NDArray[np.float64] = -(margin < 1.0).astype(np.float64)
        return value

    def exact_phi(self) -> ConvexPhi:
        """Return ``1 - t`` up to 1, then 0."""
        return ConvexPhi(((Fraction(1), (Fraction(1), Fraction(-1))), (None, (Fraction(0),))))

    def phi_kernels(self) -> tuple[Kernel, Kernel, None]:
        """Return compiled phi and dphi."""
        from rankbench.kernels.signatures import Kernel
        from rankbench.surrogates.kernels.hinge import dphi, phi

        return Kernel(phi), Kernel(dphi), None
