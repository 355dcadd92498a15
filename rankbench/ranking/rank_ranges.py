"""Intervals of scores and ranges of ranks tell how certain the scores and places of items are.

References
----------
.. [FdM04] D. Firth and R. X. de Menezes. Quasi-variances. Biometrika 91(1), 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.ranking.sampling_units import Units, degrees_of_freedom, has_interval
from rankbench.stats.contender_ranks import possible_best, rank_ranges_of_signs
from rankbench.stats.contrast_columns import AllPairs
from rankbench.stats.contrasts import above_least, within_range
from rankbench.stats.multiple_tests import told_apart
from rankbench.stats.simultaneous import FEW

LARGEST = 4000
"""Most items whose differences are compared, all pairs of them: matrices of 128 MB."""

MANY = 500
"""With more items the maximum over all pairs takes long, and gains little over Holm's levels."""

_LEVEL = 0.95
_ALPHA = 1 - _LEVEL


def check_size(m: int) -> None:
    """Refuse more items than intervals can compare, before anything is allocated.

    Raises
    ------
    InputError
        There are more than `LARGEST`.
    """
    if m > LARGEST:
        raise InputError(
            f"intervals compare all pairs of items: {m:,} are too many (at most {LARGEST:,}); leave them out"
        )


def less_known_mean(
    values: NDArray[np.float64], scales: NDArray[np.int64], known: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return numbers of items, shape (k, m), less their mean over the known items of each scale.

    A score in log-odds tells differences alone: it is one from a mean of its scale. An item of one vote in that mean
    would make the intervals of all others wide. Numbers of a scale whose items are all known, or none, stay as they
    are.
    """
    members = np.flatnonzero(known)
    members = members[np.argsort(scales[members], kind="stable")]
    if not len(members):
        return values.copy()
    of, starts, sizes = np.unique(scales[members], return_index=True, return_counts=True)
    means = np.zeros((len(values), int(scales.max()) + 1))
    means[:, of] = np.add.reduceat(values[:, members], starts, axis=1) / sizes
    mixed = np.zeros(means.shape[1], np.bool_)
    mixed[scales[~known]] = True
    return np.asarray(values - (means * mixed)[:, scales])


_WIDER = 1.05
"""Items of large variance may make the interval of another score so many times as wide, and not more."""

_LARGE = 8.0
"""A variance that is not so many times the median is ordinary, also where votes on items are unequal."""


def reference_items(
    covariance: NDArray[np.float64], scales: NDArray[np.int64], known: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    r"""Return the items whose mean score is the reference of their scale, shape (m,).

    The variance of a difference of two scores is about the sum of a variance for each, :math:`q_i + q_k`: the
    quasi-variances of [FdM04]_, here by least squares. The mean of the n items with the least ones adds
    :math:`\sum q_i / n^2` to each score's variance. Of the known items of a scale as many are taken, the best known
    first, as leave the interval of the item with the median q at most 5% wider than if all of them had that q; and
    all whose q is at most eight times the median.

    Parameters
    ----------
    covariance : ndarray of float64, shape (m, m)
    scales : ndarray of int64, shape (m,)
    known : ndarray of bool, shape (m,)
        Items that have an interval; the others are none of the reference.
    """

    def variances(at: NDArray[np.intp]) -> NDArray[np.float64]:
        block = covariance[np.ix_(at, at)]
        return np.asarray(np.diag(block) - 2 * block.mean(axis=1) + block.mean())

    return _well_known(variances, scales, known)


def reference_items_by_draws(
    draws: NDArray[np.float64], scales: NDArray[np.int64], known: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the `reference_items` by draws of the errors of scores, shape (K, m)."""

    def variances(at: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.asarray(((draws[:, at] - draws[:, at].mean(axis=1, keepdims=True)) ** 2).mean(axis=0))

    return _well_known(variances, scales, known)


def _well_known(
    variances: Callable[[NDArray[np.intp]], NDArray[np.float64]], scales: NDArray[np.int64], known: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the `reference_items` by the variances of scores less the mean of some items."""
    reference = known.copy()
    members = np.flatnonzero(known & (np.bincount(scales[known], minlength=int(scales.max()) + 1)[scales] > 2))
    members = members[np.argsort(scales[members], kind="stable")]
    for at in np.split(members, np.flatnonzero(np.diff(scales[members])) + 1) if len(members) else ():
        n = len(at)
        own = variances(at)
        q = np.maximum(n / (n - 2) * (own - own.sum() / (n * (n - 1))), 0)
        order, sizes, typical = np.argsort(q, kind="stable"), np.arange(1, n + 1), np.median(q)
        excess = (np.cumsum(q[order]) / sizes - typical) / sizes
        fits = (q[order] <= _LARGE * typical) | (excess <= (_WIDER**2 - 1) * typical * (1 - 1 / sizes))
        reference[at[order[sizes[fits].max(initial=0) :]]] = False
    return reference


def relative_covariance(
    covariance: NDArray[np.float64], scales: NDArray[np.int64], known: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the covariance of scores less the mean score of the known items of their scale, shape (m, m)."""
    return less_known_mean(less_known_mean(covariance, scales, known).T, scales, known)


def score_intervals(
    scores: NDArray[np.float64],
    se: NDArray[np.float64],
    units: Units,
    bounds: tuple[float | None, float | None] = (None, None),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the items' own intervals by Student's t, shapes (m,); nan if unknown.

    Degrees of freedom are one fewer than the effective number of units behind the item's variance.
    An item has no interval if fewer than ten votes (or three units) judged it, or if its score is
    the same in all resamples: what always happened in a few votes need not always happen.
    One that would leave the bounds of the scores is a score interval: see `rankbench.stats.contrasts.within_range` and
    `rankbench.stats.contrasts.above_least`.
    """
    from scipy.special import stdtrit

    known = has_interval(units) & (se > _unit(scores))
    half = np.where(known, -stdtrit(degrees_of_freedom(units), _ALPHA / 2) * se, np.nan)
    ends, (least, largest) = (scores, scores - half, scores + half), bounds
    return above_least(*ends, least) if largest is None and least is not None else within_range(*ends, bounds)


class RankRanges(NamedTuple):
    """Places that m items may hold.

    Attributes
    ----------
    low, high : ndarray of int64, shape (m,)
        The best and the worst place of each item, 1 being the best; all ranges hold at once.
    first : ndarray of bool, shape (m,)
        Items that may be the first of their scale. The first one is among them with the same confidence, by
        comparisons with the best: see `rankbench.stats.contender_ranks`. Their ranges begin at 1.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    first: NDArray[np.bool_]


def item_rank_ranges(
    scores: NDArray[np.float64],
    covariance: NDArray[np.float64],
    scales: NDArray[np.int64],
    units: Units,
    deviations: NDArray[np.float64] | None = None,
    freedom: NDArray[np.float64] | None = None,
) -> RankRanges:
    """Return each item's possible places, and whether it may be first.

    1 + the number of items that are significantly better, to m - the number that are
    significantly worse, by step-down tests of all ordered pairs within scales [MWR24]_.
    Critical values have the fewer degrees of freedom of two items. A difference without any
    spread is significant if so many units would hardly ever agree by chance; items that fewer
    than ten votes (or three units) judged may hold any place.

    Parameters
    ----------
    scores : ndarray of float64, shape (m,)
    covariance : ndarray of float64, shape (m, m)
    scales : ndarray of int, shape (m,)
    units : Units
        Independent units behind the covariance.
    deviations : ndarray of float64, shape (B, m), optional
        Of replicates from the scores: max-t intervals. Without, or with fewer than 30
        units, or more than 500 items: Holm's levels.
    freedom : ndarray of float64, shape (m,), optional
        Degrees of freedom of each item's variance: see `rankbench.stats.moderation`. By default one fewer than units
        show it; the deviations are then the units', and not used if there are fewer than 30 units.
    """
    from scipy.special import stdtrit

    m = len(scores)
    first, second = np.triu_indices(m, 1)
    variance, judged = np.diag(covariance), has_interval(units)
    compared = (scales[first] == scales[second]) & judged[first] & judged[second]
    count = int(compared.sum())
    if not count:
        return any_place(m)
    unit = _unit(scores)
    se = np.sqrt(np.maximum(variance[first] + variance[second] - 2 * covariance[first, second], 0))
    live = compared & (se > unit)
    se[~live] = 0.0
    lead = scores[first] - scores[second]
    fewer = np.minimum(units.items[first], units.items[second])
    of_item = degrees_of_freedom(units) if freedom is None else freedom
    of_pair = np.minimum(of_item[first], of_item[second])
    largest = None
    if deviations is not None and (freedom is not None or units.effective >= FEW) and m <= MANY:
        columns, centre = AllPairs(m).contrast_rows(deviations), np.zeros(len(se))
        largest = partial(columns.largest, centre, se)
    signs = told_apart(lead, se, lambda local: -stdtrit(of_pair, local / 2), largest, _LEVEL, 2 * count)
    # No spread at all: n units agree by chance with probability 2^(1 - n).
    agreed = compared & ~live & (np.abs(lead) > unit) & (2.0 ** (1 - fewer) <= _ALPHA / count)
    signs[agreed] = np.sign(lead[agreed])
    low, high = rank_ranges_of_signs(signs, m).T
    between = np.zeros((m, m))
    between[first, second] = between[second, first] = se

    def furthest_ahead(i: int, others: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the largest studentized lead over an item in each replicate, shape (B,)."""
        assert deviations is not None
        return np.asarray(((deviations[:, others] - deviations[:, [i]]) / between[i, others]).max(axis=1))

    best = possible_best(
        scores,
        between,
        lambda i, others, local: -stdtrit(np.minimum(of_item[i], of_item[others]), local / 2),
        None if largest is None else furthest_ahead,
        _LEVEL,
        possible=low == 1,
    )
    return RankRanges(low, high, best)


class ManyErrors(NamedTuple):
    """Errors of more scores than a covariance has room for.

    Attributes
    ----------
    se, behind : ndarray of float64, shape (m,)
        Standard errors of the scores, and of their distances from the first score of the scale.
    """

    se: NDArray[np.float64]
    behind: NDArray[np.float64]


def many_errors(
    scores: NDArray[np.float64], scales: NDArray[np.int64], units: Units, blocks: Iterable[NDArray[np.float64]]
) -> ManyErrors:
    """Return the errors of scores by draws of their errors, (K, m) at a time.

    Distances are from the first item of each scale that ten votes judged.
    """
    leader = _leaders(scores, scales, has_interval(units))
    own, behind, count = np.zeros(len(scores)), np.zeros(len(scores)), 0
    for block in blocks:
        own += (block**2).sum(axis=0)
        behind += ((block - block[:, leader]) ** 2).sum(axis=0)
        count += len(block)
    return ManyErrors(np.sqrt(own / count), np.sqrt(behind / count))


def _leaders(scores: NDArray[np.float64], scales: NDArray[np.int64], judged: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the first judged item of each item's scale, (m,)."""
    order = np.lexsort((-scores, ~judged, scales))
    _, begin, of = np.unique(scales[order], return_index=True, return_inverse=True)
    leader = np.empty(len(scores), np.int64)
    leader[order] = order[begin][of.reshape(-1)]
    return leader


def many_rank_ranges(
    scores: NDArray[np.float64],
    errors: ManyErrors,
    scales: NDArray[np.int64],
    units: Units,
    freedom: NDArray[np.float64],
) -> RankRanges:
    """Return each of many items' possible places, and whether it may be first.

    By simultaneous intervals of scores, at Bonferroni's level for all of them: an item is better than those whose
    intervals are below its own. They need no covariance, hold for any, and are some 10% wider than tests of all pairs.
    Items that may be first are those that the first one is not significantly ahead of, by one comparison an item.
    """
    from scipy.special import stdtrit

    m = len(scores)
    known, unit = has_interval(units) & (errors.se > _unit(scores)), _unit(scores)
    if not known.any():
        return any_place(m)
    low, high, first = any_place(m)
    half = -stdtrit(freedom, _ALPHA / 2 / known.sum()) * errors.se
    leader = _leaders(scores, scales, has_interval(units))
    order = np.flatnonzero(known)[np.argsort(scales[known], kind="stable")]
    for among in np.split(order, np.flatnonzero(np.diff(scales[order])) + 1):
        if len(among) < 2:
            continue
        lower, upper = scores[among] - half[among], scores[among] + half[among]
        low[among] += len(among) - np.searchsorted(np.sort(lower), upper, side="right")
        high[among] -= np.searchsorted(np.sort(upper), lower, side="left")
        best = leader[among]
        compared = (errors.behind[among] > unit) & known[best]
        critical = -stdtrit(np.minimum(freedom[among], freedom[best]), _ALPHA / (len(among) - 1))
        behind = compared & (scores[best] - scores[among] > critical * errors.behind[among])
        first[among] = (low[among] == 1) & ~behind
    return RankRanges(low, high, first)


def any_place(m: int) -> RankRanges:
    """Return the ranges of m items that may hold any place."""
    return RankRanges(np.ones(m, np.int64), np.full(m, m, np.int64), np.ones(m, np.bool_))


def places(scores: NDArray[np.float64], scales: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the best and the worst place of each item by score alone, shapes (m,).

    1 + the number of items of its scale with a higher score, to m - the number with a lower
    one: equal scores share their places, and those of other scales may stand anywhere.
    """
    unit, rising = _unit(scores), np.sort(scores)
    _, scale, sizes = np.unique(scales, return_inverse=True, return_counts=True)
    scale = scale.reshape(-1)
    ends = np.cumsum(sizes)[scale]
    # By scale, and in it by the number of scores below: scores themselves would be rounded beside the scale.
    key, room = np.searchsorted(rising, scores), len(scores) + 1
    places = np.sort(scale * room + key)
    above = ends - np.searchsorted(places, scale * room + np.searchsorted(rising, scores + unit, side="right"))
    below = np.searchsorted(places, scale * room + np.searchsorted(rising, scores - unit)) - ends + sizes[scale]
    return 1 + above, len(scores) - below


def _unit(scores: NDArray[np.float64]) -> float:
    """Return the tolerance below which differences of these scores count as 0."""
    return 1e-9 * max(1.0, float(np.abs(scores).max(initial=0.0)))
