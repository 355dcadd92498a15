"""The regression surrogate fits normalized gains by least squares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property
from rankbench.core.gains import (
    TINY,
    Cutoff,
    DiscountName,
    GainName,
    discounts,
    exact_discounts,
    exact_gains,
    gains,
    ideal,
)
from rankbench.interfaces.exact import ConvexPhi, ExactScores, ExactSurrogate, PhiTerm
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.kernels import Kernel


class LeastSquares(ScoreSurrogate):
    """Base of surrogates that declare ``quadratic``: ``|alpha - target|^2 / (2m)``, whatever the target is."""

    def value_and_gradient(
        self, alpha: NDArray[np.float64], target: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return ``|alpha - target|^2 / (2m)`` and ``(alpha - target) / m``."""
        residual = alpha - target
        return float(residual @ residual) / (2 * len(alpha)), residual / len(alpha)

    def hessian(self, alpha: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``I / m``, shape (m, m)."""
        return np.eye(len(alpha)) / len(alpha)

    def gradient_kernel(self) -> Kernel:
        """Return the compiled `value_and_gradient`."""
        from rankbench.surrogates.kernels import least_squares as value_and_gradient

        return Kernel(value_and_gradient)


def exact_squares(target: Sequence[Fraction]) -> ExactSurrogate:
    """Return ``|alpha - target|^2 / (2m)`` in rational numbers."""
    m = len(target)
    square = ConvexPhi.polynomial(0, 0, 1)
    terms = [PhiTerm(Fraction(1, 2 * m), tuple(int(k == j) for k in range(m)), t, square) for j, t in enumerate(target)]
    return ExactSurrogate(tuple(terms), (Fraction(0),) * m)


def normalized_gains(
    gain: GainName, discount: DiscountName, cutoff: float, scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ``G(s_j) / Z(s)`` (14), shape (m,); zeros where there is nothing to divide by; nan if s is not finite."""
    if not np.isfinite(scores).all():
        return np.full_like(scores, np.nan)
    gained = gains(gain, scores)
    best = ideal(gained, _discounts(discount, len(scores), cutoff))
    if best > 0 and scores.any() and best > TINY * np.abs(gained).max():
        return gained / best
    return np.zeros_like(scores)


@lru_cache(maxsize=64)
def _discounts(name: DiscountName, m: int, cutoff: float) -> NDArray[np.float64]:
    """Return `discounts` for reading: queries are of few sizes, and each of their samples needs them."""
    return discounts(name, m, cutoff)


class NormalizedGains(ScoreSurrogate):
    """Base of surrogates that look at ``G(s_j) / Z(s)`` alone.

    Z(s) is the largest discounted sum of gains over all orderings (14). A structure with
    ``Z(s) <= 0`` or ``s = 0`` has nothing to normalize: its target is 0. So has one whose
    Z(s) is within rounding of 0: 1e-12 of its largest gain.
    """

    gain: GainName = Field(default="exp2", description="G(s): exp2 (2^s - 1), identity (s) or exp (e^s).")
    discount: DiscountName = Field(
        default="log", description="F(j): log (log(1 + j)), log2 (log2(1 + j)) or reciprocal (j)."
    )
    cutoff: Cutoff = Field(default=math.inf, description="Last position that counts in Z(s); inf: all.")

    def target(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``G(s_j) / Z(s)``, shape (m,)."""
        return normalized_gains(self.gain, self.discount, self.cutoff, scores)

    def exact_shares(self, scores: ExactScores) -> list[Fraction] | None:
        """Return ``G(s_j) / Z(s)`` in rational numbers, as `target` does in floats; None where G is irrational."""
        gained = exact_gains(self.gain, scores)
        if gained is None:
            return None
        table = exact_discounts(self.discount, len(scores), self.cutoff)
        best = sum((g * d for g, d in zip(sorted(gained, reverse=True), table, strict=True)), Fraction(0))
        return [g / best for g in gained] if best > 0 and any(scores) else [Fraction(0)] * len(scores)

    def gain_rule(self, rule: str, m: int = 8) -> dict[str, object]:
        """Return a rule of docs/reference/certificate-format.md with the gain and the table of discounts."""
        return {"rule": rule, "gain": self.gain, "discounts": exact_discounts(self.discount, m, self.cutoff)}

    def target_kernel(self) -> Kernel:
        """Return the compiled `target`."""
        from rankbench.kernels.gains import gain_params
        from rankbench.surrogates.kernels import normalized_target as target
        from rankbench.surrogates.kernels import work

        return Kernel(target, gain_params(self.gain, self.discount, self.cutoff), work)


class GainShares(NormalizedGains):
    r"""Base of surrogates that need nonnegative weights w_j in place of ``G(s_j) / Z(s)``.

    .. math:: w_j = \frac{G(s_j)}{Z(s)} - \min\left(0, \min_l \frac{G(s_l)}{Z(s)}\right)

    Where no gain is negative, these are the normalized gains. Elsewhere (centred scores)
    a negative factor would make the surrogate concave and unbounded below. Raising all
    weights of a structure alike changes none of the differences
    :math:`\int (w_j - w_l) \, d\mu`, which are all that consistency for the NDCG family
    depends on ([DMJ13]_ Corollary 1).
    """

    def target(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights w_j >= 0, shape (m,)."""
        shares = super().target(scores)
        return shares - min(0.0, float(shares.min()))

    def exact_shares(self, scores: ExactScores) -> list[Fraction] | None:
        """Return the weights w_j >= 0 in rational numbers."""
        shares = super().exact_shares(scores)
        return None if shares is None else [share - min(Fraction(0), *shares) for share in shares]

    def target_kernel(self) -> Kernel:
        """Return the compiled `target`."""
        from rankbench.kernels.gains import gain_params
        from rankbench.surrogates.kernels import raised_target, work

        return Kernel(raised_target, gain_params(self.gain, self.discount, self.cutoff), work)


class Regression(LeastSquares, NormalizedGains):
    """Fit scores to the normalized gains ``G(s_j) / Z(s)`` by least squares.

    ``phi(alpha, s) = 1/(2m) sum_j (alpha_j - G(s_j)/Z(s))^2``, where Z(s) is the largest
    discounted sum of gains over all orderings (14). A structure with ``Z(s) <= 0`` or
    ``s = 0`` has nothing to normalize: its target is 0. So has one whose Z(s) is
    within rounding of 0: 1e-12 of its largest gain. The runner makes scores 0 that are all
    rounding beside what one judgment does (`rankbench.methods.erm.kernels.targets.ROUNDING`).

    ``normalize=false`` leaves Z(s) out: its minimizer orders items by the mean of G(s_j),
    which is consistent for losses that do not divide by Z(s), not for the NDCG family.

    Prefer it for the NDCG family: it is consistent, and its minimizer has a closed form (`optimizer=exact`). Take
    the gain and the discount of the loss.
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
        from rankbench.surrogates.kernels import plain_target

        return Kernel(plain_target, gain_params(self.gain, self.discount, 1))

    def exact(self, scores: ExactScores) -> ExactSurrogate | None:
        """Return the squares in rational numbers."""
        target: list[Fraction] | None = self.exact_shares(scores) if self.normalize else exact_gains(self.gain, scores)
        return exact_squares(target) if target is not None else None

    def exact_rule(self) -> Mapping[str, object]:
        """Return the rule of this form."""
        return self.gain_rule("squares-of-shares" if self.normalize else "squares-of-gains")
