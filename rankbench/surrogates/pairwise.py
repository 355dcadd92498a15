"""Pairwise surrogates: the two families [DMJ13]_ (12) and (13) for any phi, and those of the usual phis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rankbench.component import Property
from rankbench.kinds.exact import ConvexPhi
from rankbench.kinds.surrogate import PairwiseSurrogate
from rankbench.surrogates.phi import EXPONENTIAL, HINGE, LOGISTIC, SQUARED, SQUARED_HINGE, PhiFormula

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = [
    "Pairwise",
    "PairwiseExponential",
    "PairwiseFormula",
    "PairwiseHinge",
    "PairwiseLogistic",
    "PairwiseSquared",
    "PairwiseSquaredHinge",
]


class Pairwise(PairwiseSurrogate):
    r"""Base of pairwise surrogates: a subclass says what phi is.

    .. math:: \text{weighted (12):}\quad \varphi(\alpha, Y) = \sum_{ij} h(Y_{ij}) \phi(\alpha_i - \alpha_j)
    .. math:: \text{margin (13):}\quad \varphi(\alpha, Y) = \sum_{ij: Y_{ij} > 0} \phi(\alpha_i - \alpha_j - h(Y_{ij}))

    with ``h(Y) = scale * Y^power`` for Y > 0: the weight itself by default, with
    ``power=0`` only whether there is an edge. For another h, override `edges`.

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
    power: float = Field(
        default=1.0,
        ge=0,
        allow_inf_nan=False,
        description="Of the weight in h(Y) = scale Y^power; 0: every edge alike.",
    )
    scale: float = Field(default=1.0, gt=0, allow_inf_nan=False, description="Of h; with form=margin only.")

    @model_validator(mode="after")
    def _scaled(self) -> Self:
        if self.form == "weighted" and self.scale != 1:
            raise ValueError("scale goes with form=margin; in a weighted sum it would only change what lambda means")
        return self

    @property
    def linear(self) -> bool:
        """Whether h(Y) = Y multiplies phi."""
        return self.form == "weighted" and self.power == 1

    def edges(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return h(Y) and 0 (12), or 1 and h(Y) (13); factor 0 where there is no weight."""
        there = (weights > 0).astype(np.float64)
        h = self.scale * there * weights**self.power
        return (h, np.zeros_like(h)) if self.form == "weighted" else (there, h)

    def exact_edge(self, weight: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return factor and offset as `edges` does; None where the power is not whole, as they are irrational."""
        if self.power != int(self.power):
            return None
        h = Fraction(self.scale) * weight ** int(self.power)
        return (h, Fraction(0)) if self.form == "weighted" else (Fraction(1), h)

    def exact_rule(self) -> Mapping[str, object]:
        """Return the form with the power and the scale of h."""
        return {"rule": self.form, "power": int(self.power), "scale": Fraction(self.scale)}

    def edges_kernel(self) -> Kernel:
        """Return the compiled `edges`."""
        from rankbench.kernels.signatures import Kernel
        from rankbench.surrogates.kernels.pairwise import weigh

        return Kernel(weigh, np.array([float(self.form == "margin"), self.power, self.scale]))


class PairwiseFormula(Pairwise):
    """Base of pairwise surrogates whose phi is a `PhiFormula`, of which the NumPy forms and the compiled ones are made.

    A subclass declares `formula`, and nothing else of phi.

    .. versionadded:: 0.1
    """

    formula: ClassVar[PhiFormula]

    @classmethod
    def defect(cls) -> str:
        """Return what is wrong with the declarations of the class."""
        return "" if hasattr(cls, "formula") else "it declares no formula, a PhiFormula"

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
        from rankbench.kernels.formulas import elementwise
        from rankbench.kernels.signatures import Kernel

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
    """

    name: ClassVar[str] = "pairwise-logistic"
    source: ClassVar[str] = "[DMJ13]_ eq. (29)"
    formula: ClassVar[PhiFormula] = LOGISTIC


class PairwiseExponential(PairwiseFormula):
    """Charge ``exp(alpha_l - alpha_w)`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). With ``form=margin`` it is (12) again, with weights
    ``exp(h(Y))``. Margins below -709 cost infinitely much.
    """

    name: ClassVar[str] = "pairwise-exponential"
    source: ClassVar[str] = "Freund, Iyer, Schapire and Singer 2003; [DMJ13]_ eq. (12), (13)"
    formula: ClassVar[PhiFormula] = EXPONENTIAL


class PairwiseHinge(PairwiseFormula):
    """Charge ``max(0, 1 - (alpha_w - alpha_l))`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). Convex and not smooth; `dphi` is a subgradient, at the kink t = 1
    the one of the flat side.
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
    """

    name: ClassVar[str] = "pairwise-squared-hinge"
    source: ClassVar[str] = "Chapelle and Keerthi 2010; [DMJ13]_ eq. (12), (13)"
    formula: ClassVar[PhiFormula] = SQUARED_HINGE


class PairwiseSquared(PairwiseFormula):
    """Charge ``(1 - (alpha_w - alpha_l))^2`` for every comparison of winner w and loser l.

    Of the form (12) or (13), see `Pairwise`: not consistent for the pairwise disagreement
    (Theorems 2 and 3). It increases beyond t = 1, so that winning by more is charged too,
    and it is not consistent on the aggregator `difference-graph` either.
    """

    name: ClassVar[str] = "pairwise-squared"
    source: ClassVar[str] = "[DMJ13]_ eq. (12), (13)"
    formula: ClassVar[PhiFormula] = SQUARED
