"""The forms of an aggregator of comparisons: made of a sample, of comparisons with ties, of counts.

A class that defines one of them anew has another formula: it does not inherit the other forms of the old one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.counts import PairCounts
from rankbench.kinds.queries import Comparisons

__all__ = ["made_of_counts", "taken_back"]


def taken_back(own: set[str]) -> set[str]:
    """Return the methods that a class with methods of its own must take from the base class again."""
    others = set()
    if "aggregate" in own:
        others |= {"from_comparisons", "from_counts"}
    if "from_comparisons" in own:
        others |= {"from_counts"}
    if own & {"aggregate", "from_comparisons", "from_counts"}:
        others |= {"scales", "covariance", "replicates", "from_counts_near"}
    return others - own


def made_of_counts(cls: Any, own: set[str]) -> dict[str, Any]:
    """Return `aggregate` and `from_comparisons` of a class that has `from_counts`, but for those of its own.

    They call those of this very class, an `Aggregator`: a class derived from it may call them by `super`.
    """

    def from_comparisons(self: Any, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Aggregate the comparisons of one query, at least one, over its m items: what `from_counts` makes of them."""
        scores: NDArray[np.float64] = cls.from_counts(self, PairCounts.from_comparisons(comparisons, m))
        return scores

    def aggregate(
        self: Any,
        winners: NDArray[np.int32],
        losers: NDArray[np.int32],
        weights: NDArray[np.float64],
        m: int,
    ) -> NDArray[np.float64]:
        """Aggregate k comparisons, arrays of shape (k,), k >= 1, over m items: what `from_counts` makes of them."""
        offsets = np.array([0, len(winners)], dtype=np.int64)
        scores: NDArray[np.float64] = cls.from_comparisons(self, Comparisons(offsets, winners, losers, weights), m)
        return scores

    made = {"aggregate": aggregate, "from_comparisons": from_comparisons}
    return {name: method for name, method in made.items() if name not in own}
