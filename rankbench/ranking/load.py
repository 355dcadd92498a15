"""Aggregators and opened logs are checked against each other; a log is loaded with the units of its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, TypeAlias

import polars as pl

from rankbench.core.component import JudgmentKind
from rankbench.data.tables.kinds import not_judged
from rankbench.data.tables.schemas import REST
from rankbench.errors import InputError, SpecError, Unread, option
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.pair_counts import ClusterCounts
from rankbench.interfaces.reading import with_told
from rankbench.logs.count import LogPart
from rankbench.logs.count_log import count_frame, count_parts_on_cluster
from rankbench.logs.open import Log, raw_log
from rankbench.logs.opened import OpenedLog
from rankbench.logs.parquet_log import ROW, ParquetLog
from rankbench.logs.question import NO_FILTER, Filter
from rankbench.logs.stream import LOOKED_AT, beside_counted
from rankbench.logs.votes import coded_votes, load_votes
from rankbench.plugin import manager
from rankbench.ranking.interval_kinds import (
    CrossedVotes,
    Intervals,
    LogFacts,
    by_judge,
    chosen_intervals,
    crossed_votes,
    refuse_too_many_cells,
)
from rankbench.ranking.lists import Ballots, load_ballots, load_sessions
from rankbench.ranking.ranked_log import CountedVotes, OrderedVotes, RankedLog
from rankbench.ranking.sampling_units import few_judges, too_few_judges

WantedIntervals: TypeAlias = Literal[Intervals, "auto"] | None


def opened_log(log: Log, *, columns: str, by: str | None, reader: str = "", keep: Filter = NO_FILTER) -> OpenedLog:
    """Open a log with a filter; `by` names a column with a ranking for each of its values.

    Raises
    ------
    SpecError
        The log holds ballots or clicks, which are ranked by query alone; or an error of `rankbench.logs.open.open_log`.
    InputError
        See `rankbench.logs.open.open_log`.
    """
    raw = raw_log(log, reader)
    if by in (None, "query"):
        return raw.opened(columns, keep)
    asked = with_told(columns, "query", str(by))
    # Votes with nothing there are of no ranking; other kinds of tables do not know the role.
    with suppress(InputError):
        return raw.opened(with_told(asked, "by", str(by)), keep)
    try:
        return raw.opened(asked, keep)
    except InputError as error:
        try:
            found = raw.opened(columns, keep)
        except (InputError, SpecError):
            raise error from None
        if (column := found.columns.get(by or "", by)) != by:  # a role, as judge
            return opened_log(raw, columns=columns, by=column, keep=keep)
        table = found.table
        if table.row == "comparisons":
            raise
        raise SpecError(
            f"{option('by', by)}: rankings by another column than the query are of votes, not of {table}"
        ) from None


def check_fit(aggregator: Aggregator, source: OpenedLog) -> None:
    """Refuse an aggregator that cannot rank an opened log.

    Raises
    ------
    SpecError
        Says what the log holds, and which aggregators rank it.
    """
    if aggregator.needs_truth:
        raise SpecError(f"{aggregator.name!r} needs the truth, and a log has none")
    if aggregator.structure != "scores":
        raise SpecError(f"{aggregator.name!r} makes {aggregator.structure}; a ranking needs scores")
    if not source.table.judgments:
        raise not_judged(source.name, source.table, "judgments")
    if "measurements" in source.table.judgments:
        raise SpecError(f"{source.name} holds scores of systems on tasks: rankbench rank ranks them")
    if aggregator.judgments not in source.table.judgments:
        fitting = fitting_aggregators(source.table.judgments)
        raise SpecError(
            f"{aggregator.name!r} aggregates {aggregator.judgments}; {source.name} holds {source.table}, which are "
            f"ranked by {', '.join(fitting)}"
        )


def fitting_aggregators(judgments: Sequence[JudgmentKind]) -> list[str]:
    """Return the names of the aggregators that rank some kinds of judgments without the truth."""
    classes = (manager.component_class(Aggregator, name) for name in manager.names(Aggregator.kind))
    fits = (cls for cls in classes if cls.judgments in judgments and cls.structure == "scores" and not cls.needs_truth)
    return [cls.name for cls in fits]


def check_cluster(aggregator: Aggregator, source: OpenedLog, intervals: WantedIntervals, *, whole: bool) -> None:
    """Raise if a log cannot be counted in parts on other machines; `whole`: the log has one ranking."""
    counted = isinstance(aggregator, CountAggregator) and REST not in source.frame.collect_schema()
    if source.parquet is None or not (counted and whole) or intervals == "judges+queries":
        raise SpecError(
            f"{option('executor', 'dask')} needs ungraded votes in Parquet (rankbench data convert LOG FOLDER writes "
            f"it) and an aggregator of counts. It excludes {option('by')}, {option('control')}, filters as "
            f"{option('where')}, and {option('intervals', 'judges+queries')}. Leave {option('executor')} and "
            f"{option('address')} out to use this machine"
        )


def load_log(
    source: OpenedLog,
    aggregator: Aggregator,
    intervals: WantedIntervals = None,
    *,
    pooled: bool = True,
    address: str = "",
    first_votes: list[pl.DataFrame] | None = None,
) -> tuple[RankedLog, Intervals | None]:
    """Load an aggregator's votes, ballots or sessions, and choose its intervals.

    Parameters
    ----------
    source : OpenedLog
        Votes, ballots or clicks.
    aggregator : Aggregator
        That fits them.
    intervals : Intervals, "auto" or None
    pooled : bool
        Whether an item of one name is one item in all queries; else the log is about one query.
    address : str
        Of the Dask scheduler whose workers count votes; empty: this machine does.
    first_votes : list of DataFrame, optional
        Gets the first votes as they are read here: see `rankbench.logs.stream.LogStream`.

    Raises
    ------
    InputError
        An error in the log, with its row.
    SpecError
        Intervals that the log cannot have.
    ExecutorError
        The cluster cannot be used.
    """
    if intervals == "judges+queries":
        return _crossed(source, aggregator), intervals
    if source.table.row == "comparisons":
        _refuse_no_order(source, aggregator)
        if not isinstance(aggregator, CountAggregator):
            table = coded_votes(source.frame)
            votes = load_votes(table)
            if first_votes is not None:
                chosen = [name for name in ("winner", "loser", "tie", "weight") if name in table.collect_schema()]
                columns = [*chosen, *beside_counted(table.collect_schema())]
                first_votes[:] = [table.select(columns).head(LOOKED_AT + 1).collect()]
            if intervals == "judges" and votes.unsigned:
                raise InputError(
                    f"the judge is missing in {votes.unsigned:,} of {votes.count:,} votes; take "
                    f"{option('intervals', 'bootstrap')}",
                    column="judge",
                )
            few = None if intervals in (None, "bootstrap", "judges") else few_judges(votes)
            facts = LogFacts(votes.count, votes.judge_count, votes.unsigned, few is not None)
            ordered = OrderedVotes(votes, by_judge(facts, intervals), few)
            return ordered, chosen_intervals(facts, intervals, aggregator)
        counted, facts = counted_votes(source, intervals, address=address, first_votes=first_votes)
        return counted, chosen_intervals(facts, intervals, aggregator)
    if intervals == "sandwich":
        raise SpecError("there are sandwich intervals for votes only; take bootstrap")
    if source.table.row == "orders":
        judges = intervals == "judges"
        ballots = pooled_ballots(source, judges=judges) if pooled else load_ballots(source.frame, judges=judges)
        return ballots, intervals and ("judges" if judges else "bootstrap")
    if intervals == "judges":
        raise SpecError(
            f"clicks have no judges: a session is what is resampled; take {option('intervals', 'bootstrap')}"
        )
    frame = _as_one_query(source.frame) if pooled else source.frame
    return load_sessions(frame), intervals and "bootstrap"


def _refuse_no_order(source: OpenedLog, aggregator: Aggregator) -> None:
    """Raise a question on the votes' times if a method needs their order and no column has it.

    Raises
    ------
    Unread
    """
    if "sequential" not in aggregator.properties or "time" in source.frame.collect_schema():
        return
    if source.reading is not None and "time" not in source.reading.columns:
        raise Unread(
            f"{aggregator.name} goes by the order of votes, and no column says when they were cast",
            f"{option('columns', 'time=____')}; or {option('columns', 'time=')} where the rows stand in their order, "
            "the oldest first",
            code="time",
            path=source.path,
        )


def _crossed(source: OpenedLog, aggregator: Aggregator) -> CrossedVotes:
    """Return votes with their judges and queries.

    Raises
    ------
    SpecError
        The log holds no votes, or a method cannot have such intervals.
    """
    if source.table.row != "comparisons":
        raise SpecError("there are intervals by judge and query for votes only; take bootstrap")
    if not isinstance(aggregator, CountAggregator):
        raise SpecError(
            f"{aggregator.name!r} goes by single votes: it has no intervals by judge and query; take judges"
        )
    return crossed_votes(source.frame)


def counted_votes(
    source: OpenedLog, intervals: WantedIntervals, *, address: str = "", first_votes: list[pl.DataFrame] | None = None
) -> tuple[CountedVotes, LogFacts]:
    """Count votes by pair, and by unit if intervals are wanted, in one pass.

    Judges are counted apart wherever the log names them, as it is known at its end alone whether all votes have one.
    Where they turn out not to be independent, single votes are: the sums by pair are enough. Votes with weights take
    a second pass.

    Parameters
    ----------
    source : OpenedLog
        Of comparisons.
    intervals : Intervals, "auto" or None
    address, first_votes
        See `load_log`.

    Returns
    -------
    counted : CountedVotes
    facts : LogFacts
        Facts about the judges, if intervals depend on them.

    Raises
    ------
    SpecError
        Intervals by judge that the log cannot have.
    """

    def count(column: str | None) -> LogPart:
        def here(frame: pl.LazyFrame) -> LogPart:
            rows = _numbered(frame) if column == ROW else frame
            check = refuse_too_many_cells if column == "judge" else None
            return count_frame(rows, judge=column, signed=intervals == "judges", first_votes=first_votes, check=check)

        def away(log: ParquetLog) -> LogPart:
            return count_parts_on_cluster(log, address, judge=column, signed=intervals == "judges")

        part = source.counted(here, away if address else None)
        names = set(part.counts.items)
        if source.parquet is not None and any(name[:-2] in names for name in names if name.endswith(".0")):
            part = here(source.frame)  # the checks reject names that become floats in the middle of a log
        if source.parquet is not None and source.doubts is not None:
            source.doubts(part.counts.items)
        return part

    schema = source.frame.collect_schema()
    weighted, asked = "weight" in schema, intervals not in (None, "bootstrap") and "judge" in schema
    if not asked:
        # Intervals by judge are refused before anything is counted.
        by_judge(LogFacts(0, 0, 0), intervals)
    part = count("judge" if asked else ROW if weighted and intervals is not None else None)
    split = REST in schema
    if not asked:
        data = part.data if part.counts.weighted else part.counts
        return CountedVotes(data, split=split), LogFacts(part.counts.judgments, 0, 0)
    refuse_too_many_cells(part)
    judges = len(part.data.clusters) if isinstance(part.data, ClusterCounts) else 0
    facts = LogFacts(part.counts.judgments, judges, part.unsigned)
    few = None
    if by_judge(facts, intervals):
        counted = CountedVotes(part.data, by_judge=True, split=split)
        if intervals == "judges" or not (judges == 1 or too_few_judges(counted.units)):
            return counted, facts
        few, facts = counted.units, facts._replace(few=True)
    return CountedVotes(count(ROW).data if part.counts.weighted else part.counts, split=split, few_judges=few), facts


def _numbered(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return votes with their numbers: the two rows of a vote with split points share one."""
    rows = frame.with_row_index(ROW)
    if REST not in frame.collect_schema():
        return rows
    return rows.with_columns(pl.col(ROW).cast(pl.Int64) - pl.col(REST).cast(pl.Int64))


def pooled_ballots(source: OpenedLog, *, judges: bool = False) -> Ballots:
    """Return all ballots of a log, under one query.

    Raises
    ------
    InputError
        See `rankbench.ranking.lists.load_ballots`.
    SpecError
        The ballots do not say whose they are, and judges are to be resampled.
    """
    if judges and "judge" not in source.frame.collect_schema():
        raise SpecError(
            f"the ballots do not say whose they are; take {option('intervals', 'bootstrap')}, which resamples voters"
        )
    return load_ballots(_as_one_query(source.frame), judges=judges)


def _as_one_query(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return a log of lists as one query; of several queries, only judged items remain."""
    queries = frame.select(pl.col("query_id").n_unique()).collect(engine="streaming").item()
    return frame if queries == 1 else frame.with_columns(query_id=pl.lit("all")).drop("candidates", strict=False)
