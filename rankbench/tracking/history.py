"""The history keeps past runs, tells what changed, and draws it."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from rankbench.core.component import first_problem
from rankbench.core.system import replace_file
from rankbench.drawing.canvas import TitledDrawing
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.figure import Drawing, Line, Plot
from rankbench.interfaces.suite import matches
from rankbench.reports.experiment_data import ExperimentData, experiment_data_of
from rankbench.store.published import holds_results, open_results, sha256
from rankbench.tracking.change_points import ChangePoint, change_points
from rankbench.tracking.timings import has_timings, read_timings
from rankbench.tracking.turns import launch_log_ratios


class HistoryValue(BaseModel):
    """A number that is watched.

    Attributes
    ----------
    name : str
        Name of the series, as ``arena/methods/n=8931/win-rate/log-loss/heldout``; with the data's sha256, so that other
        data are another series.
    value : float
    direction : {"minimize", "maximize"}
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=1000)
    value: float = Field(allow_inf_nan=False)
    direction: Literal["minimize", "maximize"] = "minimize"


class HistoryEntry(BaseModel):
    """Record of a run.

    Attributes
    ----------
    commit : str
    date : datetime
        With its time zone.
    machine : str
        Class of processor: numbers of two classes are never one series.
    values : tuple of HistoryValue
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    commit: str = Field(pattern="^[0-9A-Za-z._-]{4,64}$")
    date: AwareDatetime
    machine: str = Field(min_length=1, max_length=500)
    values: tuple[HistoryValue, ...] = Field(min_length=1)


class Series(NamedTuple):
    """One number over commits, on one class of machine.

    Attributes
    ----------
    name, machine : str
    direction : {"minimize", "maximize"}
    commits : list of str
    dates : list of datetime
    values : list of float
    changes : list of ChangePoint
    """

    name: str
    machine: str
    direction: str
    commits: list[str]
    dates: list[datetime]
    values: list[float]
    changes: list[ChangePoint]

    def worse(self, change: ChangePoint) -> bool:
        """Return whether a change is for the worse."""
        return (change.after > change.before) == (self.direction == "minimize")

    def told(self, change: ChangePoint) -> str:
        """Return a text on a change: its size, its direction, and its commits."""
        share = f" ({(change.after / change.before - 1):+.1%})" if change.before else ""
        commits = _shortened(self.commits)
        where = f"at {commits[change.at]}"
        if change.low < change.high:
            where += f", after {commits[max(change.low - 1, 0)]} and not after {commits[change.high]} (95%)"
        way = "worse" if self.worse(change) else "better"
        return f"{way} {where}: {change.before:.6g} became {change.after:.6g}{share}"


def _shortened(commits: list[str]) -> list[str]:
    """Return the first characters of commits: twelve, or as many more as make them distinct."""
    fewest = next((n for n in range(12, 64) if len({one[:n] for one in commits}) == len(set(commits))), None)
    return [one[:fewest] for one in commits]


class History(NamedTuple):
    """The requested series of a history, and its number of entries."""

    series: list[Series]
    entries: int


def entry_of(result: Path, commit: str, date: datetime) -> HistoryEntry:
    """Return a run's entry in the history.

    Parameters
    ----------
    result : Path
        Folder of a run, a published one, or one of `rankbench time`, whose times are kept as ratios to the reference of
        their job.
    commit : str
    date : datetime

    Raises
    ------
    InputError
        There is nothing to keep.
    StoreError
        The folder has no results.
    SpecError
        A commit or a date that is none.
    """
    values, machine = list[HistoryValue](), ""
    timed = has_timings(result)
    if holds_results(result) or not timed:
        values, machine = _qualities(result)
    if timed:
        times, machine = _speeds(result)
        values += times
    if not values:
        raise InputError(f"{result}: there is nothing to keep: no contender has finished, and nothing was timed")
    try:
        return HistoryEntry(commit=commit, date=date, machine=machine or "unknown", values=tuple(values))
    except ValidationError as error:
        where, why = first_problem(error)
        raise SpecError(f"no entry of a history can be made of it ({where}: {why})") from error


def _speeds(result: Path) -> tuple[list[HistoryValue], str]:
    """Return the ratios of times to the reference of their job, medians over launches."""
    timings = read_timings(result)
    suite, reference = timings.facts.suite, timings.facts.reference
    values = [
        HistoryValue(
            name=f"{suite}/{cell.experiment}/n={cell.n}/{cell.contender}/time / reference {reference}",
            value=math.exp(float(np.median(launch_log_ratios(seconds, timings.reference)))),
        )
        for cell, seconds in timings.seconds.items()
    ]
    return values, timings.facts.machine


def _qualities(result: Path) -> tuple[list[HistoryValue], str]:
    """Return the means of a leaderboard and the class of processor; no interval is worked out."""
    with open_results(result) as results:
        record = results.record()
        by_n = [data for data in experiment_data_of(results) if data.source.layout == "race"]
        return [value for data in by_n for value in _means(data, record.name)], record.cpu


def _means(data: ExperimentData, suite: str) -> Iterator[HistoryValue]:
    """Yield the mean of each row of an experiment's standings that has one."""
    source = data.source
    about = f"@{source.fingerprint[:8]}" if source.dataset else ""
    for matched, metric, split in itertools.product(data.by_n, data.metrics, source.shown_splits()):
        for runs in matched.contenders:
            repetitions = matched.repetitions if runs.compared else sorted(runs.done)
            if not repetitions:
                continue
            mean = float(data.means(runs, metric, split, repetitions).mean())
            if not math.isnan(mean):
                name = "/".join((suite + about, data.experiment.name, f"n={matched.n}", runs.label, metric, split))
                yield HistoryValue(name=name, value=mean, direction=source.direction(metric))


