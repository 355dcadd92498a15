"""A score test tells whether categories matter, by the votes expected if they do not.

Its statistic is that of the score test for a variance between categories ([L97]_): the sum over categories of the
squares of what their items won beyond what the common scores let expect. Under the null categories are labels: a
judge's votes in his categories are exchanged for one another, all at once, and judges with one category exchange
theirs. Votes of a judge on a category stay together, however alike they are; single votes, where judges are not
known, are judges of one vote. The statistic of such a log has the distribution of that of the log itself, however few
votes a category has, where categories are asked about pairs of items by lot ([PS10]_).

References
----------
.. [L97] X. Lin. Variance component testing in generalised linear models with random effects. Biometrika 84(2), 1997.
.. [PS10] B. Phipson and G. K. Smyth. Permutation p-values should never be zero. Statistical Applications in
   Genetics and Molecular Biology 9(1), 2010.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, scales_of
from rankbench.interfaces.pair_counts import PairCounts


def chances(
    scores: NDArray[np.float64], first: NDArray[np.integer], second: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the chance that each first item wins against the second one, by log-odds."""
    from scipy.special import expit

    return np.asarray(expit(scores[first] - scores[second]))


def expected_votes(
    scores: NDArray[np.float64],
    counts: PairCounts,
    items: NDArray[np.int64],
    squares: NDArray[np.float64] | None = None,
) -> PairCounts:
    """Return the expected votes on each pair, with as many votes and ties.

    Parameters
    ----------
    scores : ndarray of float64
        Log-odds.
    counts : PairCounts
    items : ndarray of int
        Index of each of its items among those of the scores.
    squares : ndarray of float64, shape (P,), optional
        Sums of squared weights: votes with weights are as many as are worth as much.
    """
    total = counts.forward + counts.backward + counts.ties
    worth = total if squares is None else total**2 / squares
    ties = worth * counts.ties / total
    forward = (worth - ties) * chances(scores, items[counts.low], items[counts.high])
    return replace(counts, forward=forward, backward=worth - ties - forward, ties=ties, weighted=False)


def refit_spread(
    votes: PairCounts, aggregator: Aggregator, noise: NDArray[np.float64], times: int, rng: np.random.Generator
) -> tuple[float, int]:
    """Return the squared errors of refitted scores, summed by a covariance, and the number of differences.

    Parameters
    ----------
    votes : PairCounts
        As many as are drawn on each pair, and how they are expected to go; ties stay.
    aggregator : Aggregator
    noise : ndarray of float64, shape (k, k)
        The covariance that its formula gives the scores of such votes.
    times : int
        Number of draws of votes.
    rng : Generator
    """
    truth, total, differences = call_aggregator(aggregator, votes, votes.m), 0.0, 0
    scales = scales_of(aggregator, votes)
    inverse = np.linalg.pinv(noise, hermitian=True)
    decisive = votes.forward + votes.backward
    share = np.divide(votes.forward, decisive, out=np.full(len(votes), 0.5), where=decisive > 0)
    many = np.maximum(np.rint(decisive), (votes.ties == 0).astype(np.float64)).astype(np.int64)
    order, turned = _by_what_they_are(votes, share)
    likelier = np.maximum(share, 1 - share)
    for _ in range(times):
        won = np.empty(len(votes), np.int64)
        won[order] = rng.binomial(many[order], likelier[order])
        forward = np.where(turned, many - won, won).astype(np.float64)
        drawn = replace(votes, forward=forward, backward=many - forward)
        if scales_of(aggregator, drawn).cuts(scales):
            continue  # without a penalty its parts are on scales of their own
        try:
            off = call_aggregator(aggregator, drawn, drawn.m) - truth
        except (ContenderDiverged, InputError):
            continue
        total += float(off @ inverse @ off)
        differences += len(off) - len(scales.sizes)
    return total, differences


def drawn_first(votes: PairCounts) -> tuple[float, ...]:
    """Return a key that orders categories by their votes, whatever the names of categories and items."""
    total = votes.forward + votes.backward + votes.ties
    uneven = np.abs(votes.forward - votes.backward)
    return tuple(round(float(sum_of), 6) for sum_of in (total.sum(), len(votes), uneven.sum(), (uneven**2).sum()))


def _by_what_they_are(votes: PairCounts, share: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return an order of the pairs that is independent of names, and whether the second item is the likelier one.

    Draws in the order of the names would be others, and scores with them, if items were called otherwise.
    """
    total = votes.forward + votes.backward + votes.ties
    item = np.bincount(votes.low, total, votes.m) + np.bincount(votes.high, total, votes.m)
    wins = np.bincount(votes.low, votes.forward, votes.m) + np.bincount(votes.high, votes.backward, votes.m)
    turned = np.round(share, 9) < 0.5
    first, second = np.where(turned, votes.high, votes.low), np.where(turned, votes.low, votes.high)
    keys = (wins[second], wins[first], item[second], item[first], np.maximum(share, 1 - share), total)
    return np.lexsort([np.round(key, 9) for key in keys]), turned


_TRIALS = 999
_LEAST = 199
_SUMS = 400_000_000
"""Sums that are made at most, unless that would be fewer than 199 trials."""


@dataclass(frozen=True)
class CategoryTest:
    """Test of a difference between categories.

    Attributes
    ----------
    p : float
        Share of logs under the null that differ as much between categories, the log itself among them.
    trials : int
        Number of logs under the null.
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
        Points of `winners` in each vote less the expected points, times the weight.
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
