"""The value-regularized linear loss of [DMJ10]_, for any strictly convex regularizer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.kinds.exact import ConvexPhi, ExactScores, ExactSurrogate, PhiTerm
from rankbench.kinds.surrogate import ScoreSurrogate
from rankbench.surrogates.least_squares import LeastSquares, exact_squares

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["Linear", "LinearPower", "ValueRegularized"]


class ValueRegularized(ScoreSurrogate):
    r"""Base of value-regularized linear losses: a subclass says what r is.

    .. math:: \varphi(\alpha, G) = \sum_{(i \to j) \in G} a_{ij} (\alpha_j - \alpha_i) + \nu \sum_i r(\alpha_i)
              = -b'\alpha + \nu \sum_i r(\alpha_i), \qquad b_i = \sum_j (a_{ij} - a_{ji})

    The graph enters through its net weights b alone: the structure is b, which the
    aggregator `net-weights` makes of judgments (`borda`, where all weigh the same). The
    target is :math:`b / \nu`, in which the loss is linear: it does not depend on k. The
    minimizer (15) is :math:`\alpha^*_i = (r')^{-1}(b_i / \nu)`, see `minimizer`.

    Consistent for the pairwise disagreement (10) in low noise ([DMJ10]_ Corollary 15) and,
    where the difference graph has no cycle, exactly if the net weights order every pair
    as it does (Theorem 13).

    Notes
    -----
    The value is (14) less its minimum, divided by :math:`m \nu`, that is
    :math:`\frac1m \sum_i r(\alpha_i) - r(\alpha^*_i) - r'(\alpha^*_i)(\alpha_i - \alpha^*_i)`:
    zero at best, an average over items as (28) is. Within a query, that has the minimizers
    of (14); between queries of different m it weighs them differently.
    """

    properties: ClassVar[frozenset[Property]] = frozenset(
        {"convex", "smooth", "equivariant", "score-linear", "target-linear"}
    )

    nu: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="Weight of the regularizer.")

    @abstractmethod
    def r(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return r, elementwise; strictly convex, growing faster than any linear function."""

    @abstractmethod
    def slope(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return r', elementwise."""

    @abstractmethod
    def inverse(self, slope: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the inverse of r', elementwise."""

    def target(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``b / nu``, the slope of r at the minimizer, for net weights b, shape (m,)."""
        return scores / self.nu

    def target_kernel(self) -> Kernel:
        """Return the compiled `target`."""
        from rankbench.kernels.signatures import Kernel
        from rankbench.surrogates.kernels.linear import target

        return Kernel(target, np.array([self.nu]))

    def minimizer(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the minimizer (15) for net weights b, shape (m,)."""
        return self.inverse(self.target(scores))

    def value_and_gradient(
        self, alpha: NDArray[np.float64], target: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the divergence of alpha from the minimizer and its gradient, shape (m,)."""
        best = self.inverse(target)
        value = (self.r(alpha) - self.r(best) - target * (alpha - best)).mean()
        return float(value), (self.slope(alpha) - target) / len(alpha)


class Linear(LeastSquares, ValueRegularized):
    """Charge ``a_ij (alpha_j - alpha_i)`` for every edge, and ``nu/2 sum_i alpha_i^2`` for the scores.

    The loss (14) with ``r(a) = a^2 / 2``, whose minimizer (15) is ``b / nu``: up to a
    constant and a factor it is ``|alpha - b/nu|^2 / (2m)``, quadratic, so that
    ``optimizer=exact`` has the closed form for linear models. See `ValueRegularized` for
    b, for consistency and for the factor.
    """

    name: ClassVar[str] = "linear"
    source: ClassVar[str] = "[DMJ10]_ eq. (14), (15)"
    properties: ClassVar[frozenset[Property]] = frozenset(
        {"convex", "smooth", "quadratic", "equivariant", "score-linear", "target-linear"}
    )

    def r(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``a^2 / 2``."""
        return 0.5 * np.square(alpha)

    def slope(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a."""
        return alpha

    def inverse(self, slope: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the slope."""
        return slope

    def exact(self, scores: ExactScores) -> ExactSurrogate:
        """Return the squares in rational numbers."""
        return exact_squares([s / Fraction(self.nu) for s in scores])

    def exact_rule(self) -> Mapping[str, object]:
        """Return the rule of this form."""
        return {"rule": "squares", "nu": Fraction(self.nu)}


class LinearPower(ValueRegularized):
    """Charge ``a_ij (alpha_j - alpha_i)`` for every edge, and ``nu/p sum_i |alpha_i|^p`` for the scores.

    The loss (14) with ``r(a) = |a|^p / p``, p > 1, whose minimizer (15) is
    ``sign(b) |b/nu|^(1/(p-1))``. With p = 2 it is `linear`, which has a closed form for
    linear models. See `ValueRegularized` for b, for consistency and for the factor.
    """

    name: ClassVar[str] = "linear-power"
    source: ClassVar[str] = "[DMJ10]_ eq. (14), (15)"

    power: float = Field(default=4.0, gt=1, allow_inf_nan=False, description="p of the regularizer.")

    def r(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``|a|^p / p``."""
        return np.abs(alpha) ** self.power / self.power

    def slope(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sign(a) |a|^(p-1)``."""
        slope: NDArray[np.float64] = np.sign(alpha) * np.abs(alpha) ** (self.power - 1)
        return slope

    def inverse(self, slope: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sign(g) |g|^(1/(p-1))``."""
        inverse: NDArray[np.float64] = np.sign(slope) * np.abs(slope) ** (1 / (self.power - 1))
        return inverse

    def hessian(self, alpha: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the diagonal matrix of ``(p - 1) |a|^(p-2) / m``, infinite at 0 for p < 2, shape (m, m)."""
        with np.errstate(divide="ignore"):
            return np.diag((self.power - 1) * np.abs(alpha) ** (self.power - 2) / len(alpha))

    def exact(self, scores: ExactScores) -> ExactSurrogate:
        """Return ``1/m sum_i r(alpha_i)`` less the linear part, in rational numbers."""
        m, power = len(scores), Fraction(self.power)
        r = ConvexPhi(expression=f"abs(t) ** ({power}) / ({power})", infimum=Fraction(0))
        terms = [PhiTerm(Fraction(1, m), tuple(int(k == j) for k in range(m)), Fraction(0), r) for j in range(m)]
        return ExactSurrogate(tuple(terms), tuple(-s / (m * Fraction(self.nu)) for s in scores))

    def exact_rule(self) -> Mapping[str, object]:
        """Return the rule of this form."""
        return {"rule": "power", "nu": Fraction(self.nu), "power": Fraction(self.power)}

    def gradient_kernel(self) -> Kernel:
        """Return the compiled `value_and_gradient`."""
        from rankbench.kernels.signatures import Kernel
        from rankbench.surrogates.kernels.linear import value_and_gradient

        return Kernel(value_and_gradient, np.array([self.power]))
