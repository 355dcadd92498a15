"""Which intervals a log of votes can have, and what of it has to be counted for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from rankbench.errors import SpecError

if TYPE_CHECKING:
    import polars as pl

    from rankbench.counts.log_source import LogSource
    from rankbench.kinds.aggregator import Aggregator

__all__ = ["MOST_CELLS", "Intervals", "LogFacts", "by_judge", "chosen_intervals", "facts_of", "refuse_too_many_cells"]

Intervals: TypeAlias = Literal["bootstrap", "judges", "sandwich"]
"""What is taken for independent: judgments, or judges with all of theirs; or a formula."""

MOST_CELLS = 50_000_000
"""Most pairs of items, each judge's counted apart, of which there are intervals by judge: 10 GB."""

_BYTES = 200
"""That one of them takes when judges are counted and resampled."""

_LONG = 1_000_000
_SAMPLE = 1 << 21


class LogFacts(NamedTuple):
    """What the choice of intervals needs to know of a log of votes.

    Attributes
    ----------
    rows : int
    judges : int
        How many it names.
    missing : int
        Votes without a judge, in a log that has the column.
    """

    rows: int
    judges: int
    missing: int


def facts_of(source: LogSource) -> LogFacts:
    """Return what a log of votes knows about its judges, in one pass."""
    import polars as pl

    schema = source.frame.collect_schema()
    wanted = [pl.len().alias("rows")]
    if "judge" in schema:
        judge = pl.col("judge")
        wanted += [judge.drop_nulls().n_unique().alias("judges"), judge.null_count().alias("missing")]
    row = source.counted(lambda frame: frame.select(wanted).collect(engine="streaming").row(0, named=True))
    return LogFacts(int(row["rows"]), int(row.get("judges", 0)), int(row.get("missing", 0)))


def by_judge(facts: LogFacts, intervals: Intervals | Literal["auto"] | None) -> bool:
    """Return whether judges are what is independent: where a log names two, and all of them.

    Raises
    ------
    SpecError
        `intervals` are by judge, and the log does not name two judges.
    """
    if intervals in (None, "bootstrap"):
        return False
    if intervals == "judges" and facts.judges < 2:
        why = "the log does not say who judged (judge=COLUMN in --columns says where it stands)"
        raise SpecError(f"{why if not facts.judges else 'all votes are of one judge'}; take --intervals bootstrap")
    return intervals == "judges" or (facts.judges > 1 and not facts.missing)


def chosen_intervals(
    facts: LogFacts, intervals: Intervals | Literal["auto"] | None, aggregator: Aggregator
) -> Intervals | None:
    """Return the intervals to compute: those that were asked for, or by what the log knows.

    ``auto`` is ``judges`` where they are independent (`by_judge`), else ``bootstrap``, or the sandwich of an
    aggregator that has one for more than a million votes.
    """
    if intervals != "auto":
        return intervals
    if by_judge(facts, intervals):
        return "judges"
    return "sandwich" if facts.rows > _LONG and aggregator.has_covariance() else "bootstrap"


def refuse_too_many_cells(source: LogSource, facts: LogFacts) -> None:
    """Refuse a log whose judges said too much to be counted apart, before it is counted.

    How many different (judge, pair) there are is estimated from a sample of them.

    Raises
    ------
    SpecError
        What they said does not fit into memory.
    """
    if facts.rows <= MOST_CELLS:
        return
    import polars as pl

    step = -(-facts.rows // _SAMPLE)
    judge, winner, loser = (pl.col(name).cast(pl.String) for name in ("judge", "winner", "loser"))
    key = pl.struct(judge, pl.min_horizontal(winner, loser), pl.max_horizontal(winner, loser).alias("high")).hash()

    def sampled(frame: pl.LazyFrame) -> int:
        keys = frame.select(key=key).filter(pl.col("key") % step == 0)
        return int(keys.select(pl.col("key").n_unique()).collect(engine="streaming").item())

    cells = step * source.counted(sampled)
    if cells > MOST_CELLS:
        raise SpecError(
            f"intervals by judge hold what each judge said about each pair: about {cells:,} sums here, some "
            f"{cells * _BYTES / 1e9:.0f} GB, and at most {MOST_CELLS:,} are taken; take the votes of fewer judges, or "
            "--intervals bootstrap, which takes votes for independent and is too short where votes of a judge are alike"
        )
