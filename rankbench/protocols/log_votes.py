"""Votes in and out of blocks, as grouped counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.component import Component
from rankbench.core.text import count_text, listed
from rankbench.data.tables.checks import judgments_of
from rankbench.data.tables.kinds import table_kind
from rankbench.data.tables.order_log import load_orders, single_ballots, take_orders
from rankbench.descriptions.suspicions import name_notes, suspicious_votes
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.covariate_aggregator import PREDICTION, sees_covariates
from rankbench.interfaces.dataset import Dataset, cached_load
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.protocol import BlockPart, BlockTask, Prepared, Protocol, pack, unpack
from rankbench.interfaces.queries import check_implied, implied_comparisons
from rankbench.logs.votes import Votes, all_ones, coded_votes, load_votes, numbered_groups
from rankbench.protocols.folds import Cut, HeldOut, grouping_of, sizes_of
from rankbench.protocols.steps import arrays_of, covariates_of

_KINDS: tuple[HeldOut, ...] = get_args(HeldOut)


@dataclass(frozen=True, eq=False)
class GroupedVotes:
    """Votes summed by group, pair and outcome: K sums, at most as many as votes.

    Only they hold the number of votes beside their weight, by the groups that folds consist of.

    Attributes
    ----------
    pairs : ndarray of int32, shape (P, 2)
        See `Votes.pairs`.
    kind : HeldOut
        Kind of a group.
    total, decisive : ndarray of int64, shape (G,)
        Number of votes of each group, and of those that prefer one item, with some weight.
    starts : ndarray of int64, shape (G + 1,)
        Rows of group g are ``starts[g]:starts[g + 1]``.
    slot : ndarray of int32, shape (K,)
        ``3 pair + outcome``, rising within a group; outcomes are: low won, high won, tie.
    count : ndarray of uint8 or int32, shape (K,)
        Number of votes.
    weight : ndarray of float64, shape (K,) or (0,)
        Sum of their weights; empty where all are 1, and sums are numbers.
    """

    pairs: NDArray[np.int32]
    kind: HeldOut
    total: NDArray[np.int64]
    decisive: NDArray[np.int64]
    starts: NDArray[np.int64]
    slot: NDArray[np.int32]
    count: NDArray[np.integer]
    weight: NDArray[np.float64]

    def parts(self, cut: Cut) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sums of weights, and the numbers, of the votes of every part of a cut, the tested one last.

        Both are of shape (parts, P, 3): low won, high won, tie; they are one array where all weights are 1.
        """
        shape = (cut.tested + 1, len(self.pairs), 3)
        part = np.repeat(cut.part, np.diff(self.starts))
        rows = np.flatnonzero(part >= 0)
        cells = part[rows].astype(np.int64) * 3 * len(self.pairs) + self.slot[rows]

        def summed(column: NDArray[Any]) -> NDArray[np.float64]:
            sums = np.bincount(cells, column[rows], math.prod(shape))
            return sums.astype(np.float64, copy=False).reshape(shape)

        numbers = summed(self.count)
        return summed(self.weight) if len(self.weight) else numbers, numbers

    def counts(self, weights: NDArray[np.float64], numbers: NDArray[np.float64], items: list[str]) -> PairCounts:
        """Return the sums of some parts, added in their order."""
        cells = np.zeros((len(self.pairs), 3))
        for part in weights:
            cells += part
        weighted = bool(len(self.weight))
        return PairCounts.from_cells(items, self.pairs, cells, round(float(numbers.sum())), weighted).observed()


def group_votes(votes: Votes, kind: HeldOut, pairs: NDArray[np.int32], pair: NDArray[np.int32]) -> GroupedVotes:
    """Return a log's votes by group.

    Parameters
    ----------
    votes : Votes
    kind : HeldOut
        Kind of a group.
    pairs : ndarray of int32, shape (P, 2)
    pair : ndarray of int32, shape (n,)
        Of each vote: see `Votes.pairs`.

    Raises
    ------
    SpecError
        See `rankbench.protocols.folds.grouping_of`.
    """
    total, decisive = sizes_of(votes, kind)
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
    starts = np.searchsorted(key, np.arange(len(total) + 1) * width)
    key %= width
    return GroupedVotes(pairs, kind, total, decisive, starts, key.astype(np.int32), count.astype(small), weight)


