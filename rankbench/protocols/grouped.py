"""A log as grouped counts: what cross-validation needs of it, whatever its length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from rankbench.counts.votes import Votes, numbered_pairs
from rankbench.kinds.counts import PairCounts
from rankbench.kinds.protocol import pack
from rankbench.protocols.folds import Cut, GroupSizes, HeldOut, grouping_of, sizes_of

__all__ = [
    "ComparedPairs",
    "GroupedVotes",
    "PartSums",
    "compared_pairs",
    "group_votes",
    "pack_grouped",
    "pack_pairs",
    "unpack_grouped",
]

_KINDS: tuple[HeldOut, ...] = get_args(HeldOut)


@dataclass(frozen=True, eq=False)
class ComparedPairs:
    """The pairs of items that were compared, P of them, sorted.

    Attributes
    ----------
    m : int
        Number of items.
    low, high : ndarray of int32, shape (P,)
        ``low < high``.
    """

    m: int
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.low)


@dataclass(frozen=True, eq=False)
class PartSums:
    """Sums by pair of some groups; arrays of shape (R,) and (R, 3): low won, high won, tie.

    Attributes
    ----------
    rows : ndarray of int64
        ComparedPairs that have votes, rising.
    weights : ndarray of float64
    numbers : ndarray of float64
        Of votes; the very same array where all weights are 1.
    """

    rows: NDArray[np.int64]
    weights: NDArray[np.float64]
    numbers: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupedVotes:
    """Votes summed by group, pair and outcome; K sums, never more than there are votes.

    Attributes
    ----------
    pairs : ComparedPairs
    sizes : GroupSizes
    starts : ndarray of int64, shape (G + 1,)
        Rows of group g are ``starts[g]:starts[g + 1]``.
    slot : ndarray of int32, shape (K,)
        ``3 pair + outcome``, rising within a group; outcomes are: low won, high won, tie.
    count : ndarray of uint8 or int32, shape (K,)
        Number of votes.
    weight : ndarray of float64, shape (K,) or (0,)
        Sum of their weights; empty where all are 1, and sums are numbers.
    """

    pairs: ComparedPairs
    sizes: GroupSizes
    starts: NDArray[np.int64]
    slot: NDArray[np.int32]
    count: NDArray[np.integer]
    weight: NDArray[np.float64]

    def parts(self, cut: Cut) -> list[PartSums]:
        """Return the sums of every part of a cut, the one that is tested on last."""
        from rankbench.protocols.kernels.folds import sum_parts

        shape = (cut.tested + 1, 3 * len(self.pairs))
        numbers = np.zeros(shape)
        sum_parts(self.starts, self.slot, self.count, cut.part, numbers)
        weights = numbers
        if len(self.weight):
            weights = np.zeros(shape)
            sum_parts(self.starts, self.slot, self.weight, cut.part, weights)
        return [_part(*sums) for sums in zip(weights, numbers, strict=True)]

    def counts(self, parts: list[PartSums], items: list[str]) -> PairCounts:
        """Return the sums of some parts, added in their order."""
        cells, numbers = np.zeros((len(self.pairs), 3)), 0.0
        for part in parts:
            # ComparedPairs of a part are different from one another.
            cells[part.rows] += part.weights
            numbers += float(part.numbers.sum())
        seen = cells.any(axis=1)
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.pairs.low[seen], minlength=self.pairs.m))])
        forward, backward, ties = (np.ascontiguousarray(cells[seen, outcome]) for outcome in range(3))
        return PairCounts(
            items, starts, self.pairs.high[seen], forward, backward, ties, round(numbers), bool(len(self.weight))
        )


def _part(weights: NDArray[np.float64], numbers: NDArray[np.float64]) -> PartSums:
    table = numbers.reshape(-1, 3)
    rows = np.flatnonzero(table.any(axis=1))
    chosen = table[rows]
    return PartSums(rows, chosen if weights is numbers else weights.reshape(-1, 3)[rows], chosen)


def compared_pairs(votes: Votes) -> tuple[ComparedPairs, NDArray[np.int32]]:
    """Return the pairs of a log, and the number of each vote's pair, shape (n,)."""
    m = len(votes.items)
    low, high, pair = numbered_pairs(votes.winners, votes.losers, m)
    return ComparedPairs(m, low, high), pair


def group_votes(votes: Votes, kind: HeldOut, pairs: ComparedPairs, pair: NDArray[np.int32]) -> GroupedVotes:
    """Return a log's votes by group.

    Parameters
    ----------
    votes : Votes
    kind : HeldOut
        What a group is.
    pairs : ComparedPairs
    pair : ndarray of int32, shape (n,)
        Of each vote: see `compared_pairs`.

    Raises
    ------
    SpecError
        See `rankbench.protocols.folds.grouping_of`.
    """
    sizes = sizes_of(votes, kind)
    width = 3 * len(pairs)
    outcome = (votes.winners > votes.losers).astype(np.int8)
    outcome[votes.ties] = 2
    # In place: of a long log a key is 8 bytes a vote.
    key = grouping_of(votes, kind).astype(np.int64)
    key *= len(pairs)
    key += pair
    key *= 3
    key += outcome
    weight = np.zeros(0)
    if votes.alike:
        key.sort()
        first = _firsts(key)
    else:
        # In the order of the log, so that sums are the same however votes are sorted.
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = _firsts(key)
        weight = np.add.reduceat(votes.weights[order], first)
    count = np.diff(np.append(first, len(key)))
    if votes.rest is not None:
        count = np.add.reduceat((~votes.rest)[order].astype(np.int64), first)
    small = np.uint8 if count.max() < 1 << 8 else np.int32
    key = key[first]
    starts = np.searchsorted(key, np.arange(len(sizes.total) + 1) * width)
    key %= width
    return GroupedVotes(pairs, sizes, starts, key.astype(np.int32), count.astype(small), weight)


def _firsts(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each different key begins among sorted ones."""
    return np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])


def pack_grouped(grouped: GroupedVotes) -> dict[str, NDArray[Any]]:
    """Return grouped votes as arrays of a `Prepared`; log and pairs apart, so that protocols share them."""
    sizes = grouped.sizes
    return pack(
        "groups",
        kind=np.array([_KINDS.index(sizes.kind)]),
        total=sizes.total,
        decisive=sizes.decisive,
        starts=grouped.starts,
        slot=grouped.slot,
        count=grouped.count,
        weight=grouped.weight,
    )


def pack_pairs(pairs: ComparedPairs) -> dict[str, NDArray[Any]]:
    """Return pairs as arrays of a `Prepared`."""
    return pack("pairs", m=np.array([pairs.m]), low=pairs.low, high=pairs.high)


def unpack_grouped(arrays: Mapping[str, NDArray[Any]]) -> GroupedVotes:
    """Return what `pack_grouped` and `pack_pairs` packed."""
    of = {name.removeprefix("groups."): array for name, array in arrays.items() if name.startswith("groups.")}
    kind = _KINDS[int(of["kind"][0])]
    pairs = ComparedPairs(int(arrays["pairs.m"][0]), arrays["pairs.low"], arrays["pairs.high"])
    sizes = GroupSizes(kind, of["total"], of["decisive"])
    return GroupedVotes(pairs, sizes, of["starts"], of["slot"], of["count"], of["weight"])