def add_entry(folder: Path, entry: HistoryEntry) -> Path:
    """Append an entry; existing entries never change.

    Returns
    -------
    Path
        ``DATE-COMMIT-DIGEST.json``; that of an equal entry, if there is one.
    """
    data = (entry.model_dump_json(indent=1) + "\n").encode()
    stamp = entry.date.strftime("%Y%m%dT%H%M%S")
    path = folder / f"{stamp}-{entry.commit[:12]}-{sha256(data)[:8]}.json"
    return path if path.exists() else replace_file(path, data)


def read_history(folder: Path, patterns: Sequence[str] = (), alpha: float = 0.05) -> History:
    """Read a history and find the changes in each of its series.

    Parameters
    ----------
    folder : Path
    patterns : sequence of str
        Names of series, ``*`` stands for anything; all by default.
    alpha : float, in (0, 1)
        Chance that any change is found where none is, over all series that are shown.

    Raises
    ------
    InputError
        The folder has no entries, or a file that is none: names it.
    """
    entries = []
    for path in sorted(folder.glob("*.json")):
        try:
            entries.append(HistoryEntry.model_validate_json(path.read_bytes()))
        except (OSError, ValidationError) as error:
            why = ": ".join(first_problem(error)) if isinstance(error, ValidationError) else str(error)
            raise InputError(f"{path}: it is no entry of a history ({why})") from error
    if not entries:
        raise InputError(f"{folder}: the history is empty; add a run to it: rankbench history add RESULT --to {folder}")
    entries.sort(key=lambda entry: (entry.date, entry.commit))
    runs: dict[tuple[str, str], list[tuple[HistoryEntry, HistoryValue]]] = defaultdict(list)
    for entry in entries:
        for value in entry.values:
            if not patterns or matches(value.name, patterns):
                runs[value.name, entry.machine].append((entry, value))
    series = []
    for (name, machine), own in sorted(runs.items()):
        values = [value.value for _, value in own]
        found = change_points(np.array(values), alpha / len(runs))
        commits, dates = [entry.commit for entry, _ in own], [entry.date for entry, _ in own]
        series.append(Series(name, machine, own[-1][1].direction, commits, dates, values, found))
    return History(series, len(entries))


LONGEST_TITLE = 44
"""Characters of a line above a series' chart: a phone has room for them."""

MOST_SHOWN = 24
"""Series in a figure: those that changed come first."""


_EACH, _LEVEL, _WORSE, _BETTER = "each run", "level", "change to the worse", "change to the better"
"""Series of a plot: runs, their medians between changes, and the places of changes."""


def history_figure(series: Sequence[Series]) -> TitledDrawing:
    """Return a history as a figure: a panel a series, with a band where a change may lie."""
    shown = sorted(series, key=lambda one: not one.changes)[:MOST_SHOWN]
    changed = sum(bool(one.changes) for one in series)
    more = f", {len(shown)} of them shown" if len(shown) < len(series) else ""
    words = f"{changed} of {len(series)} series changed{more}" + "\nbands: where a change may lie (95%)" * bool(changed)
    plots = tuple((_series_plot(one),) for one in shown)
    return TitledDrawing(Drawing(plots, (_EACH, _LEVEL, _BETTER, _WORSE), size=(5.7, 1.8)), words)


def _series_plot(one: Series) -> Plot:
    values, when = np.array(one.values), f"{one.dates[0]:%Y-%m-%d}"
    edges = [0, *(change.at for change in one.changes), len(values)]
    levels = [(low - 0.5, high - 0.5, np.median(values[low:high])) for low, high in itertools.pairwise(edges)]
    x = [place for low, high, _ in levels for place in (low, high, math.nan)]
    y = [place for _, _, level in levels for place in (level, level, math.nan)]
    lines = [Line(_EACH, np.arange(len(values), dtype=np.float64), values, *_nothing(len(values)))]
    lines.append(Line(_LEVEL, np.array(x), np.array(y), *_nothing(len(x))))
    for change in one.changes:
        ends, sides = np.array([change.low - 0.5, change.high + 0.5]), np.repeat([[values.min()], [values.max()]], 2, 1)
        lines.append(Line(_WORSE if one.worse(change) else _BETTER, ends, *_nothing(2)[:1], *sides))
    return Plot(
        "\n".join(textwrap.wrap(f"{one.name} ({one.machine})", LONGEST_TITLE)),
        f"runs from {when} to {one.dates[-1]:%Y-%m-%d}"
        if len(values) > 1
        else f"one run, {when}: nothing to compare it with yet",
        "less is better" if one.direction == "minimize" else "more is better",
        tuple(lines),
    )


def _nothing(size: int) -> NDArray[np.float64]:
    return np.full((2, size), math.nan)
