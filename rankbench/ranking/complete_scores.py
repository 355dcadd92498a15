"""A score table made whole: directions, missing cells and seeds, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError, SpecError, closest
from rankbench.kinds.task_scores import TaskScores
from rankbench.stats.contrasts import FEWEST
from rankbench.stats.simultaneous import FEW
from rankbench.text import first_of, listed, short_repr

__all__ = [
    "LEVEL",
    "Kept",
    "completed",
    "mixed_tasks",
    "of_each_other",
    "reduced",
    "tell_nothing",
    "turned",
    "wide_tasks",
]

Kept: TypeAlias = Literal["tasks", "systems"]
"""What is left out where cells are missing: tasks that not all systems have, or systems that have not all tasks."""

LEVEL = 0.95
"""Of a score's own interval, and of all rank ranges together."""

_NAMED = 5

_WIDE = 10.0
"""Times the spread of the median task."""


@dataclass(frozen=True, eq=False)
class _Whole:
    scores: TaskScores
    notes: list[str]


def turned(scores: TaskScores, lower: Sequence[str]) -> tuple[TaskScores, list[str]]:
    """Return the table with more being better everywhere: the sign of tasks where less is better is turned.

    Raises
    ------
    SpecError
        There is no such task.
    """
    for name in lower:
        if name not in scores.tasks:
            raise SpecError(f"there is no task {name!r} of which less could be better{_near(name, scores.tasks)}")
    less = np.isin(scores.tasks, list(lower))
    if not less.any():
        return scores, []
    names = [short_repr(task) for task, turn in zip(scores.tasks, less, strict=True) if turn]
    values = np.where(less[None, :, None], -scores.values, scores.values)
    return replace(scores, values=values), [f"less is better of {first_of(names, _NAMED)}: the sign is turned in means"]


def wide_tasks(scores: TaskScores) -> list[str]:
    """Say on which tasks of a whole table scores spread so wide that they decide a mean over tasks."""
    spread = scores.values.mean(axis=0).std(axis=1)
    typical = float(np.median(spread[spread > 0])) if spread.any() else 0.0
    wide = spread > _WIDE * typical
    if not wide.any():
        return []
    names = first_of([short_repr(task) for task, far in zip(scores.tasks, wide, strict=True) if far], _NAMED)
    times = spread[wide].max() / typical
    return [
        f"scores on {names} spread up to {times:,.0f} times as wide as those on the median task, and decide means over "
        "tasks: --without leaves a task out, --lower turns one of which less is better; ranks count all tasks alike"
    ]


def of_each_other(scores: TaskScores) -> list[str]:
    """Say where the tasks of a whole table are its systems: their cells may be wins over one another."""
    if set(scores.systems) != set(scores.tasks):
        return []
    return [
        "systems and tasks have the same names: if cells count wins over one another, write a row for each pair, "
        "winner,loser,count, which rankbench aggregate ranks"
    ]


def mixed_tasks(scores: TaskScores) -> list[str]:
    """Say which tasks of a whole table have truth values where others have scores: they may be flags of systems."""
    values = np.abs(scores.values)
    differ = (values != values[..., :1]).any(axis=(0, 2))
    truth = np.isin(values, (0.0, 1.0)).all(axis=(0, 2))
    if not (truth & differ).any() or truth.all():
        return []
    names = listed([task for task, flag in zip(scores.tasks, truth & differ, strict=True) if flag])
    return [f"scores on {names} are 0 and 1 alone, those on other tasks are not: --without leaves out what is no task"]


def reduced(scores: TaskScores, without: Sequence[str]) -> tuple[TaskScores, list[str]]:
    """Return the table without some tasks and systems, as an average that stands among the tasks.

    Raises
    ------
    SpecError
        There is none of such a name, or both; or nothing is left.
    """
    if not without:
        return scores, []
    for name in without:
        if name not in scores.tasks and name not in scores.systems:
            near = _near(name, [*scores.tasks, *scores.systems])
            raise SpecError(f"there is no task and no system {name!r} to leave out{near}")
        if name in scores.tasks and name in scores.systems:
            raise SpecError(f"{name!r} is a task and a system: which of them to leave out is not clear; rename one")
    tasks, systems = ~np.isin(scores.tasks, list(without)), ~np.isin(scores.systems, list(without))
    if not (tasks.any() and systems.any()):
        raise SpecError(f"without {first_of([short_repr(name) for name in without], _NAMED)} nothing is left")
    notes = []
    for what, names, kept in (("tasks", scores.tasks, tasks), ("systems", scores.systems, systems)):
        left = [short_repr(name) for name, keep in zip(names, kept, strict=True) if not keep]
        notes += [f"left out of the {what}: {first_of(left, _NAMED)}"] if left else []
    return _part(scores, tasks, systems), notes


def _near(name: str, names: Sequence[str]) -> str:
    """Return the nearest name; if none is near the first ones, as there may be thousands."""
    shown = first_of([short_repr(valid) for valid in names], _NAMED)
    return closest(name, names) or f"; there are {shown}"


def _part(scores: TaskScores, tasks: NDArray[np.bool_], systems: NDArray[np.bool_]) -> TaskScores:
    return TaskScores(
        [name for name, keep in zip(scores.systems, systems, strict=True) if keep],
        [name for name, keep in zip(scores.tasks, tasks, strict=True) if keep],
        scores.seeds,
        np.ascontiguousarray(scores.values[:, tasks][:, :, systems]),
    )


