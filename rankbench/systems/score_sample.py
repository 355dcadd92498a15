"""A score table is completed before systems are ranked: its missing cells and seeds."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import count_text, first_of, listed, short_repr
from rankbench.errors import InputError, SpecError, Warned, closest, option
from rankbench.interfaces.sequential_aggregator import TaskScores
from rankbench.stats.contrasts import FEWEST
from rankbench.stats.simultaneous import FEW

Kept: TypeAlias = Literal["tasks", "systems"]
"""The part left out where cells are missing: tasks that some system lacks, or systems that lack some task."""

LEVEL = 0.95
"""Confidence of a score's own interval, and of all rank ranges together."""

_NAMED = 5

_WIDE = 10.0
"""Times the spread of the median task."""


def turned_note(scores: TaskScores) -> list[str]:
    """Return a note on the tasks that are minimized, if others are not."""
    if not scores.less or scores.all_less:
        return []
    less = [task for task in scores.tasks if task in scores.less]
    return [f"less is better of {listed(less, _NAMED)}: the sign is turned in means"]


def _first(names: Sequence[str], chosen: NDArray[np.bool_]) -> str:
    return listed([name for name, one in zip(names, chosen, strict=True) if one], _NAMED)


def dominant_task_notes(scores: TaskScores) -> list[str]:
    """Return a note on tasks of a whole table whose scores spread so wide that they decide a mean over tasks."""
    spread = scores.values.mean(axis=0).std(axis=1)
    typical = float(np.median(spread[spread > 0])) if spread.any() else 0.0
    wide = spread > _WIDE * typical
    if not wide.any():
        return []
    times = spread[wide].max() / typical
    return [
        Warned(
            f"scores on {_first(scores.tasks, wide)} spread up to {times:,.0f} times as wide as on the median task, "
            "and decide means over tasks",
            option("without"),
            f"leaves a task out, {option('columns', 'losses=NAME')} turns one where less is better; ranks count all "
            "tasks alike",
        )
    ]


def pair_table_notes(scores: TaskScores) -> list[str]:
    """Return a note if the tasks of a whole table are its systems: cells may be wins over one another."""
    if set(scores.systems) != set(scores.tasks):
        return []
    return [
        "systems and tasks have the same names: if cells count wins over one another, write a row for each pair, "
        "winner,loser,count, which rankbench aggregate ranks"
    ]


def mixed_tasks(scores: TaskScores) -> list[str]:
    """Return a note on tasks of a whole table with truth values beside scores: they may be flags of systems."""
    values = np.abs(scores.values)
    differ = (values != values[..., :1]).any(axis=(0, 2))
    truth = np.isin(values, (0.0, 1.0)).all(axis=(0, 2))
    if not (truth & differ).any() or truth.all():
        return []
    names = listed([task for task, flag in zip(scores.tasks, truth & differ, strict=True) if flag])
    how = f"use {option('without')} for a column that is no task"
    return [f"all scores on {names} are 0 or 1, unlike on other tasks: {how}"]


def check_left_out(scores: TaskScores, without: Sequence[str], gone: Sequence[str] = ()) -> None:
    """Check names of tasks and systems to leave out; names in `gone` were not read.

    Raises
    ------
    SpecError
        There is none of such a name, or both.
    """
    for name in without:
        places = sum(name in names for names in (scores.tasks, scores.systems, gone))
        if not places:
            near = _near(name, [*scores.tasks, *scores.systems])
            raise SpecError(f"there is no task and no system {name!r} to leave out{near}")
        if places > 1:
            raise SpecError(f"{name!r} is a task and a system: which of them to leave out is not clear; rename one")


def without_named(scores: TaskScores, without: Sequence[str]) -> tuple[TaskScores, list[str]]:
    """Return the table without some tasks and systems, such as an average in a task's column.

    Raises
    ------
    SpecError
        There is none of such a name, or both; or nothing is left.
    """
    if not without:
        return scores, []
    check_left_out(scores, without)
    tasks, systems = ~np.isin(scores.tasks, list(without)), ~np.isin(scores.systems, list(without))
    if not (tasks.any() and systems.any()):
        raise SpecError(f"without {listed(without, _NAMED)} nothing is left")
    notes = []
    for what, names, kept in (("tasks", scores.tasks, tasks), ("systems", scores.systems, systems)):
        notes += [] if kept.all() else [f"left out of the {what}: {_first(names, ~kept)}"]
    return _part(scores, tasks, systems), notes


def _near(name: str, names: Sequence[str]) -> str:
    """Return the nearest name; if none is near the first ones, as there may be thousands."""
    return closest(name, names) or f"; there are {listed(names, _NAMED)}"


