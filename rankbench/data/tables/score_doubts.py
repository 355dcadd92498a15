"""Doubts of score tables: tasks and systems that are none, codes among scores, and two rows of one cell."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.tables.cells import NUMBER, text_of, unread_columns
from rankbench.data.tables.codes import code_question, codes_among
from rankbench.data.tables.column_texts import first_cells, looks
from rankbench.data.tables.totals import is_kept, keeping, leaving_out, refuse_summaries
from rankbench.errors import Unread, option
from rankbench.interfaces.reading import Reading, names_text
from rankbench.interfaces.sequential_aggregator import TaskScores
from rankbench.interfaces.table_check import RawTable

_NAMED = 5
_COMPARED = 1_000
"""Most tasks that are compared with the others."""

_CHANCE = 0.05
"""Most tasks that chance may make look like places, where one is asked about."""


def parted_rows(reading: Reading, differ: Sequence[str]) -> str:
    """Return the options that part rows of one cell, which differ in some columns."""
    if not differ:
        return f"remove all but one of them ({option('where')} keeps some rows)"
    task = "task" if reading.first["task"] else "system"
    more = names_text({task: (*reading.all(task), "____")})
    part = f"{option('columns', more)} for a part of the {task}"
    return f"{option('columns', 'seed=____')} for repetitions, {part}, or {option('where')} keeps some rows"


def refuse_metrics(raw: RawTable, reading: Reading, tasks: Sequence[str]) -> None:
    """Raise a question if a task has scores by several metrics: systems would not be comparable.

    Raises
    ------
    Unread
    """
    metric = reading.first["metric"]
    if not metric or metric in tasks:
        return
    keys = [text_of(name).alias(f"key {at}") for at, name in enumerate(tasks)]
    found = raw.frame.group_by(keys).agg(text_of(metric).unique().sort().alias("metrics"))
    several = raw.collect(found.filter(pl.col("metrics").list.len() > 1).sort(pl.all()).head(1))
    for *task, metrics in several.iter_rows():
        one, each = (
            option("where", f"{metric} == '____'"),
            option("columns", names_text({"task": (*tasks, metric)})),
        )
        raise Unread(
            f"scores of task {short_repr('|'.join(task))} are by several metrics, {listed(metrics[:_NAMED])}",
            f"{one} keeps one, {each} makes each a task of its own",
            code="second-key",
            column=metric,
        )


def refuse_second_key(raw: RawTable, reading: Reading, cells: Sequence[str], seeds: Sequence[str]) -> None:
    """Raise a question if an unread column takes the same values within every cell, as a split or a metric.

    Where it says the same as the seed it says nothing more.

    Parameters
    ----------
    raw : RawTable
    reading : Reading
    cells, seeds : sequence of str
        Columns that name the cell of a row; columns of its seed, without which no cell has two rows.

    Raises
    ------
    Unread
    """
    names = unread_columns(raw, reading)
    if not (seeds and names):
        return
    texts = {name: text_of(name).alias(str(at)) for at, name in enumerate(names)}
    of_cells = raw.collect(
        raw.frame.group_by(text_of(name).alias(f"key {at}") for at, name in enumerate(cells))
        .agg(text.n_unique().alias(text.meta.output_name()) for text in texts.values())
        .select(pl.col(text.meta.output_name()).median() for text in texts.values())
    ).row(0)
    seed = pl.concat_str([text_of(name) for name in seeds], separator="\0")
    pairs = [pl.concat_str([text_of(name), seed], separator="\0").n_unique().alias(f"{name}!") for name in names]
    every = [text.n_unique() for text in texts.values()]
    counts = raw.facts(*every, *pairs, seed.n_unique().alias("\0"))
    of_all, with_seed, of_seeds = counts[: len(names)], counts[len(names) : -1], counts[-1]
    for name, cell, kinds, both in zip(names, of_cells, of_all, with_seed, strict=True):
        if kinds < 2 or cell < kinds or both == kinds == of_seeds:
            continue
        shown = looks(first_cells(raw, [name])[name])
        task = "task" if reading.first["task"] else "system"
        raise Unread(
            f"{short_repr(name)} ({shown}) takes the same values within each cell, and is not read: are these "
            "repetitions, or other tasks?",
            f"{option('columns', names_text({task: (*reading.all(task), name)}))} makes it a part of the {task}; "
            f"{option('where')} keeps some rows; {option('columns', names_text({'ignore': (name,)}))} says that it "
            "means nothing",
            code="second-key",
            column=name,
        )


def doubt_scores(reading: Reading, scores: TaskScores) -> None:
    """Raise questions about scores, tasks and systems that may be none: see the functions called.

    Parameters
    ----------
    reading : Reading
    scores : TaskScores

    Raises
    ------
    Unread
    """
    by_task = scores.values.transpose(1, 0, 2).reshape(len(scores.tasks), -1)
    by_system = scores.values.transpose(2, 0, 1).reshape(len(scores.systems), -1)
    sides = {"task": (scores.tasks, by_task), "system": (scores.systems, by_system)}
    refuse_codes(reading, sides)
    refuse_index(reading, scores)
    runs = scores.values.reshape(len(scores.seeds), -1)
    seeds = ("seed", scores.seeds, runs, reading.all("seed"))
    refuse_summaries(reading, [*((what, names, values, ()) for what, (names, values) in sides.items()), seeds])


def refuse_codes(reading: Reading, sides: dict[str, tuple[list[str], NDArray[np.float64]]]) -> None:
    """Raise a question about an outlying number of a task, of a system or of all: -1, 999.

    Raises
    ------
    Unread
    """
    if any(not word or re.fullmatch(NUMBER, word) for word in reading.words.get("missing", ())):
        return
    for what, (names, values) in sides.items():
        groups = [("", values.reshape(1, -1))] if what == "task" else []
        for side, some in (*groups, (what, values)):
            for at in np.flatnonzero(_perhaps_code(some)):
                numbers = np.unique(some[at][~np.isnan(some[at])])
                if (odd := codes_among(numbers.tolist())) and odd != [0]:  # runs that failed are noted
                    where = f" of the {side} {short_repr(names[at])}" if side else ""
                    count = count_text(int(np.isin(values, odd).sum()), "score")
                    said = f"{'is' if len(odd) == 1 else 'are'} {count}{where}"
                    rest = [number for number in numbers if number not in odd]
                    raise code_question(odd, said, rest, "says that these scores are missing")


def _perhaps_code(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether a row may have a code: a negative number, one of nines alone, or a huge one."""
    gone = np.isnan(values)
    least, most = np.where(gone, np.inf, values).min(axis=1), np.where(gone, -np.inf, values).max(axis=1)
    return np.asarray((least < 0) | np.isin(most, 10.0 ** np.arange(1, 16) - 1) | (most > 1e30))


