"""Losses of positions weigh gains by place (NDCG, precision), or model a user who scans down (ERR)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property
from rankbench.core.gains import Cutoff, DiscountName, GainName, SatisfactionName, discounts, gains, ideal, satisfaction
from rankbench.core.spec import Value
from rankbench.interfaces.exact import BayesRisk, weights_of
from rankbench.interfaces.surrogate import Loss
from rankbench.kernels import Kernel


class NDCGFamily(Loss):
    r"""Base of normalized discounted losses: a subclass defines G and F.

    .. math:: L(\alpha, s) = 1 - \frac{1}{Z(s)} \sum_{j=1}^m \frac{G(s_j)}{F(\pi_\alpha(j))},
              \qquad Z(s) = \max_{\alpha'} \sum_{j=1}^m \frac{G(s_j)}{F(\pi_{\alpha'}(j))}

    with G and F increasing. Items that tie in alpha share the mean of the discounts
    ``1/F`` of the positions that they occupy together, which is the expected loss when
    ties are broken at random.

    A subclass gives `gain_of` and `discounts_of`, and a `kernel` if it can; for any named
    G and F the compiled form is the one of `NDCG`.

    Notes
    -----
    The paper remarks that L is in [0, 1]. That needs nonnegative gains: where G(s_j) < 0
    (centred scores) a bad ordering can cost more than 1. Where ``Z(s) <= 0`` or ``s = 0``
    there is nothing to gain, and the loss is 0 for every alpha; scikit-learn calls the
    same query an NDCG of 0. A Z(s) that is 1e-12 of the magnitudes that it is the sum of is 0.
    """

    source: ClassVar[str] = "[DMJ13]_ eq. (14)"
    properties: ClassVar[frozenset[Property]] = frozenset({"shift-invariant", "equivariant"})
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)

    @abstractmethod
    def gain_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return G(s_j), or ``c G(s_j)`` with one c > 0 for the whole vector, shape (m,)."""

    @abstractmethod
    def discounts_of(self, m: int) -> NDArray[np.float64]:
        """Return 1/F(1), ..., 1/F(m): nonnegative, not increasing, shape (m,)."""

    def value(self, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
        """Return the loss of one query; nan if alpha holds a nan.

        Parameters
        ----------
        alpha : ndarray of float64, shape (m,)
            Predicted scores; the larger, the nearer to the top.
        structure : ndarray of float64, shape (m,)
            Relevance scores s, finite.
        """
        if np.isnan(alpha).any():
            return math.nan
        gain, factor = self.gain_of(structure), self.discounts_of(len(alpha))
        best = ideal(gain, factor)
        if not (best > 0 and structure.any()):
            return 0.0
        _, group, sizes = np.unique(-alpha, return_inverse=True, return_counts=True)
        starts = np.cumsum(sizes) - sizes
        mean = np.add.reduceat(factor, starts) / sizes
        return 1.0 - float(gain @ mean[group]) / best

    def bayes_risk(
        self, structures: NDArray[np.float64], probabilities: NDArray[np.float64] | None = None
    ) -> BayesRisk:
        """Return the Bayes risk, exactly: the best order is that of the mean of G(s_j)/Z(s).

        [DMJ13]_ Corollary 1. Of one structure it is 0.
        """
        weights = weights_of(structures, probabilities, 1)
        factor, mean = self.discounts_of(structures.shape[1]), np.zeros(structures.shape[1])
        for weight, scores in zip(weights, structures, strict=True):
            gain = self.gain_of(scores)
            best = ideal(gain, factor)
            if best > 0 and scores.any():
                mean += weight * gain / best
        risk = self.expected(mean, structures, weights)
        return BayesRisk(risk, risk, mean)


class NDCG(NDCGFamily):
    """One minus the normalized discounted cumulative gain.

    A constant factor in the discount F cancels: ``log`` and ``log2`` are the same loss. See
    `NDCGFamily` for ties, for Z(s) <= 0 and for values above 1.

    Prefer it for graded items whose top matters most. ``ndcg@10`` is ``ndcg:gain=identity,cutoff=10``: trec_eval's
    nDCG@10, with the grades themselves as gains.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "ndcg:discount=log2")
    >>> alpha, grades = np.array([3.0, 2.0, 1.0]), np.array([0.0, 2.0, 1.0])
    >>> loss.value(alpha, grades)
    0.3409...
    """

    name: ClassVar[str] = "ndcg"
    at: ClassVar[Mapping[str, Value]] = {"gain": "identity"}

    gain: GainName = Field(default="exp2", description="G(s): exp2 (2^s - 1), identity (s) or exp (e^s).")
    discount: DiscountName = Field(
        default="log", description="F(j): log (log(1 + j)), log2 (log2(1 + j)) or reciprocal (j)."
    )
    cutoff: Cutoff = Field(default=math.inf, description="Last position that counts; inf: all.")

    def bounds(self) -> tuple[float, float]:
        """Return [0, 1] for ``exp``, whose gains are positive; else no upper bound."""
        return (0.0, 1.0) if self.gain == "exp" else self.range

    def gain_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the named gains."""
        return gains(self.gain, scores)

    def discounts_of(self, m: int) -> NDArray[np.float64]:
        """Return the named discounts, zero after the cutoff."""
        return discounts(self.discount, m, self.cutoff)

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        return _compiled(self.gain, self.discount, self.cutoff)

    def ranked_kernel(self) -> tuple[Kernel, int] | None:
        """Return the compiled form for a cutoff of 16 or less."""
        return _compiled_of_top(self.gain, self.discount, self.cutoff)


class Precision(NDCGFamily):
    """One minus the relevance of the top k items, relative to the largest possible one.

    The family's member with ``G(s) = s`` and ``F(j) = 1`` for j <= k, infinite after it.
    For ``s_j`` in {0, 1} with at least k ones it is one minus precision at k; with fewer
    ones the best ordering still has loss 0. Values are in [0, 1] for s >= 0, which the
    paper assumes; scores below 0 can cost more than 1.

    Prefer it where only the top k items are seen, whatever their order.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "precision:k=1")
    >>> alpha, grades = np.array([3.0, 2.0, 1.0]), np.array([0.0, 2.0, 1.0])
    >>> loss.value(alpha, grades)
    1.0
    """

    name: ClassVar[str] = "precision"
    source: ClassVar[str] = "[DMJ13]_ eq. (14), section 3.3"

    k: int = Field(default=10, ge=1, description="Number of items at the top that count.")

    def gain_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return s itself."""
        return gains("identity", scores)

    def discounts_of(self, m: int) -> NDArray[np.float64]:
        """Return 1 for the first k positions, 0 after them."""
        return (np.arange(m) < self.k).astype(np.float64)

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        return _compiled("identity", None, self.k)

    def ranked_kernel(self) -> tuple[Kernel, int] | None:
        """Return the compiled form for k of 16 or less."""
        return _compiled_of_top("identity", None, self.k)