def _part(scores: TaskScores, tasks: NDArray[np.bool_], systems: NDArray[np.bool_]) -> TaskScores:
    return TaskScores(
        [name for name, keep in zip(scores.systems, systems, strict=True) if keep],
        [name for name, keep in zip(scores.tasks, tasks, strict=True) if keep],
        scores.seeds,
        np.ascontiguousarray(scores.values[:, tasks][:, :, systems]),
        scores.less,
    )


def complete_cases(scores: TaskScores, missing: Kept, reading: Sequence[str] = ()) -> tuple[TaskScores, list[str]]:
    """Return the table without missing cells, and notes on cells left out and averaged.

    Parameters
    ----------
    scores : TaskScores
    missing : {"tasks", "systems"}
        Part left out where a system has no score on a task.
    reading : sequence of str
        Notes on how the table was read, for the error where one task is left.

    Raises
    ------
    InputError
        There are no two systems, or no two tasks, or they are not left.
    """
    if len(scores.systems) < 2:
        raise InputError(
            f"there is one system alone, {short_repr(scores.systems[0])}: a ranking needs two (is "
            f"{option('columns', 'system=NAME')} the column that was meant?)"
        )
    if len(scores.tasks) < 2:
        raise InputError(
            f"there is one task alone, {short_repr(scores.tasks[0])}, which says nothing about other tasks: give two "
            f"at least, as the instances that a benchmark consists of{''.join(f'; {note}' for note in reading)}"
        )
    whole, left = _without_gaps(scores, missing)
    whole, averaged = _with_even_seeds(whole)
    notes, values, tasks = [*left, *averaged], whole.values, whole.tasks
    constant = (values == values[..., :1]).all(axis=(0, 2))
    if constant.any():
        notes.append(f"all systems have the same score on {_first(tasks, constant)}, which separates none")
    if cannot_reject(len(tasks), len(whole.systems)):
        notes.append(
            f"{len(tasks)} tasks are too few to rank {len(whole.systems)} systems by ranks, or by scores with few "
            f"values. At least {least_tasks(len(whole.systems))} are needed: one of two equal systems may lead on all "
            "tasks by chance"
        )
    if len(tasks) <= FEW:
        by_scores, by_ranks = wrong_rates(len(tasks), len(whole.systems))
        notes.append(
            f"{len(tasks)} tasks are few. Of simulated tables with skewed scores, {by_scores:.0%} have a wrong rank "
            f"range by mean scores and {by_ranks:.0%} by mean ranks; the level is 5%. Mean scores are wrong more often "
            "where few tasks are solved"
        )
    return whole, notes


BY_SCORES = {
    2: 0.063, 3: 0.122, 4: 0.165, 5: 0.169, 6: 0.172, 8: 0.173, 10: 0.171, 11: 0.175, 12: 0.174, 15: 0.154, 20: 0.178,
    25: 0.160, 30: 0.162,
}  # fmt: skip
"""Share of tables with a wrong rank range by mean scores, by number of tasks: ``scripts/range_coverage.py 1000``.

Of ten systems with equal means, five have lognormal scores, the others hardly vary.
"""

BY_RANKS = {11: 0.069, 12: 0.066, 15: 0.063, 20: 0.061, 25: 0.067, 30: 0.052}
"""The same by mean ranks, of ten systems with one law of lognormal scores; from the fewest tasks that separate two."""


def wrong_rates(tasks: int, systems: int) -> tuple[float, float]:
    """Return the rates of `BY_SCORES` and `BY_RANKS` for up to 30 tasks, interpolated; 0 if ranks cannot reject."""
    by_scores, by_ranks = (float(np.interp(tasks, list(one), list(one.values()))) for one in (BY_SCORES, BY_RANKS))
    return by_scores, 0.0 if cannot_reject(tasks, systems) else by_ranks


def cannot_reject(tasks: int, systems: int) -> bool:
    """Return whether so few tasks cannot separate any two of so many systems at 95%.

    Of equal systems one is ahead on every one of T tasks with probability 2^(1 - T), whichever it is: where that is
    more than the level of one of S (S - 1) / 2 pairs, no test of signs could reject anything.
    """
    return tasks < least_tasks(systems)


def least_tasks(systems: int) -> int:
    """Return the fewest tasks that can separate two of so many systems: see `cannot_reject`."""
    return 1 + math.ceil(math.log2(systems * (systems - 1) / 2 / (1 - LEVEL)))


_LEAVE_OUT = "leave systems and tasks out until a table of two of each is whole, or give the scores that are missing"


