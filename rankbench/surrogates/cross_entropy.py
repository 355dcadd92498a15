"""Cross entropies of softmaxes: ListNet, and a variant that is consistent for the NDCG family."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Property
from rankbench.interfaces.exact import ExactScores, ExactSurrogate
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.kernels import Kernel
from rankbench.surrogates.regression import GainShares


class _Softmax(ScoreSurrogate):
    """``sum_j w_j (log sum_l e^alpha_l - alpha_j)`` for weights w_j >= 0."""

    properties: ClassVar[frozenset[Property]] = frozenset(
        {"convex", "smooth", "shift-invariant", "equivariant", "target-linear"}
    )

    def value_and_gradient(
        self, alpha: NDArray[np.float64], target: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the value and its gradient ``sum(w) softmax(alpha) - w``, shape (m,)."""
        total, top = float(target.sum()), float(alpha.max())
        raised = np.exp(alpha - top)
        mass = float(raised.sum())
        value = total * np.log(mass) - float(target @ (alpha - top))
        return float(value), total * raised / mass - target

    def hessian(self, alpha: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sum(w) (diag(p) - p p')`` with p the softmax of alpha, shape (m, m)."""
        raised = np.exp(alpha - alpha.max())
        shares = raised / raised.sum()
        return np.asarray(target.sum() * (np.diag(shares) - np.outer(shares, shares)), np.float64)

    def gradient_kernel(self) -> Kernel:
        """Return the compiled `value_and_gradient`."""
        from rankbench.surrogates.kernels import cross_entropy as value_and_gradient

        return Kernel(value_and_gradient)


class ListNet(_Softmax):
    r"""Cross entropy of the softmax of s and the softmax of alpha (top-one ListNet).

    .. math:: \varphi(\alpha, s) = -\sum_j P_s(j) \log P_\alpha(j),
              \qquad P_v(j) = \frac{e^{v_j}}{\sum_l e^{v_l}}

    P_v(j) is the probability that j comes first in the Plackett-Luce model with scores v.
    Its risk is smallest where :math:`P_\alpha` is the mean of :math:`P_s`: items are
    ordered by that mean and not by the mean of G(s_j)/Z(s), so that it is not consistent
    for the NDCG family; `cross-entropy` is.

    Prefer it to compare with published results of ListNet; `cross-entropy` is its consistent form.
    """

    name: ClassVar[str] = "listnet"
    source: ClassVar[str] = "Cao, Qin, Liu, Tsai and Li 2007; Ravikumar, Tewari and Yang 2011"

    def target(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the softmax of s, shape (m,)."""
        raised = np.exp(scores - scores.max())
        return np.asarray(raised / raised.sum(), np.float64)

    def target_kernel(self) -> Kernel:
        """Return the compiled `target`."""
        from rankbench.surrogates.kernels import softmax

        return Kernel(softmax)


class CrossEntropy(_Softmax, GainShares):
    r"""Cross entropy of the normalized gains and the softmax of alpha.

    .. math:: \varphi(\alpha, s) = -\sum_j \frac{G(s_j)}{Z(s)} \log \frac{e^{\alpha_j}}{\sum_l e^{\alpha_l}}

    The Kullback-Leibler form of the listwise losses that Ravikumar, Tewari and Yang (2011)
    make consistent: gains are divided by Z(s), as in the loss, where ListNet divides them
    by their sum. The risk is smallest where the softmax of alpha is proportional to the
    mean of G(s_j)/Z(s), with which alpha is consistent for the NDCG family (14),
    [DMJ13]_ Corollary 1. Negative gains are dealt with as `GainShares` says.

    Prefer it to `listnet` where contenders are judged by a loss of the NDCG family.

    Notes
    -----
    Of the same paper's other forms, least squares is `regression`. The cosine form
    :math:`1 - \alpha'w / |\alpha|` is not convex in alpha and not here.
    """

    name: ClassVar[str] = "cross-entropy"
    source: ClassVar[str] = "Ravikumar, Tewari and Yang 2011; [DMJ13]_ section 3.3"

    def exact(self, scores: ExactScores) -> ExactSurrogate | None:
        """Return ``sum(w) log sum_l e^alpha_l - w'alpha``."""
        shares = self.exact_shares(scores)
        if shares is None:
            return None
        return ExactSurrogate((), tuple(-w for w in shares), sum(shares, Fraction(0)))

    def exact_rule(self) -> Mapping[str, object]:
        """Return the rule of this form."""
        return self.gain_rule("cross-entropy")