def _compiled(gain: GainName, discount: DiscountName | None, cutoff: float) -> Kernel:
    from rankbench.kernels.gains import gain_params
    from rankbench.losses.kernels.rankings import ndcg, ndcg_work

    return Kernel(ndcg, gain_params(gain, discount, cutoff), ndcg_work)


def _compiled_of_top(gain: GainName, discount: DiscountName | None, cutoff: float) -> tuple[Kernel, int] | None:
    """Return the compiled form for a cutoff of 16 or less."""
    from rankbench.kernels.gains import gain_params
    from rankbench.losses.kernels.evaluate import MOST
    from rankbench.losses.kernels.rankings import ranked_ndcg

    return None if cutoff > MOST else (Kernel(ranked_ndcg, gain_params(gain, discount, cutoff)), int(cutoff))


class ERRFamily(Loss):
    r"""Base of expected reciprocal rank losses: a subclass defines G and F.

    .. math:: L(\alpha, s) = 1 - \sum_{i=1}^m \frac{1}{F(i)} G(s_{\pi_\alpha^{-1}(i)})
              \prod_{j=1}^{i-1} \left(1 - G(s_{\pi_\alpha^{-1}(j)})\right)

    with G increasing into [0, 1], the probability that an item satisfies, and F >= 1
    increasing. Among items that tie in alpha the loss is the exact mean over all their
    orders: that the first r of n tied items all fail to satisfy has the mean probability
    :math:`e_r / \binom{n}{r}`, e_r the elementary symmetric polynomial of their
    :math:`1 - G`. It takes O(n^2) operations, however many orders there are.

    A subclass gives `gain_of` and `discounts_of`, and a `kernel` if it can.

    Notes
    -----
    Unlike NDCG it is not divided by the value of the best ordering: even that one's loss
    is above 0, and 1 if nothing can satisfy. If the scores of items are independent, the
    expected loss is least in descending order of the mean of G ([DMJ13]_ Lemma 1).
    """

    source: ClassVar[str] = "[DMJ13]_ eq. (16); Chapelle, Metzler, Zhang and Grinspan 2009"
    properties: ClassVar[frozenset[Property]] = frozenset({"shift-invariant", "equivariant"})
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @abstractmethod
    def gain_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return G(s_j) in [0, 1], shape (m,)."""

    @abstractmethod
    def discounts_of(self, m: int) -> NDArray[np.float64]:
        """Return 1/F(1), ..., 1/F(m): in [0, 1], not increasing, shape (m,)."""

    def value(self, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
        """Return the loss of one query; nan if alpha holds a nan.

        Parameters
        ----------
        alpha : ndarray of float64, shape (m,)
            Predicted scores; the larger, the nearer to the top.
        structure : ndarray of float64, shape (m,)
            Relevance scores s, finite.
        """
        if np.isnan(alpha).any():
            return math.nan
        fails, factor = 1.0 - self.gain_of(structure), self.discounts_of(len(alpha))
        seen, found, first = 1.0, 0.0, 0
        for score in np.unique(alpha)[::-1]:
            still = _still(fails[alpha == score])
            last = first + len(still) - 1
            found += seen * float(factor[first:last] @ (still[:-1] - still[1:]))
            seen *= float(still[-1])
            first = last
            if seen == 0.0:  # no user gets here
                break
        return 1.0 - found

    def bayes_risk(
        self, structures: NDArray[np.float64], probabilities: NDArray[np.float64] | None = None
    ) -> BayesRisk:
        """Return the Bayes risk of one structure, or of several on few items.

        Of one structure the best order is that of G: exchanging neighbors i and j, the larger
        first, gains ``(G_i - G_j) (1/F(r) - 1/F(r+1))``. Of several, all orders are tried.
        """
        if len(structures) != 1:
            return super().bayes_risk(structures, probabilities)
        alpha = self.gain_of(structures[0])
        risk = self.expected(alpha, structures, weights_of(structures, probabilities, 1))
        return BayesRisk(risk, risk, alpha)


def _still(fails: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean product of r of n probabilities, for r = 0..n, shape (n + 1,).

    One probability at a time: of r items among the first k, item k is one with chance r/k.
    """
    if (fails == 1.0).all():  # as of all that is worth nothing, thousands perhaps
        return np.ones(len(fails) + 1)
    still = np.zeros(len(fails) + 1)
    still[0] = 1.0
    for k, fail in enumerate(fails, 1):
        r = np.arange(1, k + 1)
        still[1 : k + 1] = ((k - r) * still[1 : k + 1] + r * fail * still[:k]) / k
    return still