def refuse_index(reading: Reading, scores: TaskScores) -> None:
    """Raise a question about a task that numbers the systems from 0 or 1: an index, or a place.

    Raises
    ------
    Unread
    """
    if len(scores.seeds) > 1 or len(scores.tasks) < 2:
        return
    values = np.sort(np.abs(scores.values[0]), axis=1)  # missing ones are last
    count = (~np.isnan(values)).sum(axis=1)
    place = np.arange(values.shape[1])
    there = place < count[:, None]
    hits = (count > 2) & np.any([((values == place + first) | ~there).all(axis=1) for first in (0, 1)], axis=0)
    hits &= np.array([not is_kept(reading, task) for task in scores.tasks], np.bool_)
    if not hits.any() or (hits.all() and scores.all_less):
        return
    rest = values[~hits & (count > 0)]
    rest = rest[~np.isnan(rest)]
    if len(rest) and (rest == np.round(rest)).all():
        # Of whole numbers from 0 to the largest some tasks have each once by chance.
        k, most = int(count[hits].max()), max(float(rest.max()), 1.0)
        if len(scores.tasks) * np.exp(np.log(np.arange(1, k + 1) / (most + 1)).sum()) > _CHANCE:
            return
    task = scores.tasks[int(np.argmax(hits))]
    if hits.all():
        message = "all tasks number the systems, as places do"
        how = f"{option('columns', 'keep=*')} says that these are scores"
        step = f"losses=NAME (or loss=NAME) says that less is better; {how}"
    else:
        message = f"the task {short_repr(task)} numbers the systems, as a place or an index does"
        step = f"{leaving_out((), task)}; {keeping(task)} says that it is a task"
    raise Unread(message, step, code="index", column=task)


