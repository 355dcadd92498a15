"""Sampling units are the independent parts of a log; degrees of freedom follow from their effective numbers.

References
----------
.. [CSS17] A. V. Carter, K. T. Schnepel and D. G. Steigerwald. Asymptotic behavior of a t-test robust to
   cluster heterogeneity. Review of Economics and Statistics 99(4), 2017.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts
from rankbench.logs.votes import Votes

_AT_ONCE = 1 << 20
"""Sums that are processed together, so that temporary memory does not grow with the log."""

_KNOWN = 30
"""Degrees of freedom of a variance from which on it is taken for known."""

_LEAST = 0.01
"""A vote whose points are split is worth a hundred whole ones at most."""


def effective(sizes: NDArray[np.generic]) -> float:
    r"""Return the effective number of groups of these sizes.

    :math:`(\sum_g n_g)^2 / \sum_g n_g^2`, Kish's effective number; 0 for none.
    """
    known = np.asarray(sizes, dtype=np.float64)
    squares = float(known @ known)
    return float(known.sum()) ** 2 / squares if squares > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Units:
    """Independent units (votes, judges, ballots, sessions) behind the scores of m items.

    Attributes
    ----------
    count : int
        Of the log.
    effective : float
        The same, unequal ones counting for fewer, see `effective`.
    items : ndarray of float64, shape (m,)
        Effective number of those that judged each item.
    votes : ndarray of float64, shape (m,)
        Effective number of judgments of each item, by whomever.
    df_units : ndarray of float64, shape (m,)
        Effective number of units that show how much an item's score varies, at most `items`: where judgments of a unit
        are alike, the largest units are most of the variance, see `units_of_counts`.
    noun : str
        Name of the units, such as `JUDGES`.
    """

    count: int
    effective: float
    items: NDArray[np.float64]
    votes: NDArray[np.float64]
    df_units: NDArray[np.float64]
    noun: str = "votes"


JUDGES = "judges"


def units_words(by_judge: bool, judges: Units | None) -> str:
    """Return the name of the votes' sampling units; `judges` are too few to be the units."""
    if by_judge or judges is None:
        return JUDGES if by_judge else "votes"
    return "votes of this judge" if judges.count == 1 else f"votes of these {judges.count} judges"


def units_of_votes(votes: Votes, groups: NDArray[np.integer]) -> Units:
    """Return the units of a log whose vote t belongs to unit ``groups[t]``."""
    m = len(votes.items)
    items = np.concatenate([votes.winners, votes.losers])
    twice, weights = np.concatenate([groups, groups]), np.concatenate([votes.weights, votes.weights])
    sizes = np.bincount(groups, votes.weights)
    won = np.concatenate([votes.share_won(votes.winners), votes.share_won(votes.losers)])
    sums = _UnitMoments(m)
    # Both rows of a vote whose points are split are one judgment.
    numbers = np.tile(votes.numbers, 2)
    squares = None if votes.rest is None else weights * np.bincount(numbers, weights)[numbers] / 2
    sums.add(items, twice, weights, weights * won, squares)
    judged = _kish(items, weights, m) if votes.rest is None else _by_item(items, numbers, weights, m)
    return Units(int(groups.max()) + 1, effective(sizes), sums.shares(), judged, sums.df_units(sums.alike()))


def units_of_counts(data: PairCounts | ClusterCounts, *, split: bool = False) -> Units:
    """Return the units of sums: judgments of `PairCounts`, clusters of `ClusterCounts`.

    If judgments of a cluster have weights, a cluster's sum on a pair, in one direction,
    counts as one vote: single weights are not known any more. Where points are `split`, it is one vote whichever way.

    n judgments of a cluster on an item, any two with the correlation rho, make a variance of
    v = n (1 + (n - 1) rho). The variance of a sum over clusters is so estimated from (sum v)^2 / sum v^2 of them in
    effect (Satterthwaite): Kish's number of judgments where rho = 0, and far fewer of unequal clusters where it is 1,
    the worst case of [CSS17]_. One rho is estimated for all items, by moments of the clusters' shares of wins.
    """
    if isinstance(data, ClusterCounts):
        return units_of_parts(data.counts, [data], split=split)
    weight = data.forward + data.backward + data.ties
    judged = _sums(np.concatenate([data.low, data.high]), np.tile(weight, 2), data.m)
    return Units(data.judgments, float(data.judgments), judged, judged, judged)


