"""Order-preserving surrogates follow the paper's intent, or its print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property
from rankbench.core.gains import SatisfactionName, exact_satisfaction, satisfaction
from rankbench.interfaces.exact import ExactScores, ExactSurrogate, pairwise_terms
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.kernels import Kernel
from rankbench.surrogates.pairwise import PairwiseExponential, PairwiseFormula, PairwiseLogistic, PairwiseSquaredHinge
from rankbench.surrogates.regression import GainShares

PhiName: TypeAlias = Literal["logistic", "exponential", "squared-hinge"]
"""phi(t): ``log(1 + e^-t)``, ``e^-t`` or ``max(0, 1 - t)^2``: convex, differentiable, not increasing, phi'(0) < 0."""


PHIS: dict[PhiName, PairwiseFormula] = {
    "logistic": PairwiseLogistic(),
    "exponential": PairwiseExponential(),
    "squared-hinge": PairwiseSquaredHinge(),
}


def exact_pushes(weights: Sequence[Fraction] | None, phi: PhiName, sign: int = 1) -> ExactSurrogate | None:
    """Return ``sum_j w_j sum_l phi(sign (alpha_j - alpha_l))`` in rational numbers."""
    written = PHIS[phi].exact_phi()
    if written is None or weights is None:
        return None
    m = len(weights)
    pairs = {((j, k) if sign > 0 else (k, j)): (weights[j], Fraction(0)) for j in range(m) for k in range(m) if j != k}
    return pairwise_terms(m, pairs, written)


