"""Doubts about columns and tasks of another size than the others: flags, standard errors, costs and times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import listed, short_repr
from rankbench.data.tables.totals import is_kept, keeping, leaving_out
from rankbench.errors import Unread, options
from rankbench.interfaces.reading import Reading, names_text
from rankbench.interfaces.sequential_aggregator import TaskScores

_NAMED = 5

_SMALL = 5.0
"""Times that a score is larger than its standard error."""

_WIDE = 10.0
"""Times the median spread from which a column under a pattern may be no task."""

_BOUND = 100.0
"""Bound of percentages."""


def doubt_columns(reading: Reading, scores: TaskScores, what: str, truth: Sequence[str]) -> None:
    """Raise a question about columns that a pattern takes for scores, and that may be none.

    They are true and false, or 0 and 1, beside numbers; far smaller than a column with a part of their name, as
    standard errors are; or ten times as large, or as wide, as the median column.

    Parameters
    ----------
    reading : Reading
    scores : TaskScores
    what : {"task", "system"}
        The columns are called as tasks, or systems.
    truth : sequence of str
        Columns of true and false.

    Raises
    ------
    Unread
    """
    names, axes = (scores.tasks, (1, 0, 2)) if what == "task" else (scores.systems, (2, 0, 1))
    values = scores.values.transpose(axes).reshape(len(names), -1)
    there = ~np.isnan(values)
    most, least = np.where(there, values, -np.inf).max(axis=1), np.where(there, values, np.inf).min(axis=1)
    flags = np.isin(names, truth) | ((~there | np.isin(values, (0, 1))).all(axis=1) & (most.max() > 1))
    size, wide = np.maximum(np.abs(most), np.abs(least)), most - least
    large = np.zeros(len(names), np.bool_)
    for one in (size, wide) if len(names) > 2 else ():
        large |= one > _WIDE * np.median(one[one > 0]) if (one > 0).any() else False
    for code, odd, why in (
        ("flags", flags & ~flags.all(), "true and false beside columns of numbers may be no scores"),
        ("wide", _errors(names, values), "far smaller than columns with a part of their name; are they their errors?"),
        ("wide", large, f"{_WIDE:g} times as large or as wide as the median column; a {what}, or a size?"),
    ):
        found = tuple(names[at] for at in np.flatnonzero(odd) if not is_kept(reading, names[at]))
        if found:
            step = f"{leaving_out((), *found)}; {keeping(*found)} says that they are scores"
            message = f"{listed(found[:_NAMED])}: {why}"
            raise Unread(message, step, code=code, column=found[0])


def refuse_scale(reading: Reading, scores: TaskScores, *, rows: bool) -> None:
    """Raise a question about tasks, in rows, of another unit than most: costs, or milliseconds, beside shares.

    Scores of most tasks keep to a bound, 1 or 100, and theirs are beyond it, and ten times as large.

    Parameters
    ----------
    reading : Reading
    scores : TaskScores
    rows : bool
        Whether a row is one score, of which a metric may say which way is better.

    Raises
    ------
    Unread
    """
    largest = np.nan_to_num(np.abs(scores.values)).max(axis=(0, 2), initial=0.0)
    size = np.sort(largest[largest > 0])
    if len(size) < 2 or len(scores.systems) < 2 or scores.all_less:
        return
    # Of two tasks alone either may be the odd one: 0.5 and 20 are percentages, too.
    bound = np.select([(size <= 1) & (len(size) > 2), size <= _BOUND], [1.0, _BOUND], np.inf)
    far = np.flatnonzero(size[1:] > np.maximum(bound, _WIDE * size)[:-1])
    far = far[far >= (len(size) - 1) // 2]
    high = size[far[0]] if len(far) else np.inf
    found = tuple(scores.tasks[at] for at in np.flatnonzero(largest > high) if not is_kept(reading, scores.tasks[at]))
    if not found:
        return
    turned = ""
    if rows:
        task = reading.all("task")
        roles = {role: reading.all(role) for role in ("system", "task", "score", "seed") if reading.first[role]}
        columns = names_text({**roles, "metric": task if len(task) == 1 else ("____",)})
        turned = f"{options(columns=columns, words='less=____,more=____')} says where less is better; "
    raise Unread(
        f"scores on {listed(found[:_NAMED])} reach {size[-1]:,.4g}, and all others {high:,.4g}: is more better there, "
        "too, or are these costs, or times?",
        f"{turned}{leaving_out((), *found)}; {keeping(*found)} says that more is better",
        code="wide",
        column=found[0],
    )


_LEAST_PERCENT = 10.0
"""Smallest number that is taken for a percentage beside shares: scores of any law cross 1 without a gap."""


def refuse_shares(reading: Reading, scores: TaskScores) -> None:
    """Raise a question about a task with shares and percentages: 0.87 beside 91.

    No score is from 1 to 10, and a hundredth of the percentages is near the shares. Times have such gaps.

    Raises
    ------
    Unread
    """
    if scores.all_less:
        return
    by_task = scores.values.transpose(1, 0, 2).reshape(len(scores.tasks), -1)
    most, least = np.fmax.reduce(by_task, axis=1), np.fmin.reduce(by_task, axis=1)
    for at in np.flatnonzero((least >= 0) & (least <= 1) & (most > 1) & (most <= _BOUND)):
        size = np.sort(by_task[at][by_task[at] > 0])
        low, high = size[size <= 1], size[size > 1]
        if not (low % 1).any() or high[0] < _LEAST_PERCENT or is_kept(reading, task := scores.tasks[at]):
            continue
        if low[0] <= 2 * high[-1] / _BOUND and high[0] / _BOUND <= 2 * low[-1]:
            raise Unread(
                f"scores on {short_repr(task)} are {low[0]:g} to {low[-1]:g}, and {high[0]:g} to {high[-1]:g}: shares, "
                "and percentages?",
                f"write them in one way; {leaving_out((), task)}; {keeping(task)} says that they are in one unit",
                code="scale",
                column=task,
            )


def _errors(names: Sequence[str], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the columns whose names extend another one's, with far smaller values everywhere."""
    place = {name: at for at, name in enumerate(names)}
    found = np.zeros(len(names), np.bool_)
    for name, at in place.items():
        # A part may stand before, behind or within: acc_stderr,none of acc,none.
        for start, end in combinations(range(len(name) + 1), 2):
            other, more = name[:start] + name[end:], name[start:end]
            if other and other in place and re.search(r"[^\W\d_]", more):
                both = np.abs(values[[place[other], at]])
                both = both[:, ~np.isnan(both).any(axis=0)]
                found[at] |= both.shape[1] > 1 and bool((both[1] * _SMALL < both[0]).all())
    return found
