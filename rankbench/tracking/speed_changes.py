"""Timings tell changes of speed and of memory.

Timings of two jobs differ by far more than those of one: other neighbors, another clock. So no time is compared with
one of another job: each is divided by the reference's of its own job first. Jobs differ in such ratios too. Two jobs do
not tell how far jobs differ where nothing changed, so that none of their changes is tested. Memory depends on libraries
and allocators, and is tested in one job alone, too.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import count_text
from rankbench.errors import InputError
from rankbench.stats.contrasts import FEWEST
from rankbench.tracking.comparison import Change, ChangeEstimate, Family, Margin, untested
from rankbench.tracking.timings import TimedCell, Timings
from rankbench.tracking.turns import launch_log_ratios, share_of_look

LARGER_BY = 0.1
"""Share of base by which peak memory must grow to matter."""

LARGER_BYTES = 16 << 20
"""Bytes by which it must grow to matter: allocators take memory by the piece."""


def memory_margin(base: float) -> float:
    """Return the growth of a peak, in bytes, that matters: a tenth of base, and 16 MiB at least."""
    return max(LARGER_BY * base, LARGER_BYTES)


def timing_changes(base: Timings, head: Timings, family: Family) -> tuple[list[Change], list[str]]:
    """Compare the speed of contenders, and the memory that they take at their peak.

    Parameters
    ----------
    base, head : Timings
    family : Family
        Its margin is a share of a time, its gate names cells, its level is that of all looks, speed and memory.

    Returns
    -------
    changes : list of Change
        Of logarithms of times, above 0 where head is slower; then of bytes, above 0 where head takes more. No memory
        if the system does not report it.
    notes : list of str

    Raises
    ------
    InputError
        Two sides of a job that were not written together.
    """
    gone = [
        untested(f"{cell.experiment}, n = {cell.n:,}: it is gone", cell.contender, "speed")
        for cell in base.seconds
        if cell not in head.seconds and family.has_cell(cell.experiment, cell.contender)
    ]
    notes = [f"new: {cell} is timed" for cell in head.seconds if cell not in base.seconds]
    notes += [f"not timed: {cell}: {why}" for cell, why in sorted({**base.facts.failed, **head.facts.failed}.items())]
    together = base.facts.job == head.facts.job
    if together and base.reference.shape != head.reference.shape:
        raise InputError(
            f"one side of job {base.facts.job} has {base.launches} launches and the other one {head.launches}: they "
            "were not written together; time again"
        )
    if not together:
        notes.append("they are of two jobs: two jobs do not show how far jobs differ, so rankbench tests no time")
        for what, was, now in (
            ("the class of processor", base.facts.machine, head.facts.machine),
            ("the reference that times are divided by", base.facts.reference, head.facts.reference),
        ):
            if was != now:
                notes.append(f"changed: {what} was {was}, is {now}")
    cells = [cell for cell in head.seconds if cell in base.seconds and family.has_cell(cell.experiment, cell.contender)]
    share = share_of_look(base.facts.declared, base.launches, last=base.facts.last)
    estimate = _in_turns if together else _by_reference
    found = [estimate(base, head, cell, family.margin) for cell in cells]
    found += [larger for cell in cells if (larger := _larger(base, head, cell, together)) is not None]
    return [*family.judged([one.with_interval(share) for one in found], share), *gone], notes


def _in_turns(base: Timings, head: Timings, cell: TimedCell, margin: Margin) -> ChangeEstimate:
    """Return the change over launches in which both were timed in turns."""
    ratios = launch_log_ratios(head.seconds[cell], base.seconds[cell])
    before = float(np.median(base.seconds[cell].min(axis=-1)))
    rests = f"{count_text(len(ratios), 'launch')} of {count_text(head.rounds, 'round')}, in turns"
    where, se = f"{cell.experiment}, n = {cell.n:,}, seconds", math.sqrt(variance_of_mean(ratios))
    return _slower(where, cell.contender, before, float(ratios.mean()), rests, margin, se, len(ratios) - 1.0)


def _by_reference(base: Timings, head: Timings, cell: TimedCell, margin: Margin) -> ChangeEstimate:
    """Return the change of ratios to the reference, of two jobs: without a standard error, as jobs differ too."""
    before, after = (launch_log_ratios(side.seconds[cell], side.reference) for side in (base, head))
    rests = f"{len(before)} and {len(after)} launches of two jobs, as ratios to the reference"
    where, was = f"{cell.experiment}, n = {cell.n:,}, ratio to the reference", float(np.exp(before.mean()))
    return _slower(where, cell.contender, was, float(after.mean() - before.mean()), rests, margin)


def _slower(
    where: str, what: str, base: float, change: float, rests: str, margin: Margin, se: float = math.nan, df: float = 1.0
) -> ChangeEstimate:
    """Return a change of a logarithm; head is base times its exponential, not the median of head."""
    told = Change(where, what, base, base * math.exp(change), change, "described", rests, about="speed")
    return ChangeEstimate(told, se, 1.0, (df, df), math.log1p(margin.size))


def _larger(base: Timings, head: Timings, cell: TimedCell, together: bool) -> ChangeEstimate | None:
    """Return the change of the bytes at the peak, paired by launch where both were timed together."""
    before, after = (side.memory[cell] for side in (base, head))
    if together:
        known = np.isfinite(before) & np.isfinite(after)
        before, after = before[known], after[known]
        grown, rests = after - before, f"{count_text(len(before), 'launch')} of both"
        se = math.sqrt(variance_of_mean(grown))
    else:
        before, after = before[np.isfinite(before)], after[np.isfinite(after)]
        rests, se = f"{len(before)} and {len(after)} launches of two jobs", math.nan
    if not len(before) or not len(after):
        return None
    was, now = float(before.mean()), float(after.mean())
    where = f"{cell.experiment}, n = {cell.n:,}, peak memory"
    told = Change(where, cell.contender, was, now, now - was, "described", rests, about="memory")
    df = max(len(before) - 1.0, 1.0)
    return ChangeEstimate(told, se, 1.0, (df, df), memory_margin(was))


def variance_of_mean(values: NDArray[np.float64]) -> float:
    """Return the variance of a mean over launches; nan with fewer than four."""
    return float(values.var(ddof=1) / len(values)) if len(values) >= FEWEST else math.nan