class OrderPreservingFamily(ScoreSurrogate):
    r"""Base of the surrogates below: a subclass makes weights w_j >= 0 of a structure.

    .. math:: \varphi(\alpha, s) = \sum_{j=1}^m w_j \sum_{l=1}^m \phi(\alpha_j - \alpha_l)

    Notes
    -----
    The paper prints :math:`\phi(\alpha_l - \alpha_j)`, which with its own condition on phi
    (not increasing, :math:`\phi'(0) < 0`) orders items the wrong way round. Here an item of
    larger weight is pushed up.
    """

    properties: ClassVar[frozenset[Property]] = frozenset(
        {"convex", "smooth", "shift-invariant", "equivariant", "target-linear"}
    )

    phi: PhiName = Field(
        default="logistic",
        description="phi(t): logistic (log(1 + e^-t)), exponential (e^-t) or squared-hinge (max(0, 1 - t)^2).",
    )

    def value_and_gradient(
        self, alpha: NDArray[np.float64], target: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the value and its gradient in alpha, shape (m,); target are the weights."""
        use = np.flatnonzero(target)
        weights = target[use, None]
        phi, margins = PHIS[self.phi], alpha[use, None] - alpha[None, :]
        slopes = weights * phi.dphi(margins)
        gradient: NDArray[np.float64] = -slopes.sum(axis=0)
        gradient[use] += slopes.sum(axis=1)
        return float((weights * phi.phi(margins)).sum()), gradient

    def hessian(self, alpha: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the Laplacian of the graph with weights ``w_j phi''(alpha_j - alpha_l)``, shape (m, m)."""
        graph = target[:, None] * PHIS[self.phi].ddphi(alpha[:, None] - alpha[None, :])
        graph = graph + graph.T
        return np.asarray(np.diag(graph.sum(axis=1)) - graph, np.float64)

    def gradient_kernel(self) -> Kernel:
        """Return the compiled `value_and_gradient`, O(m^2)."""
        from rankbench.surrogates.kernels import order_preserving as value_and_gradient

        return Kernel(value_and_gradient(PHIS[self.phi].formula))


class OrderPreserving(OrderPreservingFamily, GainShares):
    """Push every item above all others with the force of its normalized gain.

    ``phi(alpha, s) = sum_j G(s_j)/Z(s) sum_l phi(alpha_j - alpha_l)``: convex and, with G
    and F of the loss, consistent for the NDCG family (14). Negative gains are dealt with
    as `GainShares` says. See `OrderPreservingFamily` for the sign.

    Prefer it to `regression` where only the order of the gains shall be fitted, not their sizes; a step costs
    O(m^2).
    """

    name: ClassVar[str] = "order-preserving"
    source: ClassVar[str] = "[DMJ13]_ section 3.3; Zhang 2004, theorem 5"

    def exact(self, scores: ExactScores) -> ExactSurrogate | None:
        """Return the sum in rational numbers."""
        return exact_pushes(self.exact_shares(scores), self.phi)

    def exact_rule(self) -> Mapping[str, object]:
        """Return the rule of this form."""
        return self.gain_rule("pushes")


class OrderPreservingERR(OrderPreservingFamily):
    """Push every item above all others with the force of its probability to satisfy.

    ``phi(alpha, s) = sum_j G(s_j) sum_l phi(alpha_j - alpha_l)`` with the G of the loss
    `err`: consistent for the ERR family (16) where the scores of items are independent
    (Lemma 1 needs a product measure; without it there are counterexamples). See
    `OrderPreservingFamily` for the sign.

    Prefer it where contenders are judged by `err`, with the gain of that loss.
    """

    name: ClassVar[str] = "order-preserving-err"
    source: ClassVar[str] = "[DMJ13]_ section 3.3; Zhang 2004, theorem 5"

    gain: SatisfactionName = Field(
        default="exp2", description="G(s): exp2 ((2^s - 1)/2^top within [0, 1]) or logistic (1/(1 + e^-s))."
    )
    top: float = Field(default=4.0, gt=0, le=1000, description="Largest grade, for gain=exp2.")

    def target(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``G(s_j)`` in [0, 1], shape (m,)."""
        return satisfaction(self.gain, scores, self.top)

    def target_kernel(self) -> Kernel:
        """Return the compiled `target`."""
        from rankbench.kernels.gains import SATISFACTION_CODES
        from rankbench.surrogates.kernels import satisfaction_target

        return Kernel(satisfaction_target, np.array([float(SATISFACTION_CODES[self.gain]), self.top]))

    def exact(self, scores: ExactScores) -> ExactSurrogate | None:
        """Return the sum in rational numbers."""
        return exact_pushes(exact_satisfaction(self.gain, scores, self.top), self.phi)

    def exact_rule(self) -> Mapping[str, object]:
        """Return the rule of this form."""
        return {"rule": "pushes-of-satisfaction", "top": int(self.top)}


class OrderPreservingAsPrinted(GainShares):
    r"""Push every item *below* all others with the force of its normalized gain: a misprint.

    .. math:: \varphi(\alpha, s) = \sum_{j=1}^m \frac{G(s_j)}{Z(s)} \sum_{l=1}^m \phi(\alpha_l - \alpha_j)

    as [DMJ13]_ section 3.3 prints it, with phi not increasing and ``phi'(0) < 0``. It is
    the value of `order-preserving` at minus alpha, and orders items the wrong way round.
    The suite `theory` shows so; there is nothing else to use it for.
    """

    name: ClassVar[str] = "order-preserving-as-printed"
    source: ClassVar[str] = "[DMJ13]_ section 3.3, as printed"
    properties: ClassVar[frozenset[Property]] = OrderPreserving.properties | {"winner-not-first"}

    phi: PhiName = Field(default="logistic", description="phi(t), see `order-preserving`.")

    def value_and_gradient(
        self, alpha: NDArray[np.float64], target: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the value and its gradient in alpha, shape (m,); target are the weights."""
        value, gradient = OrderPreserving(phi=self.phi).value_and_gradient(-alpha, target)
        return value, -gradient

    def exact(self, scores: ExactScores) -> ExactSurrogate | None:
        """Return the sum in rational numbers."""
        return exact_pushes(self.exact_shares(scores), self.phi, -1)

    def exact_rule(self) -> Mapping[str, object]:
        """Return the rule of this form."""
        return self.gain_rule("pushes-turned")
