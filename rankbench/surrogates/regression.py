"""Least squares on normalized gains, consistent for the NDCG family ([DMJ13]_ Corollary 1)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.discounts import TINY, Cutoff, DiscountName, GainName, discounts, gains, ideal
from rankbench.surrogates.base import ScoreSurrogate

if TYPE_CHECKING:
    from rankbench.kernels import Kernel

__all__ = ["Regression"]


class Regression(ScoreSurrogate):
    """Fit scores to the normalized gains ``G(s_j) / Z(s)`` by least squares.

    ``phi(alpha, s) = 1/(2m) sum_j (alpha_j - G(s_j)/Z(s))^2``, where Z(s) is the largest
    discounted sum of gains over all orderings (14). A structure with ``Z(s) <= 0`` or
    ``s = 0`` has nothing to normalize: its target is 0. So has one whose Z(s) is so much
    smaller than its largest gain that their quotient is no number.
    """

    name: ClassVar[str] = "regression"
    source: ClassVar[str] = "[DMJ13]_ eq. (28)"
    properties: ClassVar[frozenset[Property]] = frozenset({"convex", "smooth", "quadratic", "equivariant"})

    gain: GainName = Field(default="exp2", description="G(s): exp2 (2^s - 1), identity (s) or exp (e^s).")
    discount: DiscountName = Field(
        default="log", description="F(j): log (log(1 + j)), log2 (log2(1 + j)) or reciprocal (j)."
    )
    cutoff: Cutoff = Field(default=math.inf, description="Last position that counts in Z(s); inf: all.")

    def target(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``G(s_j) / Z(s)``, shape (m,)."""
        gain = gains(self.gain, scores)
        best = ideal(gain, discounts(self.discount, len(scores), self.cutoff))
        if best > 0 and scores.any() and best > TINY * np.abs(gain).max():
            return gain / best
        return np.zeros_like(scores)

    def value_and_gradient(
        self, alpha: NDArray[np.float64], target: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return ``|alpha - target|^2 / (2m)`` and ``(alpha - target) / m``."""
        residual = alpha - target
        return float(residual @ residual) / (2 * len(alpha)), residual / len(alpha)

    def target_kernel(self) -> Kernel:
        """Return the compiled `target`."""
        from rankbench.kernels import Kernel
        from rankbench.losses.kernels.gains import gain_params
        from rankbench.surrogates.kernels.regression import target, work

        return Kernel(target, gain_params(self.gain, self.discount, self.cutoff), work)

    def gradient_kernel(self) -> Kernel:
        """Return the compiled `value_and_gradient`."""
        from rankbench.kernels import Kernel
        from rankbench.surrogates.kernels.regression import value_and_gradient

        return Kernel(value_and_gradient)
