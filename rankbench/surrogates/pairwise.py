"""Pairwise surrogates (12) and (13) sum phi over compared items; one adds a regularizer of values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rankbench.core.component import Property
from rankbench.interfaces.exact import ConvexPhi, ExactScores, ExactSurrogate, PhiTerm
from rankbench.interfaces.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.kernels import Kernel
from rankbench.surrogates.phi import EXPONENTIAL, HINGE, LOGISTIC, SQUARED, SQUARED_HINGE, PhiFormula
from rankbench.surrogates.regression import LeastSquares, exact_squares


class Pairwise(PairwiseSurrogate):
    r"""Base of pairwise surrogates: a subclass says what phi is.

    .. math:: \text{weighted (12):}\quad \varphi(\alpha, Y) = \sum_{ij} h(Y_{ij}) \phi(\alpha_i - \alpha_j)
    .. math:: \text{margin (13):}\quad \varphi(\alpha, Y) = \sum_{ij: Y_{ij} > 0} \phi(\alpha_i - \alpha_j - h(Y_{ij}))

    with ``h(Y) = scale * Y^power`` for Y > 0: the weight itself by default, with
    ``power=0`` only whether there is an edge. With ``h=log1p`` it is ``scale * log(1 + Y)``. For another h, override
    `edges`. No h but a linear one is consistent even on two items (`rankbench.certificates.conditions.two_items`).

    Notes
    -----
    For convex phi and ``h(0) = 0`` neither is consistent for the pairwise disagreement
    (10), not even in low noise (Theorems 2 and 3). On the aggregator `difference-graph`
    (12) with h(Y) = Y is (23), which is consistent wherever the limit has no cycle if phi
    is not increasing and ``phi'(0) < 0``.
    """

    properties: ClassVar[frozenset[Property]] = frozenset({"convex", "smooth", "shift-invariant", "equivariant"})

    form: Literal["weighted", "margin"] = Field(
        default="weighted", description="h(Y) multiplies phi (12), or is the margin wanted in addition (13)."
    )
    h: Literal["power", "log1p"] = Field(
        default="power", description="h(Y): scale Y^power (the identity with power 1), or scale log(1 + Y)."
    )
    power: float = Field(
        default=1.0,
        ge=0,
        le=10,
        description="Of the weight in h(Y) = scale Y^power; 0: every edge alike.",
    )
    scale: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="Of h; with form=margin only.")

    @model_validator(mode="after")
    def _scaled(self) -> Self:
        if self.form == "weighted" and self.scale != 1:
            raise ValueError("scale goes with form=margin; in a weighted sum it would only change what lambda means")
        if self.h == "log1p" and self.power != 1:
            raise ValueError("power goes with h=power")
        return self

    @property
    def linear(self) -> bool:
        """Whether h(Y) = Y multiplies phi."""
        return self.form == "weighted" and self.h == "power" and self.power == 1

    def edges(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return h(Y) and 0 (12), or 1 and h(Y) (13); factor 0 where there is no weight."""
        there = (weights > 0).astype(np.float64)
        h = self.scale * there * (np.log1p(weights) if self.h == "log1p" else weights**self.power)
        return (h, np.zeros_like(h)) if self.form == "weighted" else (there, h)

    def exact_edge(self, weight: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return factor and offset as `edges` does; None where they are irrational: powers are whole."""
        if self.h == "log1p" or self.power != int(self.power):
            return None
        h = Fraction(self.scale) * weight ** int(self.power)
        return (h, Fraction(0)) if self.form == "weighted" else (Fraction(1), h)

    def exact_rule(self) -> Mapping[str, object]:
        """Return the form with the power and the scale of h."""
        return {"rule": self.form, "power": int(self.power), "scale": Fraction(self.scale)}

    def edges_kernel(self) -> Kernel:
        """Return the compiled `edges`."""
        from rankbench.surrogates.kernels import weigh

        return Kernel(weigh, np.array([float(self.form == "margin"), self.power, self.scale, float(self.h == "log1p")]))


class PairwiseFormula(Pairwise):
    """Base of pairwise surrogates whose phi is a `PhiFormula`, of which the NumPy forms and the compiled ones are made.

    A subclass declares `formula`, and nothing else of phi.

    .. versionadded:: 0.1
    """

    formula: ClassVar[PhiFormula]

    @classmethod
    def defect(cls) -> str:
        """Return what is wrong with the declarations of the class."""
        return super().defect() if hasattr(cls, "formula") else "it declares no formula, a PhiFormula"

    def phi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the formula of each margin."""
        return self._each(self.formula.phi, margin)

    def dphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative at each margin."""
        return self._each(self.formula.dphi, margin)

    def ddphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivative at each margin."""
        return super().ddphi(margin) if self.formula.ddphi is None else self._each(self.formula.ddphi, margin)

    @staticmethod
    def _each(
        formula: Callable[[NDArray[np.float64]], NDArray[np.float64]], t: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            values = formula(t)
        return values

    def exact_phi(self) -> ConvexPhi | None:
        """Return phi in exact pieces or as an expression."""
        return self.formula.exact

    def phi_kernels(self) -> tuple[Kernel, Kernel, Kernel | None]:
        """Return compiled phi, dphi and ddphi."""
        from rankbench.kernels.declared import elementwise

        phi, dphi, ddphi = self.formula.phi, self.formula.dphi, self.formula.ddphi
        return (
            Kernel(elementwise(phi)),
            Kernel(elementwise(dphi)),
            None if ddphi is None else Kernel(elementwise(ddphi)),
        )


class PairwiseLogistic(PairwiseFormula):
    """Charge ``log(1 + exp(alpha_l - alpha_w))`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). With its defaults it is the negative log-likelihood of the
    Bradley-Terry-Luce model (26).

    Prefer it on `difference-graph` with ``form=weighted``, where it is consistent without cycles, or as the usual
    reference on single judgments.
    """

    name: ClassVar[str] = "pairwise-logistic"
    source: ClassVar[str] = "[DMJ13]_ eq. (29)"
    formula: ClassVar[PhiFormula] = LOGISTIC


class PairwiseExponential(PairwiseFormula):
    """Charge ``exp(alpha_l - alpha_w)`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). With ``form=margin`` it is (12) again, with weights
    ``exp(h(Y))``. Margins below -709 cost infinitely much.

    Prefer `pairwise-logistic`, unless results of boosting shall be compared: one wrong pair may outweigh all
    others.
    """

    name: ClassVar[str] = "pairwise-exponential"
    source: ClassVar[str] = "Freund, Iyer, Schapire and Singer 2003; [DMJ13]_ eq. (12), (13)"
    formula: ClassVar[PhiFormula] = EXPONENTIAL


class PairwiseHinge(PairwiseFormula):
    """Charge ``max(0, 1 - (alpha_w - alpha_l))`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). Convex and not smooth; `dphi` is a subgradient, at the kink t = 1
    the one of the flat side.

    Prefer it where its consistency shall be proved for a whole class of noise, or with few features and many pairs
    (`optimizer=hinge-dual`).
    """

    name: ClassVar[str] = "pairwise-hinge"
    source: ClassVar[str] = "Herbrich, Graepel and Obermayer 2000; [DMJ13]_ eq. (12), (13)"
    properties: ClassVar[frozenset[Property]] = frozenset({"convex", "hinge", "shift-invariant", "equivariant"})
    formula: ClassVar[PhiFormula] = HINGE


class PairwiseSquaredHinge(PairwiseFormula):
    """Charge ``max(0, 1 - (alpha_w - alpha_l))^2`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). Its derivative is continuous, with a second derivative everywhere
    but at t = 1; `ddphi` takes the flat side there, which Newton steps can do with.

    Prefer it to `pairwise-hinge` where a smooth solver (`newton`, `lbfgs`) shall find the minimizer.
    """

    name: ClassVar[str] = "pairwise-squared-hinge"
    source: ClassVar[str] = "Chapelle and Keerthi 2010; [DMJ13]_ eq. (12), (13)"
    formula: ClassVar[PhiFormula] = SQUARED_HINGE


class PairwiseSquared(PairwiseFormula):
    """Charge ``(1 - (alpha_w - alpha_l))^2`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). It increases beyond t = 1, so that winning by more is charged too,
    and it is not consistent on the aggregator `difference-graph` either.

    Prefer it as a counterexample alone.
    """

    name: ClassVar[str] = "pairwise-squared"
    source: ClassVar[str] = "[DMJ13]_ eq. (12), (13)"
    formula: ClassVar[PhiFormula] = SQUARED


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
        from rankbench.surrogates.kernels import linear_target as target

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

    Prefer it for the pairwise disagreement in low noise, on the aggregator `net-weights`: it is consistent, has a
    closed form, and needs no sampling at k = inf.
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

    Prefer it to `linear` where another power of the scores shall be charged; it needs `newton` (p >= 2) or `lbfgs`.
    """

    name: ClassVar[str] = "linear-power"
    source: ClassVar[str] = "[DMJ10]_ eq. (14), (15)"

    power: float = Field(default=4.0, ge=1.01, le=100, description="p of the regularizer.")

    def r(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``|a|^p / p``."""
        return np.abs(alpha) ** self.power / self.power

    def slope(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sign(a) |a|^(p-1)``."""
        return np.asarray(np.sign(alpha) * np.abs(alpha) ** (self.power - 1), np.float64)

    def inverse(self, slope: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sign(g) |g|^(1/(p-1))``."""
        return np.asarray(np.sign(slope) * np.abs(slope) ** (1 / (self.power - 1)), np.float64)

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
        from rankbench.surrogates.kernels import linear as value_and_gradient

        return Kernel(value_and_gradient, np.array([self.power]))
