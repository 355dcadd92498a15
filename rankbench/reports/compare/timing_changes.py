"""Changes of speed between two tables of timings: in turns of one job; those of two jobs are described.

Timings of two jobs differ by far more than those of one: other neighbors, another clock. So no time is compared with
one of another job, but each is divided by the reference's of its own job; how far such ratios differ from job to job
where nothing changed is not known from two, so that none of their changes is called real.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.reports.compare.comparison import Change, ChangeVerdict, untested
from rankbench.reports.same_cells import in_gate
from rankbench.stats.contrasts import FEWEST
from rankbench.stats.holm import holm
from rankbench.stats.log_ratios import launch_log_ratios, launch_medians
from rankbench.stats.looks import share_of_look
from rankbench.store.timings import TimedCell, Timings

__all__ = ["TimeEstimate", "judged_times", "timing_changes", "variance_of_mean"]

POWER = 0.9


class TimeEstimate(NamedTuple):
    """A change of a logarithm with its standard error; nan with too few launches, or jobs.

    What is shown of head is base's time with that change: medians of both sides need not differ by it.
    """

    where: str
    what: str
    base: float
    change: float
    se: float
    df: float
    rests: str


def timing_changes(
    base: Timings, head: Timings, slower_by: float, gate: Sequence[str], alpha: float
) -> tuple[list[Change], list[str]]:
    """Compare the speed of contenders.

    Parameters
    ----------
    base, head : Timings
    slower_by : float
        Share by which a time must have grown to matter, as .05.
    gate : sequence of str
        Patterns of what is tested, ``EXPERIMENT`` or ``EXPERIMENT/CONTENDER``; empty: everything.
    alpha : float
        Of the family, over all looks.

    Returns
    -------
    changes : list of Change
        Of logarithms of times: above 0 where head is slower.
    notes : list of str

    Raises
    ------
    InputError
        Two sides of a job that were not written together.
    """
    gone = [
        untested(f"{cell.experiment}, n = {cell.n:,}: it is gone", cell.contender, "speed")
        for cell in base.seconds
        if cell not in head.seconds and in_gate(gate, cell.experiment, cell.contender)
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
        notes.append("they are of two jobs: how far jobs differ is not known from two, and no time is called real")
        for what, was, now in (
            ("the class of processor", base.facts.machine, head.facts.machine),
            ("the reference that times are divided by", base.facts.reference, head.facts.reference),
        ):
            if was != now:
                notes.append(f"changed: {what} was {was}, is {now}")
    cells = [cell for cell in head.seconds if cell in base.seconds and in_gate(gate, cell.experiment, cell.contender)]
    estimate = _in_turns if together else _by_reference
    found = [estimate(base, head, cell) for cell in cells]
    return [*judged_times(found, slower_by, alpha, _share(base)), *gone], notes


def _share(timings: Timings) -> float:
    return share_of_look(timings.facts.declared, timings.launches, last=timings.facts.last)


def _in_turns(base: Timings, head: Timings, cell: TimedCell) -> TimeEstimate:
    """Return the change of launches in which both were timed in turns."""
    ratios = launch_log_ratios(head.seconds[cell], base.seconds[cell])
    before = float(np.median(launch_medians(base.seconds[cell])))
    rests = f"{len(ratios)} launches of {head.rounds} rounds, in turns"
    where, se = f"{cell.experiment}, n = {cell.n:,}, seconds", math.sqrt(variance_of_mean(ratios))
    return TimeEstimate(where, cell.contender, before, float(ratios.mean()), se, len(ratios) - 1.0, rests)


def _by_reference(base: Timings, head: Timings, cell: TimedCell) -> TimeEstimate:
    """Return the change of ratios to the reference, of two jobs: without a standard error, as jobs differ too."""
    before, after = (launch_log_ratios(side.seconds[cell], side.reference) for side in (base, head))
    rests = f"{len(before)} and {len(after)} launches of two jobs, as ratios to the reference"
    where, was = f"{cell.experiment}, n = {cell.n:,}, ratio to the reference", float(np.exp(before.mean()))
    return TimeEstimate(where, cell.contender, was, float(after.mean() - before.mean()), math.nan, 1.0, rests)


def variance_of_mean(values: NDArray[np.float64]) -> float:
    """Return the variance of a mean over launches, or jobs; nan with fewer than four."""
    return float(values.var(ddof=1) / len(values)) if len(values) >= FEWEST else math.nan


def judged_times(found: Sequence[TimeEstimate], slower_by: float, alpha: float, share: float = 1.0) -> list[Change]:
    """Return the changes with their verdicts, over the whole family; p-values are adjusted for the looks too."""
    from scipy.special import ndtri, stdtrit

    margin = math.log1p(slower_by)
    adjusted = [holm(np.array([_p(sign * one.change - margin, one) for one in found])) for sign in (1.0, -1.0)]
    changes = []
    for place, one in enumerate(found):
        head = one.base * math.exp(one.change)
        change = Change(one.where, one.what, one.base, head, one.change, "described", one.rests, about="speed")
        if not math.isnan(adjusted[0][place]):
            worse, better = (min(1.0, float(side[place]) / share) for side in adjusted)
            verdict: ChangeVerdict = "worse" if worse <= alpha else "better" if better <= alpha else "not shown"
            half = float(-stdtrit(one.df, 0.025 * share)) * one.se
            least = margin + one.se * (float(-stdtrit(one.df, alpha * share / len(found))) + float(ndtri(POWER)))
            lower, upper, p = one.change - half, one.change + half, worse if one.change > 0 else better
            change = replace(change, lower=lower, upper=upper, p=p, verdict=verdict, detectable=least)
        changes.append(change)
    return changes


def _p(beyond: float, one: TimeEstimate) -> float:
    from scipy.special import stdtr

    if math.isnan(one.se):
        return math.nan
    if one.se == 0:
        return 0.0 if beyond > 0 else 1.0
    return float(stdtr(one.df, -beyond / one.se))