def units_of_parts(counts: PairCounts, parts: Iterable[ClusterCounts], *, split: bool = False) -> Units:
    """Return the units of clusters given in parts, as `units_of_counts` does for all at once.

    Parameters
    ----------
    counts : PairCounts
        The sums over all parts.
    parts : iterable of ClusterCounts
        Whole clusters, each in one of them.
    split : bool
        Whether points of votes are split: see `units_of_counts`.
    """
    sums, votes, votes_squares = _UnitMoments(counts.m), np.zeros(counts.m), np.zeros(counts.m)
    low, high, sizes = counts.low, counts.high, []
    for data in parts:
        for begin, end in _whole_clusters(data.starts):
            rows = slice(data.starts[begin], data.starts[end])
            cells, weights = data.cells[rows], data.weights[rows]
            cluster = np.repeat(np.arange(end - begin), np.diff(data.starts[begin : end + 1]))
            firsts = np.arange(len(cells))
            if split:
                # Cells rise, so that the cells of a cluster and a pair adjoin.
                firsts = np.flatnonzero(np.diff(cluster * len(low) + cells // 3, prepend=-1))
            said = np.add.reduceat(np.stack([weights, *(_WON[:, cells % 3] * weights)]), firsts, axis=1)
            pair, weight = cells[firsts] // 3, np.tile(said[0], 2)
            items = np.concatenate([low[pair], high[pair]])
            cluster = np.tile(cluster[firsts], 2)
            sums.add(items, cluster, weight, said[1:].ravel(), None if counts.weighted else weight)
            votes += _sums(items, weight, counts.m)
            votes_squares += _sums(items, weight**2, counts.m)
        sizes.append(np.add.reduceat(np.append(data.weights, 0.0), data.starts[:-1]) * (np.diff(data.starts) > 0))
    judged = _shared(votes, votes_squares) if counts.weighted else votes
    size = np.concatenate(sizes)
    return Units(len(size), effective(size), sums.shares(), judged, sums.df_units(sums.alike()))


def grade_variance_ratio(votes: Votes, *groups: NDArray[np.int64]) -> float:
    r"""Return the variance of points of graded votes over that of whole votes, from .01 to 1.

    With g the share of the first item of a vote, :math:`(g - g')^2 / (g (1 - g') + g' (1 - g))` of all two votes of a
    group: both sums have the variance's expectation where g is 0 or 1, and then they are equal.

    Parameters
    ----------
    votes : Votes
    groups : ndarrays of int64, shape (n,)
        Rows of votes on one pair of items that are alike; those below 0 are left out. Of several the first that tells
        the variance is taken. None does: 1, which is too much rather than too little.
    """
    if votes.rest is None:
        return 1.0
    first = np.flatnonzero(~votes.rest)
    won = votes.weights * votes.share_won(np.minimum(votes.winners, votes.losers))
    points, weight = (np.bincount(votes.numbers, of) for of in (won, votes.weights))
    for group in groups:
        kept = (weight > 0) & (group[first] >= 0)
        g = points[kept] / weight[kept]
        _, place, count = np.unique(group[first][kept], return_inverse=True, return_counts=True)
        several = count > 1
        n, total, squares = count[several], *(_sums(place, of, len(count))[several] for of in (g, g**2))
        if (n - 1).sum() >= _KNOWN:
            apart = float(((n * squares - total**2) / (n - 1)).sum())
            whole = float((total - (total**2 - squares) / (n - 1)).sum())
            return min(max(apart / whole, _LEAST), 1.0) if whole > 0 else 1.0
    return 1.0


def _whole_clusters(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of clusters with about `_AT_ONCE` rows, or of a larger one."""
    begin = 0
    while begin < len(starts) - 1:
        end = int(np.searchsorted(starts, starts[begin] + _AT_ONCE, side="right")) - 1
        end = min(max(end, begin + 1), len(starts) - 1)
        yield begin, end
        begin = end


class _UnitMoments:
    """Sums over units by item, of the weight n, the wins y and the sum of squared weights q of a unit's votes.

    Shape (9, m): of n, y, n^2, n y, y^2, q, q^2, q n^2 and n^4, in this order.
    """

    def __init__(self, m: int) -> None:
        self.sums = np.zeros((9, m))

    def add(
        self,
        items: NDArray[np.integer],
        units: NDArray[np.integer],
        weights: NDArray[np.float64],
        won: NDArray[np.float64],
        squares: NDArray[np.float64] | None = None,
    ) -> None:
        """Add votes of units, all of each, by item: shapes (k,). `squares` are those of single votes' weights."""
        m = self.sums.shape[1]
        keys, at = np.unique(units.astype(np.int64) * m + items, return_inverse=True)
        squared = weights**2 if squares is None else squares
        n, y, q = (_sums(at.reshape(-1), of, len(keys)) for of in (weights, won, squared))
        who = keys % m
        for total, of in zip(self.sums, (n, y, n**2, n * y, y**2, q, q**2, q * n**2, n**4), strict=True):
            total += _sums(who, of, m)

    def shares(self) -> NDArray[np.float64]:
        """Return the effective number of units of each item, by their shares of its votes, (m,)."""
        return _shared(self.sums[0], self.sums[2])

    def alike(self) -> float:
        """Return the correlation of votes of one unit on one item, from 0 to 1."""
        n, y, nn, ny, yy, q = self.sums[:6]
        p = np.divide(y, n, out=np.zeros(len(n)), where=n > 0)
        spread = p * (1 - p)
        known = spread > 0
        excess = (yy - 2 * p * ny + p**2 * nn)[known] / spread[known] - q[known]
        pairs = float((nn - q)[known].sum())
        return min(max(float(excess.sum()) / pairs, 0.0), 1.0) if pairs > 0 else 0.0

    def df_units(self, rho: float) -> NDArray[np.float64]:
        """Return the effective number of units behind the variance of each item, (m,)."""
        nn, q, qq, qnn, nnnn = self.sums[2], *self.sums[5:]
        total = (1 - rho) * q + rho * nn
        return _shared(total, (1 - rho) ** 2 * qq + 2 * rho * (1 - rho) * qnn + rho**2 * nnnn)


_WON = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
"""Wins of `low` and of `high` by each outcome."""


def units_of_lists(
    items: NDArray[np.int32],
    starts: NDArray[np.int64],
    units: NDArray[np.int64] | None,
    weights: NDArray[np.float64],
    m: int,
    counts: NDArray[np.int64] | None = None,
) -> Units:
    """Return the units of lists.

    Parameters
    ----------
    items : ndarray of int32
    starts : ndarray of int64, shape (lists + 1,)
        List b names ``items[starts[b]:starts[b + 1]]``.
    units : ndarray of int64, shape (lists,), optional
        Unit of each list; by default single lists are the units.
    weights : ndarray of float64, shape (lists,)
    m : int
    counts : ndarray of int64, shape (lists,), optional
        Number of lists that share the weight of each row; one by default.
    """
    lengths, times = np.diff(starts), np.ones(len(weights)) if counts is None else counts
    weight, squares = np.repeat(weights, lengths), np.repeat(weights**2 / times, lengths)
    votes = _shared(_sums(items, weight, m), _sums(items, squares, m))
    if units is None:
        whole = _shared(np.array([weights.sum()]), np.array([(weights**2 / times).sum()]))[0]
        return Units(int(times.sum()), float(whole), votes, votes, votes)
    sizes = np.bincount(units, weights)
    judged = _by_item(items, np.repeat(units, lengths), weight, m)
    return Units(len(sizes), effective(sizes), judged, votes, judged)


def _by_item(
    items: NDArray[np.int32], units: NDArray[np.integer], weights: NDArray[np.float64], m: int
) -> NDArray[np.float64]:
    """Return the effective number of units of each item, shape (m,)."""
    keys, at = np.unique(items.astype(np.int64) * (int(units.max()) + 1) + units, return_inverse=True)
    return _kish(keys // (int(units.max()) + 1), _sums(at.reshape(-1), weights, len(keys)), m)


def _kish(items: NDArray[np.integer], weights: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    return _shared(_sums(items, weights, m), _sums(items, weights**2, m))


def _shared(total: NDArray[np.float64], squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return effective numbers, from sums and sums of squares."""
    return np.divide(total**2, squares, out=np.zeros(len(total)), where=squares > 0)


def _sums(index: NDArray[np.integer], weights: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    return np.bincount(index, weights, m).astype(np.float64)


ENOUGH = 10.0
"""Fewer votes on an item than this do not show how far its score could be off."""

_FEWEST = 3.0
"""Fewer units have no spread to speak of: one degree of freedom, or none."""


def has_interval(units: Units) -> NDArray[np.bool_]:
    """Return whether an item has at least ten votes and three units, shape (m,)."""
    return (units.votes >= ENOUGH) & (units.items >= _FEWEST)


def too_few_judges(judges: Units) -> bool:
    """Return whether no item has enough judges for an interval, though some have enough votes."""
    return bool((judges.votes >= ENOUGH).any()) and not has_interval(judges).any()


def few_judges(votes: Votes) -> Units | None:
    """Return the judges of votes if they are one alone, or too few to be sampled (`too_few_judges`), else None."""
    if votes.judges is None:
        return None
    judges = units_of_votes(votes, votes.judges)
    return judges if judges.count == 1 or too_few_judges(judges) else None


def too_few_judges_note(judges: Units) -> str:
    """Return a note on the condition that too few judges fail, and on the intervals used instead."""
    most = math.floor(100 * float(judges.items.max())) / 100
    return (
        f"no item has an effective number of {_FEWEST:.0f} judges (of {judges.count:,}, at most {most:.3g}): too few "
        "to stand for other judges. Intervals are for more votes of these judges"
    )


def lacking(units: Units, chosen: Sequence[int] | slice = slice(None)) -> dict[str, int]:
    """Return the conditions of `has_interval` that chosen items fail, with the number of items that fail each first."""
    few = units.votes[chosen] < ENOUGH
    alone = ~few & (units.items[chosen] < _FEWEST)
    said = {f"fewer than {ENOUGH:.0f} votes": few, f"an effective number of {units.noun} below {_FEWEST:.0f}": alone}
    return {words: int(which.sum()) for words, which in said.items() if which.any()}


def few_votes_notes(units: Units) -> list[str]:
    """Return a sentence on the items without intervals, and the condition that they fail; none if all have them."""
    if not (thin := lacking(units)):
        return []
    which = " and ".join(f"{count:,} with {words}" for words, count in thin.items())
    return [
        f"{sum(thin.values()):,} of {len(units.votes):,} items get no interval, and may hold any place: {which} "
        "(weights add no votes)"
    ]


def degrees_of_freedom(units: Units) -> NDArray[np.float64]:
    """Return the degrees of freedom of each item's variance, (m,): its effective units less 1, at least 1."""
    return np.maximum(units.df_units - 1, 1.0)
