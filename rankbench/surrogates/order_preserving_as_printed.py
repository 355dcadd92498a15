"""The order-preserving surrogate with the sign that [DMJ13]_ prints: a misprint, kept to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.kinds.exact import ExactScores, ExactSurrogate
from rankbench.surrogates.normalized import GainShares
from rankbench.surrogates.order_preserving import OrderPreserving, PhiName, exact_pushes

__all__ = ["OrderPreservingAsPrinted"]


class OrderPreservingAsPrinted(GainShares):
    r"""Push every item *below* all others with the force of its normalized gain: a misprint.

    .. math:: \varphi(\alpha, s) = \sum_{j=1}^m \frac{G(s_j)}{Z(s)} \sum_{l=1}^m \phi(\alpha_l - \alpha_j)

    as [DMJ13]_ section 3.3 prints it, with phi not increasing and ``phi'(0) < 0``. It is
    the value of `order-preserving` at minus alpha, and orders items the wrong way round.
    The suite `theory` shows so; there is nothing else to use it for.
    """

    name: ClassVar[str] = "order-preserving-as-printed"
    source: ClassVar[str] = "[DMJ13]_ section 3.3, as printed"
    properties: ClassVar[frozenset[Property]] = OrderPreserving.properties

    phi: PhiName = Field(default="logistic", description="phi(t), see `order-preserving`.")

    def value_and_gradient(
        self, alpha: NDArray[np.float64], target: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the value and its gradient in alpha, shape (m,); target are the weights."""
        value, gradient = OrderPreserving(phi=self.phi).value_and_gradient(-alpha, target)
        return value, -gradient

    def exact(self, scores: ExactScores) -> ExactSurrogate | None:
        """Return the sum in rational numbers."""
        shares = self.exact_shares(scores)
        return exact_pushes(shares, self.phi, -1) if shares is not None else None

    def exact_rule(self) -> Mapping[str, object]:
        """Return the rule of this form."""
        return self.gain_rule("pushes-turned")
