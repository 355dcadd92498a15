"""The two families of pairwise surrogates, [DMJ13]_ (12) and (13), for any phi."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rankbench.component import Property
from rankbench.kinds.surrogate import PairwiseSurrogate

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["Pairwise"]


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