def _without_gaps(scores: TaskScores, missing: Kept) -> tuple[TaskScores, list[str]]:
    gaps = ~scores.present
    if not gaps.any():
        return scores, []
    if missing == "tasks":
        axis, other, lacking, why = 1, "systems", scores.systems, "not all systems have a score on them"
    else:
        axis, other, lacking, why = 0, "tasks", scores.tasks, "they have not a score on every task"
    left, by = np.asarray(~gaps.any(axis=axis)), gaps.sum(axis=1 - axis)
    worst = [f"{short_repr(lacking[at])} ({int(by[at])})" for at in np.argsort(-by, kind="stable") if by[at]]
    note = (
        f"rankbench leaves out {int((~left).sum())} of {len(left)} {missing}, as {why}: {int(gaps.sum()):,} of "
        f"{gaps.size:,} cells are missing, most in {first_of(worst, _NAMED)}; the ranking may not hold for them"
    )
    only = gaps & (gaps.sum(axis=axis, keepdims=True) == 1)
    gained = only.sum(axis=1 - axis)
    at = int(np.argmax(gained))
    kept = int(left.sum() + gained[at])
    if gained[at] and len(lacking) > 2 and kept > 1:
        note += f"; {option('without', lacking[at])} keeps {kept} of {len(left)} {missing}"
    if left.sum() < 2:
        beside = int((~gaps.any(axis=1 - axis)).sum())
        how = f"{option('missing', other)} keeps {beside} {other}" if beside > 1 else _LEAVE_OUT
        raise InputError(f"{note}; fewer than two {missing} are left: {how}")
    every = np.ones(len(lacking), np.bool_)
    return _part(scores, *((left, every) if missing == "tasks" else (every, left))), [note]


def _with_even_seeds(scores: TaskScores) -> tuple[TaskScores, list[str]]:
    """Return the table with equally many seeds in each cell: all, or their average as the only one."""
    there = ~np.isnan(scores.values)
    used = np.asarray(there.any(axis=(1, 2)))
    values, seeds = scores.values[used], [seed for seed, some in zip(scores.seeds, used, strict=True) if some]
    counts = there[used].sum(axis=0)
    if len(seeds) == 1:
        note = "each cell has one score, so tasks alone are resampled: intervals exclude the variation between runs"
    elif counts.min() < len(seeds):
        note = (
            f"cells have from {counts.min()} to {counts.max()} seeds: scores are averaged in each cell, "
            "and tasks alone are resampled"
        )
    elif len(seeds) < FEWEST:
        note = (
            f"{len(seeds)} seeds are too few to be resampled ({FEWEST} at least): scores are averaged over them, and "
            "tasks alone are resampled"
        )
    else:
        return replace(scores, seeds=seeds, values=values), []
    if len(seeds) > 1:
        values, seeds = np.nanmean(values, axis=0, keepdims=True), [""]
    return replace(scores, seeds=seeds, values=values), [note]


def size_text(whole: TaskScores, *, every: bool) -> str:
    """Return a text on the numbers of systems and tasks of a whole table; with `every`, all tasks are named."""
    tasks = listed(whole.tasks) if every else listed(whole.tasks, _NAMED)
    where = f"{count_text(len(whole.tasks), 'task')}: {tasks}"
    if len(whole.systems) == 1:
        return f"there is one system, with nothing to compare it to, on {where}"
    return f"{len(whole.systems)} systems are ranked on {where}"


def cells_table(scores: TaskScores) -> pl.DataFrame:
    """Return the cells that have a score, ``task, system, score``, with ``seed`` if there are several."""
    shape = scores.values.shape
    seed, task, system = (place.ravel() for place in np.indices(shape))
    names = {"task": (scores.tasks, task), "system": (scores.systems, system), "seed": (scores.seeds, seed)}
    columns = {name: pl.Series(of, dtype=pl.String).gather(place) for name, (of, place) in names.items()}
    table = pl.DataFrame({**columns, "score": scores.values.ravel()}).filter(pl.col("score").is_not_nan())
    return table.select("task", "system", *(["seed"] if shape[0] > 1 else []), "score")


def scores_digest(scores: TaskScores) -> str:
    """Return the sha256 of a table that is no single file: of its names and values."""
    said = [sorted(scores.less)] if scores.less else []
    names = repr((scores.systems, scores.tasks, scores.seeds, *said)).encode()
    return hashlib.sha256(names + scores.values.astype("<f8").tobytes()).hexdigest()


def parts_drawn(whole: TaskScores) -> str:
    """Return the name of the resampled parts of a whole table."""
    return "tasks and seeds, crossed and paired" if len(whole.seeds) > 1 else "tasks, paired"