def _firsts(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first index of each different key among sorted keys."""
    return np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])


_COLUMNS = ("total", "decisive", "starts", "slot", "count", "weight")


def pack_grouped(grouped: GroupedVotes) -> dict[str, NDArray[Any]]:
    """Return grouped votes as arrays of a `Prepared`; pairs apart, so that protocols share them."""
    columns = {name: getattr(grouped, name) for name in _COLUMNS}
    kind = np.array([_KINDS.index(grouped.kind)])
    return pack("groups", kind=kind, **columns) | {"pairs": grouped.pairs}


def unpack_grouped(arrays: Mapping[str, NDArray[Any]]) -> GroupedVotes:
    """Return the votes packed by `pack_grouped`."""
    of = unpack(arrays, "groups")
    kind = _KINDS[int(of["kind"][0])]
    return GroupedVotes(arrays["pairs"], kind, *(of[name] for name in _COLUMNS))


@dataclass(frozen=True, eq=False)
class LoadedVotes:
    """A data set's votes.

    Only they are packed once for all protocols on a data set.

    Attributes
    ----------
    votes : Votes
    notes : tuple of str
        Remarks on the votes, for the reader.
    arrays : dict of str to ndarray
        The votes as `pack_votes` packs them: protocols on one data set share them.
    fingerprint : str
        Of the data set.
    """

    votes: Votes
    notes: tuple[str, ...]
    arrays: dict[str, NDArray[Any]]
    fingerprint: str

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return self.votes.pairs()

    @cached_property
    def _grouped(self) -> dict[HeldOut, dict[str, NDArray[Any]]]:
        return {}

    def grouped(self, kind: HeldOut) -> dict[str, NDArray[Any]]:
        """Return the votes by group as `pack_grouped` packs them, shared by protocols with equal groups."""
        if kind not in self._grouped:
            self._grouped[kind] = pack_grouped(group_votes(self.votes, kind, *self._pairs))
        return self._grouped[kind]


def votes_of(dataset: Dataset) -> LoadedVotes:
    """Return a data set's votes, from a cache of one entry if their fingerprint is unchanged.

    Raises
    ------
    InputError
        There are none, or they are about one item; or the file changed while it was read.
    """
    fingerprint = dataset.fingerprint()

    def load() -> LoadedVotes:
        votes, notes = _load(dataset)
        unchanged(dataset, fingerprint)
        return LoadedVotes(votes, notes, pack_votes(votes), fingerprint)

    return cached_load(dataset, fingerprint, load)


def unchanged(dataset: Dataset, fingerprint: str) -> None:
    """Raise if a data set's content changed since its fingerprint was taken.

    Raises
    ------
    InputError
        The fingerprint changed: something writes to the file.
    """
    if dataset.fingerprint() != fingerprint:
        raise InputError(f"{dataset!s} changed while it was read; run again when nobody writes to it, or on a copy")


def _load(dataset: Dataset) -> tuple[Votes, tuple[str, ...]]:
    kind, table = judgments_of(table_kind(dataset.table), dataset.scan())
    if kind.row == "orders":
        votes = votes_of_ballots(table)
        notes = ["Ballots stand for the comparisons that they imply; a ballot is a judge."]
    else:
        # Names as numbers: of a long log the columns are held, not the texts.
        table = coded_votes(table)
        votes = load_votes(table)
        notes = [_sentence(note) for note in suspicious_votes(table, whole=True).notes()]
    notes += [_sentence(note) for note in name_notes(votes.items)]
    tied = float(votes.weights[votes.ties].sum() / votes.weights.sum())
    judges = "judges unknown" if votes.judges is None else count_text(votes.judges.max() + 1, "judge")
    if votes.unsigned:
        judges = "judges taken for unknown"
        notes.append(
            f"{votes.unsigned:,} of {votes.count:,} votes have no judge, so rankbench takes all {votes.count:,} for "
            "votes of unknown judges. Remove these rows or name their judges to get folds and intervals by judge."
        )
    order = votes.order_note()
    if order:
        notes.append(f"{order[0].upper()}{order[1:]}.")
    names = () if votes.covariates is None else votes.covariates.names
    if named := [name.removeprefix(PREDICTION) for name in names if name.startswith(PREDICTION)]:
        notes.append(
            f"Predictions are in {listed(named)}: chances that an item wins a decisive vote. rankbench fits no link "
            "to them, and judges their log loss as they are."
        )
    scales = len(votes.counts().connected.sizes)
    if scales > 1:
        notes.append(
            f"{scales} groups of items were never compared with one another. Scores of different groups stand on "
            "scales of their own, and say nothing about their order."
        )
    notes.append(f"{count_text(votes.count, 'vote')} on {len(votes.items):,} items, {tied:.0%} ties, {judges}.")
    return votes, tuple(notes)


def votes_of_ballots(orders: pl.LazyFrame) -> Votes:
    """Return the comparisons that the ballots of a log imply; the voter of a ballot is a judge.

    Parameters
    ----------
    orders : LazyFrame
        In the schema of `rankbench.data.tables`. An item that a ballot leaves out is not
        compared by it.

    Raises
    ------
    InputError
        The ballots imply no comparison, or too many.
    """
    log = single_ballots(load_orders(orders))
    check_implied(log.orders)
    names = sorted(set(log.items))
    number = {name: i for i, name in enumerate(names)}
    of_log = np.array([number[name] for name in log.items], dtype=np.int32)
    lengths = np.diff(log.orders.starts)
    # A ballot that leaves items out says nothing about them: l items are l (l - 1) / 2 comparisons.
    pairs = lengths * (lengths - 1) // 2
    winners, losers, ties, weights = [], [], [], []
    for q in range(len(log)):
        if not pairs[log.orders.offsets[q] : log.orders.offsets[q + 1]].any():
            continue  # ballots of one item
        begin, end = log.item_offsets[q], log.item_offsets[q + 1]
        said = implied_comparisons(take_orders(log.orders, q))
        winners.append(of_log[begin:end][said.winners])
        losers.append(of_log[begin:end][said.losers])
        ties.append(np.zeros(len(said), np.bool_) if said.ties is None else said.ties)
        weights.append(said.weights)
    if not winners:
        raise InputError("the ballots say nothing: none of them ranks two items")
    judges = np.repeat(np.arange(len(log.orders), dtype=np.int32), pairs)
    queries = np.repeat(np.repeat(np.arange(len(log), dtype=np.int32), log.orders.counts), pairs)
    won, lost = np.concatenate(winners), np.concatenate(losers)
    groups = numbered_groups(queries, won, lost, len(names))
    return Votes(names, won, lost, np.concatenate(ties), np.concatenate(weights), judges, groups, None, queries=queries)


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


_VOTE_COLUMNS = ("winners", "losers", "ties", "weights", "judges", "groups", "times", "rest", "queries")


def pack_votes(votes: Votes) -> dict[str, NDArray[Any]]:
    """Return votes as arrays of a `Prepared`."""
    # Not an array of texts: those have one width, that of the longest name, and lose a last NUL.
    names = [name.encode() for name in votes.items]
    text, ends = np.frombuffer(b"".join(names), np.uint8), np.cumsum([len(name) for name in names], dtype=np.int64)
    known = {name: getattr(votes, name) for name in _VOTE_COLUMNS if name != "weights" or not votes.alike}
    known |= {"names": text, "ends": ends, **arrays_of(votes.covariates)}
    return pack("votes", **{name: array for name, array in known.items() if array is not None})


def unpack_items(prepared: Prepared) -> list[str]:
    """Return the names of the items that `pack_votes` packed."""
    text, ends = prepared.arrays["votes.names"].tobytes(), prepared.arrays["votes.ends"].tolist()
    return [text[begin:end].decode() for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def unpack_votes(prepared: Prepared) -> Votes:
    """Return the votes packed by `pack_votes`."""
    of: dict[str, Any] = unpack(prepared.arrays, "votes")
    columns: dict[str, Any] = {"weights": all_ones(len(of["winners"])), "judges": None, "times": None}
    columns |= {name: of[name] for name in _VOTE_COLUMNS if name in of}
    return Votes(items=unpack_items(prepared), covariates=covariates_of(of), **columns)


class LogProtocol(Protocol):
    """A protocol on a log of votes, or of ballots for the comparisons that they imply: aggregators compete."""

    contender: ClassVar[str] = "aggregator"
    table: ClassVar[Any] = "comparisons"
    counts: ClassVar[str] = "votes"

    def part(self, prepared: Prepared, task: BlockTask, share: float) -> BlockPart:
        """Return the whole block: its n means the whole log."""
        return BlockPart(prepared, task, 1.0)

    def refusal(self, dataset: Dataset) -> str:
        """Return an error text for a data set that is no log of votes, or ``""``."""
        if "comparisons" in table_kind(dataset.table).judgments:
            return ""
        return f"protocol {self.name!r} takes comparisons or ballots, data set {dataset!s} has {dataset.table}"

    def misfit(self, contender: Component) -> str:
        """Return an error text for a component that cannot rank the items of a log, or ``""``."""
        return misfit_of(contender)


def misfit_of(contender: Component, *, covariates: bool = False) -> str:
    """Return an error text for a component that cannot rank the items of a log of votes, or ``""``.

    Parameters
    ----------
    contender : Component
    covariates : bool
        The protocol shows the covariates of the log.
    """
    if not isinstance(contender, Aggregator):
        return f"a {contender.kind} aggregates nothing"
    if sees_covariates(contender):
        return "" if covariates else "it takes covariates, and this experiment shows none"
    if contender.needs_truth:
        return "it needs the truth, and a log has none"
    if contender.judgments != "comparisons":
        return f"it aggregates {contender.judgments}"
    if contender.structure != "scores":
        return f"it makes {contender.structure}, and a ranking needs scores"
    return ""
