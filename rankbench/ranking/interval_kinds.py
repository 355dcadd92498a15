"""Which intervals a log of votes can have, and what of it has to be counted for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import polars as pl

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.errors import SpecError

if TYPE_CHECKING:
    from rankbench.counts.source import LogSource
    from rankbench.kinds.aggregator import Aggregator

__all__ = ["MOST_CELLS", "IntervalKind", "Intervals", "kind_of"]

Intervals: TypeAlias = Literal["bootstrap", "judges", "sandwich"]
"""What is taken for independent: judgments, or judges with all of theirs; or a formula."""

MOST_CELLS = 50_000_000
"""Most pairs of items, each judge's counted apart, of which there are intervals by judge: 10 GB."""

_BYTES = 200
"""That one of them takes when judges are counted and resampled."""

_LONG = 1_000_000
_SAMPLE = 1 << 21


class IntervalKind(NamedTuple):
    """Intervals that are to be computed.

    Attributes
    ----------
    intervals : Intervals or None
    by_judge : bool
        Whether judges are the units, and have to be counted apart.
    """

    intervals: Intervals | None
    by_judge: bool


def kind_of(source: LogSource, intervals: Intervals | Literal["auto"] | None, aggregator: Aggregator) -> IntervalKind:
    """Return the intervals to compute, chosen by what the log knows if need be.

    Parameters
    ----------
    source : LogSource
        Of comparisons.
    intervals : Intervals, "auto" or None
    aggregator : Aggregator

    Raises
    ------
    SpecError
        The log does not name two judges; or what they said, each apart, does not fit into memory.
    """
    if intervals in (None, "bootstrap"):
        return IntervalKind(intervals, False)
    facts = _facts(source)
    if intervals == "judges" and facts["judges"] < 2:
        why = "the log does not say who judged (judge=COLUMN in --columns says where it stands)"
        raise SpecError(f"{why if not facts['judges'] else 'all votes are of one judge'}; take --intervals bootstrap")
    several = facts["judges"] > 1 and not facts["missing"]
    if intervals != "judges" and not several:
        if intervals == "sandwich":
            return IntervalKind("sandwich", False)
        long = facts["rows"] > _LONG and type(aggregator) is BradleyTerry
        return IntervalKind("sandwich" if long else "bootstrap", False)
    # Votes that stay in memory, in their order, are not counted by judge.
    if facts["rows"] > MOST_CELLS and "sequential" not in aggregator.properties:
        _check_cells(source, facts["rows"])
    return IntervalKind("sandwich" if intervals == "sandwich" else "judges", True)


def _facts(source: LogSource) -> dict[str, int]:
    schema = source.frame.collect_schema()
    wanted = [pl.len().alias("rows")]
    if "judge" in schema:
        judge = pl.col("judge")
        wanted += [judge.drop_nulls().n_unique().alias("judges"), judge.null_count().alias("missing")]
    row = source.counted(lambda frame: frame.select(wanted).collect(engine="streaming").row(0, named=True))
    return {"judges": 0, "missing": 0} | {name: int(value) for name, value in row.items()}


def _check_cells(source: LogSource, rows: int) -> None:
    """Refuse a log whose judges said too much to be counted apart, before it is counted.

    How many different (judge, pair) there are is estimated from a sample of them.
    """
    step = -(-rows // _SAMPLE)
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
