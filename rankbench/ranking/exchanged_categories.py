"""Does the category of a vote matter? A test that moves votes between categories, judge by judge.

Its statistic is that of the score test for a variance between categories ([LZ86t]_): the sum over categories of the
squares of what their items won beyond what the common scores let expect. Under the null categories are labels: a
judge's votes in his categories are exchanged for one another, all at once, and judges with one category exchange
theirs. Votes of a judge on a category stay together, however alike they are; single votes, where judges are not
known, are judges of one vote. The statistic of such a log has the distribution of that of the log itself, however few
votes a category has, where categories are asked about pairs of items by lot ([PS10]_).

References
----------
.. [LZ86t] X. Lin. Variance component testing in generalised linear models with random effects. Biometrika 84(2), 1997.
.. [PS10] B. Phipson and G. K. Smyth. Permutation p-values should never be zero. Statistical Applications in
   Genetics and Molecular Biology 9(1), 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CategoryTest", "category_test"]

_TRIALS = 999
_LEAST = 199
_SUMS = 400_000_000
"""Sums that are made at most, unless that would be fewer than 199 trials."""


@dataclass(frozen=True)
class CategoryTest:
    """Whether categories matter.

    Attributes
    ----------
    p : float
        Share of logs under the null that differ as much between categories, the log itself among them.
    trials : int
        How many were made.
    """

    p: float
    trials: int


def category_test(
    residuals: NDArray[np.float64],
    winners: NDArray[np.integer],
    losers: NDArray[np.integer],
    category: NDArray[np.integer],
    judges: NDArray[np.integer],
    m: int,
    seed: int,
) -> CategoryTest:
    """Test whether the scores of categories differ by more than chance.

    Parameters
    ----------
    residuals : ndarray of float64, shape (n,)
        What `winners` won in each vote, less what was expected, by weight.
    winners, losers : ndarray of int, shape (n,)
    category, judges : ndarray of int, shape (n,)
    m : int
        Number of items.
    seed : int
    """
    blocks, block = np.unique(judges.astype(np.int64) * (int(category.max()) + 1) + category, return_inverse=True)
    owner, label = np.divmod(blocks, int(category.max()) + 1)
    item, place = np.concatenate([winners, losers]), np.tile(block.reshape(-1), 2)
    keys, at = np.unique(place * m + item, return_inverse=True)
    sums = np.bincount(at.reshape(-1), np.concatenate([residuals, -residuals]), len(keys))
    place, item = np.divmod(keys, m)
    count = int(category.max()) + 1

    def spread(labels: NDArray[np.int64]) -> float:
        won = np.bincount(labels[place] * m + item, sums, count * m)
        return float(won @ won)

    # Judges of one category exchange theirs among them.
    times = np.bincount(owner)[owner]
    group = np.where(times > 1, owner, -1)
    order = np.argsort(group, kind="stable")
    seen, rng = spread(label), np.random.default_rng([seed, 8])
    trials = int(np.clip(_SUMS // max(len(keys), 1), _LEAST, _TRIALS))
    labels, as_large = np.empty_like(label), 1
    for _ in range(trials):
        labels[order] = label[np.lexsort((rng.random(len(label)), group))]
        as_large += spread(labels) >= seen * (1 - 1e-12)
    return CategoryTest(as_large / (trials + 1), trials)
