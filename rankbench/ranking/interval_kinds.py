"""Facts of a log of votes decide on the kind of its intervals."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from rankbench.errors import SpecError, option
from rankbench.interfaces.aggregator import Aggregator, WithCovariance
from rankbench.interfaces.pair_counts import ClusterCounts
from rankbench.logs.partial_counts import LogPart

Intervals: TypeAlias = Literal["bootstrap", "judges", "sandwich", "judges+queries"]
"""Ways to intervals: resamples of judgments, resamples of judges, a formula, resamples of judges and queries."""

MOST_CELLS = 50_000_000
"""Most outcomes of pairs of items by judge from which intervals by judge are computed: 5 GB."""

_BYTES = 100
"""Bytes of one outcome while judges are counted and resampled."""

_LONG = 1_000_000


class LogFacts(NamedTuple):
    """Facts of a log of votes that decide on the kind of intervals.

    Attributes
    ----------
    rows : int
    judges : int
        Judges that the log names.
    missing : int
        Votes without a judge, in a log with a column of judges; one vote is enough.
    few : bool
        Judges are too few to be sampled: see `rankbench.ranking.sampling_units.too_few_judges`.
    """

    rows: int
    judges: int
    missing: int
    few: bool = False


def by_judge(facts: LogFacts, intervals: Intervals | Literal["auto"] | None) -> bool:
    """Return whether judges are sampled: if a log names them for all votes, and enough of them, or on request.

    Raises
    ------
    SpecError
        `intervals` are by judge, and the log does not name two judges.
    """
    if intervals in (None, "bootstrap"):
        return False
    if intervals == "judges" and facts.judges < 2:
        told = f"the log does not say who judged ({option('columns', 'judge=COLUMN')} says where it stands)"
        why = "all votes are of one judge" if facts.judges else told
        raise SpecError(f"{why}; take {option('intervals', 'bootstrap')}")
    return intervals == "judges" or (facts.judges > 0 and not facts.missing and not facts.few)


def chosen_intervals(
    facts: LogFacts, intervals: Intervals | Literal["auto"] | None, aggregator: Aggregator
) -> Intervals | None:
    """Return the intervals to compute: as requested, or chosen for the log.

    ``auto`` is the sandwich of an aggregator that prefers it, clustered where judges are independent (`by_judge`).
    Else it is ``judges`` where they are, and without them ``bootstrap``, or the sandwich of an aggregator that has one
    for more than a million votes.
    """
    if intervals != "auto":
        return intervals
    if isinstance(aggregator, WithCovariance) and aggregator.prefers_covariance():
        return "sandwich"
    if by_judge(facts, intervals):
        return "judges"
    return "sandwich" if facts.rows > _LONG and isinstance(aggregator, WithCovariance) else "bootstrap"


def by_formula(intervals: Intervals | None, aggregator: Aggregator) -> bool:
    """Return whether intervals are by the aggregator's formula, without resamples."""
    return intervals == "sandwich" or (intervals == "judges+queries" and isinstance(aggregator, WithCovariance))


def refuse_too_many_cells(part: LogPart) -> None:
    """Raise, as soon as it is known, if a log has too many sums by judge and pair.

    Parameters
    ----------
    part : LogPart
        Counted by judge: the log as far as it was read.

    Raises
    ------
    SpecError
        The sums by judge do not fit into memory.
    """
    sums = len(part.data.cells) if isinstance(part.data, ClusterCounts) else 0
    if sums > MOST_CELLS:
        raise SpecError(
            f"{option('intervals', 'judges')} needs a sum for each judge and pair: {sums:,} sums of "
            f"{part.counts.judgments:,} votes ({_BYTES * sums / 1e9:.0f} GB), above the limit of {MOST_CELLS:,}. Use "
            f"votes of fewer judges, or {option('intervals', 'bootstrap')}: it treats votes as independent, so its "
            "intervals are too narrow if a judge's votes correlate"
        )
