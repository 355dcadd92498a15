"""The protocol `items` learns from judged items of your own files."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.cell import MAY_BE_FIRST, VOTES, CellResult, Layout, Split
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import ESTIMATED, RANKING_METRICS, RIDGE, Fact, Metric
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts
from rankbench.interfaces.protocol import BlockPart, BlockTask, Prepared, pack, unpack
from rankbench.interfaces.queries import Orders
from rankbench.logs.opened import raw_data_set
from rankbench.logs.votes import all_ones
from rankbench.protocols.judging import each_cell
from rankbench.protocols.log_votes import LogProtocol, unchanged, unpack_votes, votes_of
from rankbench.ranking.interval_kinds import CrossedVotes, Intervals, LogFacts, chosen_intervals, crossed_votes
from rankbench.ranking.lists import Ballots
from rankbench.ranking.load import counted_votes, pooled_ballots
from rankbench.ranking.rank import RESAMPLES, Ranking, rank
from rankbench.ranking.ranked_log import CountedVotes, OrderedVotes, RankedLog, estimated_items, ridge_of
from rankbench.ranking.sampling_units import Units, few_votes_notes, too_few_judges_note
from rankbench.stats.simultaneous import FEW

TRIED = 10
"""Resamples from which the time of all is estimated."""


class Items(LogProtocol):
    """Every contender ranks the items of a log, with intervals: what ``rankbench aggregate`` does.

    Numbers are those of `rankbench.ranking.aggregate.aggregate` with the same seed and intervals, to the
    last bit. ``lower`` and ``upper`` are nan for items that too
    few votes are about, and for contenders that are ``irregular``: such items may hold any
    place. Items that no chain of comparisons connects are
    said to be so, and never put on one scale.

    Prefer it in suites that publish a ranking of items; ``rankbench aggregate`` prints one.
    """

    name: ClassVar[str] = "items"
    source: ClassVar[str] = "[Owen07]_; [MWR24]_"
    metrics: ClassVar[tuple[Metric, ...]] = (
        *RANKING_METRICS,
        Metric(VOTES, "maximize", "Votes that an item is in, or ballots that name it."),
        Metric(MAY_BE_FIRST, "maximize", "1 of an item that may be the first, 0 of another one.", jumps=True),
    )
    facts: ClassVar[tuple[Fact, ...]] = (RIDGE, ESTIMATED)
    splits: ClassVar[dict[Split, str]] = {"design": "Items"}
    layout: ClassVar[Layout] = "ranking"
    one_by_one: ClassVar[bool] = True

    replicates: int = Field(default=RESAMPLES, ge=0, le=100_000, description="Resamples; 0: no intervals.")
    intervals: Intervals | Literal["auto"] = Field(
        default="auto", description="Independent units, as `rankbench aggregate --intervals` names them."
    )

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Count the votes, or load the ballots; n = 1 of the suite means all of them."""
        dataset = self.required(dataset)
        log = votes_of(dataset)
        source = raw_data_set(dataset).opened().judged()
        ranked: CountedVotes | Ballots
        if self._crossed and source.table.row == "comparisons":
            crossed = crossed_votes(source.frame)
            ranked, facts = crossed, LogFacts(0, 0, 0)
            arrays = log.arrays | _pack_counts(ranked, units=True) | _pack_crossed(crossed)
        elif source.table.row == "orders":
            ranked, facts = pooled_ballots(source, judges=self.intervals == "judges"), LogFacts(0, 0, 0)
            arrays = _pack_ballots(ranked)
        else:
            ranked, facts = counted_votes(source, self.intervals if self.replicates else None)
            arrays = log.arrays | pack("facts", facts=np.array(facts)) | _pack_counts(ranked, units=self.replicates > 0)
        unchanged(dataset, log.fingerprint)
        units: dict[Split, tuple[str, ...]] = {"design": tuple(ranked.items)}
        notes = (*log.notes, *self._notes(ranked, facts))
        return Prepared(self, dataset, log.fingerprint, units, arrays, float(log.votes.count), notes)

    @property
    def _crossed(self) -> bool:
        return self.intervals == "judges+queries" and self.replicates > 0

    def _notes(self, ranked: CountedVotes | Ballots, facts: LogFacts) -> list[str]:
        """Return notes for readers of the intervals."""
        if not self.replicates:
            return []
        notes = []
        units = ranked.units
        if isinstance(ranked, CrossedVotes):
            notes += [f"{note[0].upper()}{note[1:]}." for note in ranked.few_units()]
        elif isinstance(ranked, Ballots) or self.intervals == "bootstrap":
            pass
        elif isinstance(ranked, CountedVotes) and ranked.few_judges is not None:
            said = too_few_judges_note(ranked.few_judges)
            notes.append(f"{said[0].upper()}{said[1:]}.")
        elif not ranked.by_judge:
            why = "all votes are of one judge" if facts.judges == 1 else "the log does not say who judged"
            notes.append(
                f"Intervals of items come from resampled votes, as {why}: they are too narrow if votes of one judge "
                "are alike."
            )
        elif units.effective < FEW:
            notes.append(
                f"Few judges: {units.count:,}, who by their shares of the votes count like {units.effective:.1f}. "
                "Intervals of items are rough, and wide."
            )
        return [*notes, *(f"{note}." for note in few_votes_notes(units))]

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Rank the items by every contender."""

        def ranked(cell: str, contender: Contender) -> CellResult:
            aggregator = contender.component(Aggregator)
            ranking = self._ranking(prepared, aggregator, task.key.seed)
            return _cell(cell, ranking, self._log(prepared, aggregator)[0], aggregator)

        return each_cell(task, ranked)

    def part(self, prepared: Prepared, task: BlockTask, share: float) -> BlockPart:
        """Return the block with fewer resamples."""
        few = self.model_copy(update={"replicates": max(round(self.replicates * share), min(TRIED, self.replicates))})
        return BlockPart(replace(prepared, protocol=few), task, few.replicates / max(self.replicates, 1) or 1.0)

    def _ranking(self, prepared: Prepared, aggregator: Aggregator, seed: int) -> Ranking:
        log, intervals = self._log(prepared, aggregator)
        return rank(log, aggregator, intervals=intervals, resamples=self.replicates, seed=seed)

    def _log(self, prepared: Prepared, aggregator: Aggregator) -> tuple[RankedLog, Intervals | None]:
        """Return the log for an aggregator, and its intervals."""
        wanted = self.intervals if self.replicates else None
        if "ballots.starts" in prepared.arrays:
            ballots = _unpack_ballots(prepared)
            return ballots, wanted and ("judges" if ballots.by_judge else "bootstrap")
        if "crossed.judge" in prepared.arrays:
            if not isinstance(aggregator, CountAggregator):
                raise SpecError(f"{aggregator.name!r} goes by single votes: it has no intervals by judge and query")
            return _unpack_crossed(prepared), "judges+queries"
        facts = LogFacts(*prepared.arrays["facts.facts"].tolist())
        chosen = chosen_intervals(facts, wanted, aggregator)
        counted = _unpack_counts(prepared)
        if not isinstance(aggregator, CountAggregator):
            return OrderedVotes(unpack_votes(prepared), counted.by_judge), chosen
        return counted, chosen


_COUNTS = ("starts", "high", "forward", "backward", "ties")
_ORDERS = ("offsets", "starts", "items", "places", "weights")


def _pack_counts(log: CountedVotes, *, units: bool) -> dict[str, NDArray[Any]]:
    counts = log.counts
    arrays: dict[str, NDArray[Any]] = {name: getattr(counts, name) for name in _COUNTS}
    arrays["facts"] = np.array([counts.judgments, counts.weighted, log.by_judge], dtype=np.int64)
    if units:
        known = log.units
        arrays |= {"effective": np.array([known.count, known.effective]), "by_item": known.items, "votes": known.votes}
        arrays |= {"df_units": known.df_units}
    if isinstance(log.data, ClusterCounts):
        arrays |= {"unit_starts": log.data.starts, "unit_cells": log.data.cells, "unit_weights": log.data.weights}
    return pack("counts", **arrays)


def _unpack_counts(prepared: Prepared) -> CountedVotes:
    found: dict[str, Any] = unpack(prepared.arrays, "counts")
    judgments, weighted, judges = found["facts"].tolist()
    columns = {name: found[name] for name in _COUNTS}
    counts = PairCounts(list(prepared.units["design"]), **columns, judgments=judgments, weighted=bool(weighted))
    units = None
    if "effective" in found:
        count, effective = found["effective"].tolist()
        units = Units(int(count), effective, found["by_item"], found["votes"], found["df_units"])
    if "unit_starts" not in found:
        return CountedVotes(counts, bool(judges), units)
    starts = found["unit_starts"]
    names = [str(unit) for unit in range(len(starts) - 1)]
    clusters = ClusterCounts(counts, names, starts, found["unit_cells"], found["unit_weights"])
    return CountedVotes(clusters, bool(judges), units)


def _pack_crossed(log: CrossedVotes) -> dict[str, NDArray[Any]]:
    # Weights that are all 1 take no memory: none are stored.
    weight = log.weight if log.weight.strides != (0,) else log.weight[:0]
    return pack("crossed", judge=log.judge, query=log.query, cell=log.cell, weight=weight)


def _unpack_crossed(prepared: Prepared) -> CrossedVotes:
    counted = _unpack_counts(prepared)
    found: dict[str, Any] = unpack(prepared.arrays, "crossed")
    if not len(found["weight"]):
        found["weight"] = all_ones(len(found["judge"]))
    return CrossedVotes(counted.data, known_units=counted.known_units, **found)


def _pack_ballots(log: Ballots) -> dict[str, NDArray[Any]]:
    orders = log.orders
    known = {name: of for name, of in (("judges", log.judges), ("counts", log.counts)) if of is not None}
    return pack("ballots", **{name: getattr(orders, name) for name in _ORDERS}, **known)


def _unpack_ballots(prepared: Prepared) -> Ballots:
    found: dict[str, Any] = unpack(prepared.arrays, "ballots")
    orders = Orders(*(found[name] for name in _ORDERS))
    return Ballots(list(prepared.units["design"]), orders, found.get("judges"), found.get("counts"))


def _cell(cell: str, ranking: Ranking, log: RankedLog, aggregator: Aggregator) -> CellResult:
    values = {
        VOTES: log.tallies.judged,
        "score": ranking.scores,
        "lower": ranking.lower,
        "upper": ranking.upper,
        "rank-low": ranking.low.astype(np.float64),
        "rank-high": ranking.high.astype(np.float64),
        MAY_BE_FIRST: np.full(len(ranking.items), np.nan if ranking.first is None else ranking.first, np.float64),
    }
    facts = {"scales": float(ranking.scales.max() + 1), "clusters": float(ranking.units.count if ranking.units else 0)}
    if np.isfinite(ranking.lower).any():
        facts["ridge"] = ridge_of(aggregator)
    if isinstance(log, CountedVotes) and (estimated := estimated_items(aggregator, log.counts)):
        facts["estimated"] = float(estimated)
    losses: dict[tuple[str, Split], NDArray[np.float64]] = {(metric, "design"): one for metric, one in values.items()}
    return CellResult(cell, "done", "", math.nan, losses, {}, facts)
