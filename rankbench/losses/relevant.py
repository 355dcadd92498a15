"""Losses of relevant items: average precision, reciprocal rank, precision and recall as trec_eval defines them."""

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
    """Base of losses that are one minus a share of relevant items; where nothing is relevant they are 1.

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
