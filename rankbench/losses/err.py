"""ERR losses model a user who scans down to the first item that satisfies."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property
from rankbench.core.gains import Cutoff, SatisfactionName, discounts, satisfaction
from rankbench.interfaces.exact import BayesRisk, weights_of
from rankbench.interfaces.surrogate import Loss
from rankbench.kernels import Kernel


class ERRFamily(Loss):
    r"""Base of expected reciprocal rank losses: a subclass says what G and F are.

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
