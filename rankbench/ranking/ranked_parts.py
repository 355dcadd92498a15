"""The road of a question: fit it to the opened log, rank each part, and put the rankings together."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rankbench.core.text import listed
from rankbench.data.tables.kinds import default_of, not_judged
from rankbench.data.tables.schemas import REST
from rankbench.descriptions.suspicions import name_notes, suspicious_votes
from rankbench.errors import InputError, SpecError, Unread, option
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.covariate_aggregator import ControlledAggregator
from rankbench.interfaces.metric import RIDGE
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.reading import with_told
from rankbench.logs.open import Log
from rankbench.logs.opened import OpenedLog
from rankbench.logs.stream import LOOKED_AT, first_of_counts
from rankbench.logs.votes import NO_TIMES
from rankbench.plugin import manager
from rankbench.ranking.covariates import beside_unadjusted, checked_control, rank_controlled
from rankbench.ranking.interval_kinds import by_formula
from rankbench.ranking.load import WantedIntervals, check_cluster, check_fit, load_log, opened_log
from rankbench.ranking.pooled import category_rankings
from rankbench.ranking.question import RankingQuestion
from rankbench.ranking.rank import ItemRanking, rank
from rankbench.ranking.ranked_log import CountedVotes, ridge_of
from rankbench.ranking.ranking_table import QueryTables, pair_difference, ranking_table

_MOST_NOTES = 5
_MOST_NAMED = 4
_ROWS = "rows that are summed up"


@dataclass(frozen=True)
class FittedQuestion:
    """A question that an opened log can answer: its aggregators, and the intervals that they can have."""

    question: RankingQuestion
    log: OpenedLog
    aggregator: Aggregator
    controlling: ControlledAggregator | None
    intervals: WantedIntervals

    @classmethod
    def opened(cls, log: Log, question: RankingQuestion) -> FittedQuestion:
        """Open a log, and fit a question to it.

        Raises
        ------
        InputError, SpecError
            See `rankbench.aggregate`.
        """
        named = _aggregator(question.method) if question.method else None
        told = with_told(question.told, "control", question.control)
        source = opened_log(log, columns=told, by=question.by, reader=question.reader, keep=question.keep)
        method = question.method or default_of(source.table, "method")
        if not method:
            raise not_judged(source.name, source.table, "method")
        source = source.judged()
        aggregator, intervals = named or _aggregator(method), question.wanted
        check_fit(aggregator, source)
        if question.address:
            whole = question.by is None and not question.control
            check_cluster(aggregator, source, intervals, whole=whole)
        controlling: ControlledAggregator | None = None
        if question.control:
            controlling, intervals = checked_control(aggregator, source, intervals)
        elif aggregator.config().get("control"):
            raise SpecError(f"{aggregator} takes covariates: name them with {option('control')}")
        return cls(question, source, aggregator, controlling, intervals)


class RankedParts:
    """Rankings of the parts of a log, put together.

    Attributes
    ----------
    table, facts, notes, pairs
        See `rankbench.ranking.aggregate.Aggregation`.
    effects, differences : list of DataFrame
        Effects of covariates, and differences of two items, of each part.
    """

    def __init__(self, fitted: FittedQuestion) -> None:
        self.fitted, self.question, self.log = fitted, fitted.question, fitted.log
        self.first_votes, self.sampled = list[pl.DataFrame](), dict[str, None]()
        self.notes, self.effects, self.differences = list(self.log.notes), list[pl.DataFrame](), list[pl.DataFrame]()
        self.pairs: PairCounts | None = None
        asked = fitted.question
        self.facts: dict[str, Any] = {"unit": fitted.aggregator.score_unit(), "n": 0, "voters": None, "judges": None}
        self.facts |= {"by": asked.by, "seed": asked.seed, "resamples": asked.replicates}
        self.facts |= {"filter": asked.keep.as_dict()} if asked.keep else {}
        self.facts |= {"reading": dict(self.log.stated)} if self.log.stated else {}
        self.table = self._pooled() if asked.pool else self._whole() if asked.by is None else self._by_query()
        self.facts.setdefault("sampled", " or ".join(self.sampled) or None)

    def _pooled(self) -> pl.DataFrame:
        by_name, facts, notes = category_rankings(
            self.log, self.fitted.aggregator, column=str(self.question.by), seed=self.question.seed
        )
        rankings = list(by_name.values())
        self.notes += [*notes, *dict.fromkeys(itertools.chain.from_iterable(map(_scale_notes, rankings)))]
        n = sum(one.tallies.judgments for one in rankings if one.tallies)
        self.facts |= {"intervals": "sandwich", "resamples": None, "n": n, "votes": "votes", "wins": "wins"}
        self.facts |= facts
        return ranking_table(rankings, list(by_name))

    def _whole(self) -> pl.DataFrame:
        ranking, more = self._ranked(self.log, pooled=True)
        self.notes += [*more, *_scale_notes(ranking)]
        table = ranking_table([ranking])
        if self.fitted.controlling is not None:
            ranking, effects, more = self._controlled(self.fitted.controlling, self.log, ranking)
            table = beside_unadjusted(ranking_table([ranking]), table)
            self.effects.append(effects)
            self.notes += more
        if self.question.between:
            self.differences.append(pair_difference(ranking, self.question.between))
        if self.fitted.intervals is not None:
            self.facts["may_be_first"] = table.filter("may_be_first", scale=1)["item"].to_list()
            self.facts["scales"] = table["scale"].n_unique()
        if "winner" in table.columns:
            self.facts["winners"] = table.filter("winner")["item"].to_list()
        return table

    def _by_query(self) -> pl.DataFrame:
        tables, unadjusted, gone, by = QueryTables(), QueryTables(), list[str](), self.question.by
        sums, said = self.fitted.intervals is None and self.fitted.controlling is None, dict[str, list[str]]()
        for query, part, votes in _queries(self.log, self.fitted.aggregator, sums=sums):
            try:
                ranking, more = self._ranked_query(query, part, unadjusted)
            except Unread:
                raise  # nothing is known of any query
            except InputError as error:
                gone.append(f"rankbench leaves out {by} {query!r}: {error}")
                self.notes.append(gone[-1])
                continue
            for note in (*more, *_scale_notes(ranking)):
                said.setdefault(note, []).append(query)
            self.facts["n"] += votes
            if self.question.between:
                self.differences.append(pair_difference(ranking, self.question.between, query))
            tables.add(query, ranking)
        # Notes on the whole log, and notes that differ in the category alone, are said once.
        self.notes += [
            note if note == NO_TIMES else f"{by} {listed(some, _MOST_NAMED)}: {note}" for note, some in said.items()
        ]
        if not tables:
            raise InputError(gone[0] if gone else "there are no judgments", path=self.log.path)
        return beside_unadjusted(tables.whole(), unadjusted.whole()) if self.effects else tables.whole()

    def _ranked_query(self, query: str, part: OpenedLog, unadjusted: QueryTables) -> tuple[ItemRanking, list[str]]:
        """Rank a query, and keep its ranking without covariates, if any."""
        ranking, more = self._ranked(part, pooled=False)
        if self.fitted.controlling is None:
            return ranking, more
        adjusted, effects, also = self._controlled(self.fitted.controlling, part, ranking)
        unadjusted.add(query, ranking)
        self.effects.append(effects.select(pl.lit(query).alias("query"), pl.all()))
        return adjusted, more + also

    def _ranked(self, part: OpenedLog, *, pooled: bool) -> tuple[ItemRanking, list[str]]:
        """Rank a part without covariates; `pooled`: it is the whole log."""
        asked, aggregator = self.question, self.fitted.aggregator
        kept = self.first_votes if pooled else None
        loaded, chosen = load_log(
            part, aggregator, self.fitted.intervals, pooled=pooled, address=asked.address, first_votes=kept
        )
        ranking, more = rank(loaded, aggregator, intervals=chosen, resamples=asked.replicates, seed=asked.seed)
        tallies, units = loaded.tallies, ranking.units
        if pooled:
            self.pairs = loaded.counts if isinstance(loaded, CountedVotes) else None
            self.facts["n"] = tallies.judgments
            self.facts["judges"] = units.count if loaded.by_judge and units is not None else None
        if tallies.voters:
            self.facts["voters"] = (self.facts["voters"] or 0.0) + tallies.voters
        self.facts["resamples"] = None if by_formula(chosen, aggregator) else asked.replicates
        self.facts |= {"intervals": chosen, "votes": tallies.judged_words, "wins": tallies.won_words}
        self.facts["by_judge"] = loaded.by_judge
        if units is not None:
            self.sampled[units.noun] = None
        return replace(ranking, tallies=tallies, winners=loaded.winners(aggregator)), more

    def _controlled(
        self, aggregator: ControlledAggregator, part: OpenedLog, plain: ItemRanking
    ) -> tuple[ItemRanking, pl.DataFrame, list[str]]:
        """Rank a part with covariates."""
        with_intervals: Literal["sandwich"] | None = "sandwich" if self.fitted.intervals else None
        adjusted, effects, more = rank_controlled(part, aggregator, with_intervals, self.question.seed)
        self.facts["control"] = effects["covariate"].to_list()
        return replace(adjusted, tallies=plain.tallies), effects, more

    def all_notes(self) -> tuple[str, ...]:
        """Return notes on the rankings, on the first ranked items, and on suspicious votes and names."""
        by, table, ridge = self.question.by, self.table, ridge_of(self.fitted.aggregator)
        names = table["item"].unique().to_list()
        control = isinstance(self.fitted.aggregator, ControlledAggregator) and not self.question.control
        found = _findings(self.log, self.first_votes, names, queries=by in (None, "query"), control=control)
        if by not in (None, "query"):
            found += name_notes(table["query"].unique().to_list(), "categories")
        if (self.fitted.intervals or self.question.pool) and table["lower"].count() and ridge > 0:
            found = [RIDGE.sentence.format(value=ridge), *found]
        return (*_shortened(self.notes), *found)


def _aggregator(method: str) -> Aggregator:
    return manager.get(Aggregator, method)


def _queries(source: OpenedLog, aggregator: Aggregator, *, sums: bool) -> Iterator[tuple[str, OpenedLog, int]]:
    """Yield the queries with their judgments and how many, by name; votes as sums by pair where that is enough."""
    frame = source.frame
    names = frame.collect_schema().names()
    votes = pl.col("count").sum() if "count" in names else (~pl.col(REST)).sum() if REST in names else pl.len()
    if source.table.row == "comparisons" and sums and isinstance(aggregator, CountAggregator):
        keys = [name for name in ("query_id", "winner", "loser", "tie") if name in names]
        weight = pl.col("weight").sum() if "weight" in names else votes.cast(pl.Float64)
        frame = frame.group_by(keys).agg(weight.alias("weight"), votes.alias(_ROWS)).sort(keys)
    by_name = frame.with_columns(pl.col("query_id").cast(pl.String)).sort("query_id", maintain_order=True)
    whole, first = by_name.collect(engine="streaming"), 0
    for length, query in whole["query_id"].rle().struct.unnest().iter_rows():
        part = whole.slice(first, length)
        rows = int(part[_ROWS].sum() if _ROWS in part.columns else part.select(votes).item())
        yield query, source.part(f"query {query}", part.drop(_ROWS, strict=False).lazy()), rows
        first += length


def _scale_notes(ranking: ItemRanking) -> list[str]:
    scales = len(np.unique(ranking.scales))
    if scales < 2:
        return []
    return [
        f"{scales} groups of items cannot be compared with one another. Scores of different groups stand on scales of "
        "their own (column scale), and say nothing about their order"
    ]


def _findings(
    source: OpenedLog, first_votes: list[pl.DataFrame], names: list[str], *, queries: bool, control: bool
) -> list[str]:
    """Return notes on suspicious votes and names; with `queries`, also on queries."""
    if source.table.row != "comparisons":
        return name_notes(names)
    frame = source.frame if source.parquet is None else source.parquet.frame()
    if "count" in frame.collect_schema():
        frame = first_of_counts(frame.head(LOOKED_AT + 1).collect(engine="streaming"), LOOKED_AT + 1).lazy()
    judged = "judge" in frame.collect_schema()
    if first_votes:
        frame = pl.concat(first_votes).lazy()
        # Rows may have been counted in the place of judges.
        frame = frame if judged else frame.drop("judge", strict=False)
    return [*suspicious_votes(frame, queries=queries).notes(control=control), *name_notes(names)]


def _shortened(notes: list[str]) -> tuple[str, ...]:
    different = list(dict.fromkeys(notes))
    if len(different) <= _MOST_NOTES + 1:
        return tuple(different)
    return (*different[:_MOST_NOTES], f"and {len(different) - _MOST_NOTES} more like these")
