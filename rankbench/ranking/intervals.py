"""Which intervals a log of votes can have, and what of it has to be counted for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from rankbench.errors import SpecError

if TYPE_CHECKING:
    from rankbench.counts.parts import LogPart
    from rankbench.kinds.aggregator import Aggregator

__all__ = ["MOST_CELLS", "Intervals", "LogFacts", "by_formula", "by_judge", "chosen_intervals", "refuse_too_many_cells"]

Intervals: TypeAlias = Literal["bootstrap", "judges", "sandwich", "judges+queries"]
"""What is taken for independent: judgments, or judges with all of theirs; a formula; judges, and queries too."""

MOST_CELLS = 50_000_000
"""Most outcomes of pairs of items, each judge's counted apart, of which there are intervals by judge: 5 GB."""

_BYTES = 100
"""That one of them takes when judges are counted and resampled."""

_LONG = 1_000_000


class LogFacts(NamedTuple):
    """What the choice of intervals needs to know of a log of votes.

    Attributes
    ----------
    rows : int
    judges : int
        How many it names.
    missing : int
        Votes without a judge, in a log that has the column: one is enough to know.
    """

    rows: int
    judges: int
    missing: int


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

    ``auto`` is the sandwich of an aggregator that prefers it, clustered where judges are independent (`by_judge`).
    Else it is ``judges`` where they are, and without them ``bootstrap``, or the sandwich of an aggregator that has one
    for more than a million votes.
    """
    if intervals != "auto":
        return intervals
    if aggregator.prefers_covariance():
        return "sandwich"
    if by_judge(facts, intervals):
        return "judges"
    return "sandwich" if facts.rows > _LONG and aggregator.has_covariance() else "bootstrap"


def by_formula(intervals: Intervals | None, aggregator: Aggregator) -> bool:
    """Return whether intervals are made by the aggregator's formula: nothing is resampled."""
    return intervals == "sandwich" or (intervals == "judges+queries" and aggregator.has_covariance())


def refuse_too_many_cells(part: LogPart) -> None:
    """Refuse a log whose judges say too much to be counted apart, as soon as they have said it.

    Parameters
    ----------
    part : LogPart
        Counted by judge: the log as far as it was read.

    Raises
    ------
    SpecError
        What they say does not fit into memory.
    """
    cells = part.cluster_cells
    if cells is not None and len(cells.cells) > MOST_CELLS:
        raise SpecError(
            f"intervals by judge hold what each judge said about each pair: {len(cells.cells):,} sums in "
            f"{part.judgments:,} votes, some {_BYTES * len(cells.cells) / 1e9:.0f} GB, and at most {MOST_CELLS:,} are "
            "taken; take the votes of fewer judges, or --intervals bootstrap, which takes votes for independent and is "
            "too short where votes of a judge are alike"
        )
