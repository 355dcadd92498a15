"""From an opened log to what can be ranked, with the units that its intervals need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rankbench.counts.votes import load_votes
from rankbench.data.tables.comparisons.kind import ComparisonTable
from rankbench.data.tables.orders.kind import OrderTable
from rankbench.errors import SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.counts import ClusterCounts, PairCounts
from rankbench.ranking.intervals import Intervals, LogFacts, by_judge, chosen_intervals, facts_of, refuse_too_many_cells
from rankbench.ranking.lists import Ballots, load_ballots, load_sessions
from rankbench.ranking.logs import CountedVotes, OrderedVotes, RankedLog

if TYPE_CHECKING:
    import polars as pl

    from rankbench.counts.log_source import LogSource
    from rankbench.counts.parquet_log import ParquetLog

__all__ = ["counted_votes", "load_log", "pooled_ballots"]

WantedIntervals = Intervals | Literal["auto"] | None


def load_log(
    source: LogSource,
    aggregator: Aggregator,
    intervals: WantedIntervals = None,
    *,
    pooled: bool = True,
    address: str = "",
) -> tuple[RankedLog, Intervals | None]:
    """Load what an aggregator ranks, and choose its intervals.

    Parameters
    ----------
    source : LogSource
        Votes, ballots or clicks.
    aggregator : Aggregator
        That fits them.
    intervals : Intervals, "auto" or None
    pooled : bool
        Whether an item of one name is one item, whatever the query; else the log is about one query.
    address : str
        Of the Dask scheduler whose workers count votes; empty: this machine does.

    Raises
    ------
    InputError
        What is wrong with the log, with its row.
    SpecError
        Intervals that the log cannot have.
    ExecutorError
        The cluster cannot be used.
    """
    if isinstance(source.table, ComparisonTable):
        facts = facts_of(source) if intervals not in (None, "bootstrap") else LogFacts(0, 0, 0)
        judges = by_judge(facts, intervals)
        chosen = chosen_intervals(facts, intervals, aggregator)
        if not aggregator.ranks_counts():
            return OrderedVotes(load_votes(source.frame), judges), chosen
        return counted_votes(source, facts, judges=judges, units=chosen is not None, address=address), chosen
    if intervals == "sandwich":
        raise SpecError("there are sandwich intervals for votes only; take bootstrap")
    if isinstance(source.table, OrderTable):
        judges = intervals == "judges"
        ballots = pooled_ballots(source, judges=judges) if pooled else load_ballots(source.frame, judges=judges)
        return ballots, intervals and ("judges" if judges else "bootstrap")
    if intervals == "judges":
        raise SpecError("clicks have no judges: a session is what is resampled; take --intervals bootstrap")
    frame = _as_one_query(source.frame) if pooled else source.frame
    return load_sessions(frame), intervals and "bootstrap"


def counted_votes(
    source: LogSource, facts: LogFacts, *, judges: bool, units: bool = True, address: str = ""
) -> CountedVotes:
    """Count votes by pair, and by what is independent where units have to be known.

    Parameters
    ----------
    source : LogSource
        Of comparisons.
    facts : LogFacts
    judges : bool
        Whether judges are the units. Else single votes are, which are counted apart if they have weights.
    units : bool
        Whether anything is resampled.
    address : str
        See `load_log`.
    """
    from rankbench.counts.parquet_log import ROW
    from rankbench.counts.parts import counts_of
    from rankbench.counts.scan import count_frame

    column = None
    if judges:
        refuse_too_many_cells(source, facts)
        column = "judge"
    elif units and "weight" in source.frame.collect_schema():
        column = ROW

    def here(frame: pl.LazyFrame) -> PairCounts | ClusterCounts:
        return counts_of(count_frame(frame.with_row_index(ROW) if column == ROW else frame, judge=column))

    def away(log: ParquetLog) -> PairCounts | ClusterCounts:
        from rankbench.counts.sharded import count_parts_on_cluster

        return counts_of(count_parts_on_cluster(log, address, judge=column, numbered=column == ROW))

    return CountedVotes(source.counted(here, away if address else None), judges)


def pooled_ballots(source: LogSource, *, judges: bool = False) -> Ballots:
    """Return all ballots of a log as those of one query.

    Raises
    ------
    InputError
        See `rankbench.ranking.lists.load_ballots`.
    SpecError
        The ballots do not say whose they are, and judges are to be resampled.
    """
    if judges and "judge" not in source.frame.collect_schema():
        raise SpecError("the ballots do not say whose they are; take --intervals bootstrap, which resamples voters")
    return load_ballots(_as_one_query(source.frame), judges=judges)


def _as_one_query(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return a log of lists as one query; with several, only what judgments name are its items."""
    import polars as pl

    queries = frame.select(pl.col("query_id").n_unique()).collect(engine="streaming").item()
    if queries == 1:
        return frame
    return frame.with_columns(query_id=pl.lit("all")).drop("candidates", strict=False)