class ERR(ERRFamily):
    """One minus the expected reciprocal rank of the first item that satisfies.

    With the defaults the measure of Chapelle, Metzler, Zhang and Grinspan (2009) for
    grades from 0 to `top`. See `ERRFamily` for ties and for what the best ordering costs.

    Prefer it where users stop at the first item that satisfies them.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "err:top=2")
    >>> alpha, grades = np.array([3.0, 2.0, 1.0]), np.array([0.0, 2.0, 1.0])
    >>> loss.value(alpha, grades)
    0.6041...
    """

    name: ClassVar[str] = "err"

    gain: SatisfactionName = Field(
        default="exp2", description="G(s): exp2 ((2^s - 1)/2^top within [0, 1]) or logistic (1/(1 + e^-s))."
    )
    top: float = Field(default=4.0, gt=0, le=1000, description="Largest grade, for gain=exp2.")
    discount: Literal["reciprocal", "log2"] = Field(
        default="reciprocal", description="F(j): reciprocal (j) or log2 (log2(1 + j))."
    )
    cutoff: Cutoff = Field(default=math.inf, description="Last position that counts; inf: all.")

    def gain_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the named probabilities."""
        return satisfaction(self.gain, scores, self.top)

    def discounts_of(self, m: int) -> NDArray[np.float64]:
        """Return the named discounts, zero after the cutoff."""
        return discounts(self.discount, m, self.cutoff)

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.losses.kernels.rankings import err, err_params
        from rankbench.losses.kernels.rankings import err_work as work

        return Kernel(err, err_params(self.gain, self.top, self.discount, self.cutoff), work)

    def ranked_kernel(self) -> tuple[Kernel, int] | None:
        """Return the compiled form for a cutoff of 16 or less."""
        from rankbench.losses.kernels.evaluate import MOST
        from rankbench.losses.kernels.rankings import err_params, ranked_err

        if self.cutoff > MOST:
            return None
        params = err_params(self.gain, self.top, self.discount, self.cutoff)
        return Kernel(ranked_err, params, lambda m: 2 * m + 1), int(self.cutoff)
