"""What is independent in a log, and how much of it there is: for the log and for each item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.votes import Votes
from rankbench.kinds.counts import ClusterCounts, PairCounts

__all__ = ["ENOUGH", "Units", "effective", "units_of_counts", "units_of_lists", "units_of_voters", "units_of_votes"]

_AT_ONCE = 1 << 20
"""Sums that are looked at together: what is made on the way does not grow with the log."""

ENOUGH = 10.0
"""Fewer votes on an item than this do not show how far its score could be off."""


def effective(sizes: NDArray[np.generic]) -> float:
    r"""Return how many equally large groups are as good as groups of these sizes.

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
    """

    count: int
    effective: float
    items: NDArray[np.float64]
    votes: NDArray[np.float64]

    @classmethod
    def alike(cls, count: int, m: int) -> Units:
        """Return units that are equally large and of which each judged every item."""
        every = np.full(m, float(count))
        return cls(count, float(count), every, every)


def units_of_votes(votes: Votes, groups: NDArray[np.integer]) -> Units:
    """Return the units of a log whose vote t belongs to unit ``groups[t]``."""
    m = len(votes.items)
    items = np.concatenate([votes.winners, votes.losers])
    twice, weights = np.concatenate([groups, groups]), np.concatenate([votes.weights, votes.weights])
    sizes = np.bincount(groups, votes.weights)
    return Units(int(groups.max()) + 1, effective(sizes), _by_item(items, twice, weights, m), _kish(items, weights, m))


def units_of_counts(data: PairCounts | ClusterCounts) -> Units:
    """Return the units of sums: judgments of `PairCounts`, clusters of `ClusterCounts`.

    Where judgments of a cluster have weights, what a cluster said about a pair, in one way,
    counts as one vote: single weights are not known any more.
    """
    counts = data.counts if isinstance(data, ClusterCounts) else data
    ends = np.concatenate([counts.low, counts.high])
    if isinstance(data, PairCounts):
        weight = data.forward + data.backward + data.ties
        judged = _sums(ends, np.tile(weight, 2), data.m)
        return Units(data.judgments, float(data.judgments), judged, judged)
    sums = [np.zeros(counts.m) for _ in range(4)]
    for begin, end in _whole_clusters(data.starts):
        for total, more in zip(sums, _said_by(data, begin, end), strict=True):
            total += more
    weight, squares, votes, votes_squares = sums
    sizes = np.add.reduceat(np.append(data.weights, 0.0), data.starts[:-1]) * (np.diff(data.starts) > 0)
    judged = _shared(votes, votes_squares) if counts.weighted else votes
    return Units(len(data), effective(sizes), _shared(weight, squares), judged)


def _whole_clusters(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of clusters of some `_AT_ONCE` rows, or of one that has more."""
    begin = 0
    while begin < len(starts) - 1:
        end = int(np.searchsorted(starts, starts[begin] + _AT_ONCE, side="right")) - 1
        end = min(max(end, begin + 1), len(starts) - 1)
        yield begin, end
        begin = end


def _said_by(data: ClusterCounts, begin: int, end: int) -> list[NDArray[np.float64]]:
    """Return sums over some clusters by item, (m,) each.

    Of what each cluster said about the item and of its square, and of each cell and of its square.
    """
    counts = data.counts
    rows = slice(data.starts[begin], data.starts[end])
    pair, weight = data.cells[rows] // 3, np.tile(data.weights[rows], 2)
    items = np.concatenate([counts.low[pair], counts.high[pair]])
    cluster = np.repeat(np.arange(end - begin), np.diff(data.starts[begin : end + 1]))
    keys, at = np.unique(np.tile(cluster, 2) * counts.m + items, return_inverse=True)
    said = _sums(at.reshape(-1), weight, len(keys))
    who = keys % counts.m
    return [_sums(of, by, counts.m) for of, by in ((who, said), (who, said**2), (items, weight), (items, weight**2))]


def units_of_lists(
    items: NDArray[np.int32], starts: NDArray[np.int64], units: NDArray[np.int64], weights: NDArray[np.float64], m: int
) -> Units:
    """Return the units of lists: list b names ``items[starts[b]:starts[b + 1]]`` and belongs to ``units[b]``."""
    lengths = np.diff(starts)
    unit, weight = np.repeat(units, lengths), np.repeat(weights, lengths)
    sizes = np.bincount(units, weights)
    return Units(len(sizes), effective(sizes), _by_item(items, unit, weight, m), _kish(items, weight, m))


def units_of_voters(items: NDArray[np.int32], starts: NDArray[np.int64], voters: NDArray[np.float64], m: int) -> Units:
    """Return the voters behind ballots that stand for many of them each."""
    judged = _sums(items, np.repeat(voters, np.diff(starts)), m)
    return Units(round(voters.sum()), float(voters.sum()), judged, judged)


def _by_item(
    items: NDArray[np.int32], units: NDArray[np.integer], weights: NDArray[np.float64], m: int
) -> NDArray[np.float64]:
    """Return the effective number of units of each item, shape (m,)."""
    keys, at = np.unique(items.astype(np.int64) * (int(units.max()) + 1) + units, return_inverse=True)
    sums = _sums(at.reshape(-1), weights, len(keys))
    return _kish(keys // (int(units.max()) + 1), sums, m)


def _kish(items: NDArray[np.integer], weights: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    return _shared(_sums(items, weights, m), _sums(items, weights**2, m))


def _shared(total: NDArray[np.float64], squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return effective numbers, from sums and sums of squares."""
    return np.divide(total**2, squares, out=np.zeros(len(total)), where=squares > 0)


def _sums(index: NDArray[np.integer], weights: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    return np.bincount(index, weights, m).astype(np.float64)
