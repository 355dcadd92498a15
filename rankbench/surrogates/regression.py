"""Least squares on normalized gains, consistent for the NDCG family ([DMJ13]_ Corollary 1)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.discounts import exact_gains, gains
from rankbench.kinds.exact import ExactScores, ExactSurrogate
from rankbench.surrogates.least_squares import LeastSquares, exact_squares
from rankbench.surrogates.normalized import NormalizedGains

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["Regression"]


class Regression(LeastSquares, NormalizedGains):
    """Fit scores to the normalized gains ``G(s_j) / Z(s)`` by least squares.

    ``phi(alpha, s) = 1/(2m) sum_j (alpha_j - G(s_j)/Z(s))^2``, where Z(s) is the largest
    discounted sum of gains over all orderings (14). A structure with ``Z(s) <= 0`` or
    ``s = 0`` has nothing to normalize: its target is 0. So has one whose Z(s) is
    within rounding of 0: 1e-12 of its largest gain. The runner makes scores 0 that are all
    rounding beside what one judgment does (`rankbench.methods.erm.kernels.targets.ROUNDING`).

    ``normalize=false`` leaves Z(s) out: its minimizer orders items by the mean of G(s_j),
    which is consistent for losses that do not divide by Z(s), not for the NDCG family.
    """

    name: ClassVar[str] = "regression"
    source: ClassVar[str] = "[DMJ13]_ eq. (28)"
    properties: ClassVar[frozenset[Property]] = frozenset(
        {"convex", "smooth", "quadratic", "equivariant", "target-linear"}
    )

    normalize: bool = Field(
        default=True, description="Divide by Z(s); if not, the target is G(s_j), and F does not matter."
    )

    def target(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``G(s_j) / Z(s)`` or, if not normalized, ``G(s_j)``, shape (m,)."""
        return super().target(scores) if self.normalize else gains(self.gain, scores, scaled=False)

    def target_kernel(self) -> Kernel:
        """Return the compiled `target`."""
        if self.normalize:
            return super().target_kernel()
        from rankbench.kernels.gains import gain_params
        from rankbench.kernels.signatures import Kernel
        from rankbench.surrogates.kernels.normalized import plain_target

        return Kernel(plain_target, gain_params(self.gain, self.discount, 1))

    def exact(self, scores: ExactScores) -> ExactSurrogate | None:
        """Return the squares in rational numbers."""
        target: list[Fraction] | None = self.exact_shares(scores) if self.normalize else exact_gains(self.gain, scores)
        return exact_squares(target) if target is not None else None

    def exact_rule(self) -> Mapping[str, object]:
        """Return the rule of this form."""
        return self.gain_rule("squares-of-shares" if self.normalize else "squares-of-gains")