def refuse_twins(reading: Reading, tasks: Sequence[str]) -> None:
    """Raise a question about tasks called as others with one ending, as ``arc_stderr`` beside ``arc``: errors, bounds.

    Raises
    ------
    Unread
    """
    names, twins = {*tasks}, dict[str, list[str]]()
    for task in tasks:
        for mark in re.finditer(r"[^0-9A-Za-z]", task):
            if task[: mark.start()] in names and not is_kept(reading, task):
                twins.setdefault(task[mark.start() :], []).append(task)
    for end, found in twins.items():
        if len(found) > 1:
            said = (
                f"{listed(found, _NAMED)} are called as other tasks, with {end!r} behind: are they errors, or bounds?"
            )
            step = f"{leaving_out((), *found)}; {keeping(*found)} says that they are tasks"
            raise Unread(said, step, code="twins", column=found[0])


def score_notes(scores: TaskScores) -> list[str]:
    """Return notes on tasks that run against the others, and on scores far apart from the others of their task."""
    return [*_against(scores), *_far_scores(scores)]


def _against(scores: TaskScores) -> list[str]:
    """Return texts on tasks that order systems against the mean rank on the other tasks."""
    complete = np.asarray(scores.present.all(axis=1))
    tasks = [task for task, whole in zip(scores.tasks, complete, strict=True) if whole]
    if not 3 <= len(tasks) <= _COMPARED or len(scores.systems) < 4:
        return []
    means = np.nanmean(scores.better[:, complete], axis=0)
    ranks = pl.DataFrame(means, tasks, orient="col").select(pl.all().rank()).to_numpy().T
    rest = (ranks.sum(axis=0) - ranks) / (len(tasks) - 1)
    one, other = (x - x.mean(axis=1, keepdims=True) for x in (ranks, rest))
    size = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    rho = np.divide((one * other).sum(axis=1), size, out=np.zeros(len(tasks)), where=size > 0)
    hits = np.flatnonzero(rho < -max(0.5, 1.645 / np.sqrt(len(scores.systems) - 1)))
    if not len(hits) or len(hits) > max(1, len(tasks) // 5):
        return []
    names = [tasks[at] for at in hits]
    return [f"{listed(names, _NAMED)} runs against the other tasks: is it said rightly which way is better there?"]


def _far_scores(scores: TaskScores) -> list[str]:
    """Return texts on scores that are outliers in their task, and on zeros without near scores."""
    by_task = scores.values.transpose(1, 0, 2).reshape(len(scores.tasks), -1)
    ordered = np.sort(by_task, axis=1)  # missing ones are last
    count = (~np.isnan(ordered)).sum(axis=1)
    four = np.flatnonzero(count > 3)
    if not len(four):
        return []
    some, last = ordered[four], count[four] - 1
    at = np.arange(len(four))
    low, second = some[:, 0], some[:, 1]
    high, before = some[at, last], some[at, last - 1]
    far_low = (second - low > 2 * (high - second)) & (high > second)
    far_high = (high - before > 2 * (before - low)) & (before > low)
    zero = (by_task[four] == 0).sum(axis=1)
    full = np.where(by_task[four] == 0, np.nan, by_task[four])
    found = []
    for k in np.flatnonzero(far_low | far_high | (zero > 0)):
        odd = float(low[k] if far_low[k] else high[k])
        if not (far_low[k] or far_high[k]) or zero[k] > 1:
            rest = full[k][~np.isnan(full[k])]
            alone = len(rest) > 2 * zero[k] and np.abs(rest).min() > np.ptp(rest) > 0
            if not (zero[k] and alone and (rest > 0).all() | (rest < 0).all()):
                continue
            odd = 0.0
        system = scores.systems[int(np.flatnonzero(by_task[four[k]] == odd)[0]) % len(scores.systems)]
        found.append(f"{short_repr(system)} has {odd:g} on {short_repr(scores.tasks[four[k]])}")
    if not found or len(found) > max(_NAMED, len(scores.tasks) // 50):
        return []
    more = f", and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    return [f"scores stand far apart from all others of their task: {'; '.join(found[:_NAMED])}{more}. Did these run?"]
