"""Losses of relevant items: average precision, reciprocal rank and others as trec_eval defines them, and RBP.

References
----------
.. [MZ08] A. Moffat and J. Zobel. Rank-biased precision for measurement of retrieval effectiveness. ACM Transactions on
   Information Systems 27(1), 2008.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Property
from rankbench.core.gains import Cutoff, discounts
from rankbench.interfaces.surrogate import Loss
from rankbench.losses.positions import ERRFamily

TREC = "trec_eval, github.com/usnistgov/trec_eval"


class RelevanceFamily(Loss):
    """Base of losses that are one minus a share of relevant items; without relevant items they are 1.

    An item is relevant from a grade on. Items that tie in alpha get the exact mean over all their orders.
    """

    properties: ClassVar[frozenset[Property]] = frozenset({"shift-invariant", "equivariant"})
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    grades: ClassVar[bool] = True
    truncates: ClassVar[bool] = True

    relevant: float = Field(default=1.0, allow_inf_nan=False, description="Least grade of a relevant item.")

    def value(self, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
        """Return the loss of one query; nan if alpha holds a nan.

        Parameters
        ----------
        alpha : ndarray of float64, shape (m,)
            Predicted scores; the larger, the nearer to the top.
        structure : ndarray of float64, shape (m,)
            Grades.
        """
        if np.isnan(alpha).any():
            return math.nan
        counted = (structure >= self.relevant).astype(np.float64)
        if not counted.any():
            return 1.0
        _, group, sizes = np.unique(-alpha, return_inverse=True, return_counts=True)
        return 1.0 - self.share(np.asarray(np.bincount(group, counted), np.float64), sizes.astype(np.int64))

    @abstractmethod
    def share(self, found: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
        """Return the measure, in [0, 1].

        Parameters
        ----------
        found : ndarray of float64, shape (g,)
            Relevant items of each group of ties, the best group first.
        sizes : ndarray of int64, shape (g,)
            All items of each group.
        """


class AveragePrecision(RelevanceFamily):
    r"""One minus average precision, whose mean over queries is MAP.

    .. math:: L(\alpha, s) = 1 - \frac{1}{R} \sum_{i \le k} \frac{r_i}{i} \sum_{j \le i} r_j

    with r_i = 1 where the item at position i is relevant, and R the number of all relevant items, beyond the cutoff
    k too. In a group of n tied items with r relevant ones, after f items with e relevant ones, the term of position
    f + i has the mean ``r/n (e + 1 + (i - 1)(r - 1)/(n - 1)) / (f + i)`` (F. McSherry and M. Najork, ECIR 2008).

    Prefer it where all relevant items matter, those near the top most. ``map@100`` is trec_eval's ``map_cut_100``.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "map")
    >>> loss.value(np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    0.4166...
    """

    name: ClassVar[str] = "map"
    source: ClassVar[str] = f"{TREC}: map, map_cut"

    cutoff: Cutoff = Field(default=math.inf, description="Last position that counts; inf: all.")

    def share(self, found: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
        """Return average precision."""
        n, r = np.repeat(sizes, sizes).astype(np.float64), np.repeat(found, sizes)
        first, before = (np.repeat(np.cumsum(part) - part, sizes) for part in (sizes, found))
        position = np.arange(1.0, len(n) + 1.0)
        others = (position - first - 1.0) * (r - 1.0) / np.maximum(n - 1.0, 1.0)
        terms = r / n * (before + 1.0 + others) / position
        return float(terms[position <= self.cutoff].sum() / found.sum())


class ReciprocalRank(ERRFamily):
    """One minus the reciprocal rank of the first relevant item, whose mean over queries is MRR.

    It is (16) with a G of 1 for relevant items and 0 for others, and ``F(j) = j``.

    Prefer it where one relevant item is enough, as for questions with one answer. ``mrr@10`` looks at ten places.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "mrr@10")
    >>> loss.value(np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    0.5
    """

    name: ClassVar[str] = "mrr"
    source: ClassVar[str] = f"{TREC}: recip_rank"
    grades: ClassVar[bool] = True
    truncates: ClassVar[bool] = True

    relevant: float = Field(default=1.0, allow_inf_nan=False, description="Least grade of a relevant item.")
    cutoff: Cutoff = Field(default=math.inf, description="Last position that counts; inf: all.")

    def gain_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 1 for relevant items, 0 for others."""
        return (scores >= self.relevant).astype(np.float64)

    def discounts_of(self, m: int) -> NDArray[np.float64]:
        """Return the reciprocals of positions, zero after the cutoff."""
        return discounts("reciprocal", m, self.cutoff)


def _near(found: NDArray[np.float64], sizes: NDArray[np.int64], cutoff: float) -> float:
    """Return the mean number of relevant items up to the cutoff, over the orders of ties."""
    first = np.cumsum(sizes) - sizes
    return float(np.sum(found * np.clip((cutoff - first) / sizes, 0.0, 1.0)))


class PrecisionAt(RelevanceFamily):
    """One minus the share of relevant items among the first k, which divides by k however few are relevant.

    Prefer it to compare with published P@k; `precision` divides by the best possible value, so that it has 0 as its
    least loss.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "p@2")
    >>> loss.value(np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    0.5
    """

    name: ClassVar[str] = "p"
    source: ClassVar[str] = f"{TREC}: P"

    cutoff: int = Field(default=1, ge=1, description="Number of items at the top that count.")

    def share(self, found: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
        """Return precision."""
        return _near(found, sizes, self.cutoff) / self.cutoff


class Recall(RelevanceFamily):
    """One minus the share of all relevant items that are among the first k.

    Prefer it for a first stage, whose list another ranker orders.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "recall@2")
    >>> loss.value(np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    0.5
    """

    name: ClassVar[str] = "recall"
    source: ClassVar[str] = f"{TREC}: recall"

    cutoff: int = Field(default=1, ge=1, description="Number of items at the top that count.")

    def share(self, found: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
        """Return recall."""
        return _near(found, sizes, self.cutoff) / float(found.sum())


class RPrecision(RelevanceFamily):
    """One minus the share of relevant items among the first R, with R the number of all relevant items.

    Prefer it where queries differ in the number of relevant items, and each list is read that far.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "r-precision")
    >>> loss.value(np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    0.5
    """

    name: ClassVar[str] = "r-precision"
    source: ClassVar[str] = f"{TREC}: Rprec"

    def share(self, found: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
        """Return R-precision."""
        count = float(found.sum())
        return _near(found, sizes, count) / count


class Success(RelevanceFamily):
    r"""One minus whether a relevant item is among the first k.

    If c of n tied items with r relevant ones are among the first k, none of them is relevant with probability
    :math:`\binom{n - r}{c} / \binom{n}{c}`.

    Prefer it where one relevant item is enough, wherever it stands on the first page. ranx calls it hit rate.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "success@2")
    >>> loss.value(np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    0.0
    """

    name: ClassVar[str] = "success"
    source: ClassVar[str] = f"{TREC}: success"

    cutoff: int = Field(default=1, ge=1, description="Number of items at the top that count.")

    def share(self, found: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
        """Return the probability that a relevant item is among the first k."""
        first = np.cumsum(sizes) - sizes
        missed = 1.0
        for r, n, start in zip(found.astype(np.int64).tolist(), sizes.tolist(), first.tolist(), strict=True):
            seen = min(max(self.cutoff - start, 0), n)
            missed *= math.comb(n - r, seen) / math.comb(n, seen)
        return 1.0 - missed


class RankBiasedPrecision(RelevanceFamily):
    r"""One minus rank-biased precision, of a user who goes on to the next item with probability p.

    .. math:: L(\alpha, s) = 1 - (1 - p) \sum_{i \le k} r_i\, p^{i - 1}

    with r_i = 1 where the item at position i is relevant. Even the best order's loss is above 0: it is :math:`p^R`
    for R relevant items. ir_measures calls it ``RBP(rel=1)``.

    Prefer it where lists are read from the top, and few to the end: the expected depth is 1 / (1 - p).

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> loss = rankbench.get(rankbench.Loss, "rbp:p=0.5")
    >>> loss.value(np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    0.625
    """

    name: ClassVar[str] = "rbp"
    source: ClassVar[str] = "[MZ08]_ section 3"

    p: float = Field(default=0.8, gt=0, lt=1, description="Probability of going on to the next item.")
    cutoff: Cutoff = Field(default=math.inf, description="Last position that counts; inf: all.")

    def share(self, found: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
        """Return rank-biased precision."""
        place = np.arange(int(sizes.sum()))
        weight = np.where(place < self.cutoff, (1.0 - self.p) * self.p**place, 0.0)
        return float(np.sum(found / sizes * np.add.reduceat(weight, np.cumsum(sizes) - sizes)))