def completed(scores: TaskScores, missing: Kept) -> tuple[TaskScores, list[str]]:
    """Return the table without missing cells, and what was left out and averaged.

    Parameters
    ----------
    scores : TaskScores
        More is better.
    missing : {"tasks", "systems"}
        What is left out where a system has no score on a task.

    Raises
    ------
    InputError
        There are no two systems, or no two tasks, or they are not left.
    """
    if len(scores.systems) < 2:
        raise InputError(
            f"there is one system alone, {short_repr(scores.systems[0])}: a ranking needs two "
            "(is --columns system=NAME the column that was meant?)"
        )
    if len(scores.tasks) < 2:
        raise InputError(
            f"there is one task alone, {short_repr(scores.tasks[0])}, which says nothing about other tasks: give two "
            "at least, as the instances that a benchmark consists of"
        )
    whole = _without_gaps(scores, missing)
    whole = _with_even_seeds(whole)
    values, tasks = whole.scores.values, whole.scores.tasks
    constant = (values == values[..., :1]).all(axis=(0, 2))
    if constant.any():
        names = [short_repr(task) for task, same in zip(tasks, constant, strict=True) if same]
        whole.notes.append(f"all systems have the same score on {first_of(names, _NAMED)}: that tells none apart")
    if tell_nothing(len(tasks), len(whole.scores.systems)):
        whole.notes.append(
            f"there are only {len(tasks)} tasks: that they agree about two of {len(whole.scores.systems)} systems by "
            "chance is too likely to tell any two apart by ranks, or by any scores that come in steps"
        )
    elif len(tasks) < FEW:
        whole.notes.append(
            f"there are only {len(tasks)} tasks: rank ranges are rough, and up to twice as often wrong; where scores "
            "are skewed, as where few tasks are solved, four times and more"
        )
    return whole.scores, whole.notes


def tell_nothing(tasks: int, systems: int) -> bool:
    """Return whether so few tasks cannot tell any two of so many systems apart at 95%.

    Of equal systems one is ahead on every one of T tasks with probability 2^(1 - T), whichever it is: where that is
    more than the level of one of S (S - 1) / 2 pairs, no test of signs could reject anything.
    """
    return 2.0 ** (1 - tasks) > (1 - LEVEL) / (systems * (systems - 1) / 2)


def _without_gaps(scores: TaskScores, missing: Kept) -> _Whole:
    gaps = ~scores.present
    if not gaps.any():
        return _Whole(scores, [])
    tasks, systems = np.ones(len(scores.tasks), np.bool_), np.ones(len(scores.systems), np.bool_)
    if missing == "tasks":
        tasks = ~np.asarray(gaps.any(axis=1))
        left, of, why = tasks, "tasks", "not all systems have a score on them"
    else:
        systems = ~np.asarray(gaps.any(axis=0))
        left, of, why = systems, "systems", "they have not a score on every task"
    names, by = (scores.systems, gaps.sum(axis=0)) if missing == "tasks" else (scores.tasks, gaps.sum(axis=1))
    note = (
        f"{int((~left).sum())} of {len(left)} {of} are left out, as {why}: {int(gaps.sum()):,} of {gaps.size:,} cells "
        f"are missing, most of them of {_worst(names, by)}; ranks are of what is left, which need not be like the rest"
    )
    if left.sum() < 2:
        other = "systems" if missing == "tasks" else "tasks"
        raise InputError(
            f"{note}; fewer than two {of} are left: try --missing {other}, or leave those out that lack most"
        )
    return _Whole(_part(scores, tasks, systems), [note])


def _worst(names: Sequence[str], missing: NDArray[np.int64]) -> str:
    order = np.argsort(-missing, kind="stable")
    return first_of([f"{short_repr(names[at])} ({int(missing[at])})" for at in order if missing[at]], _NAMED)


def _with_even_seeds(whole: _Whole) -> _Whole:
    """Return the table with as many seeds in each cell: all, or their average as the only one."""
    scores = whole.scores
    there = ~np.isnan(scores.values)
    used = np.asarray(there.any(axis=(1, 2)))
    values, seeds = scores.values[used], [seed for seed, some in zip(scores.seeds, used, strict=True) if some]
    counts = there[used].sum(axis=0)
    if len(seeds) == 1:
        note = "there is one score a cell: tasks alone are resampled, and what another run would give is not known"
    elif counts.min() < len(seeds):
        note = (
            f"cells have from {counts.min()} to {counts.max()} seeds: scores are averaged over those of their cell, "
            "and tasks alone are resampled"
        )
    elif len(seeds) < FEWEST:
        note = (
            f"{len(seeds)} seeds are too few to be resampled ({FEWEST} at least): scores are averaged over them, and "
            "tasks alone are resampled"
        )
    else:
        return _Whole(replace(scores, seeds=seeds, values=values), whole.notes)
    if len(seeds) > 1:
        values, seeds = np.nanmean(values, axis=0, keepdims=True), [""]
    return _Whole(replace(scores, seeds=seeds, values=values), [*whole.notes, note])
