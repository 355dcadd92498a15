"""Checks try protocols, suites, claims and figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankbench.core.code_digest import OURSELVES
from rankbench.core.component import union_types
from rankbench.errors import RankbenchError
from rankbench.interfaces.cell import BlockKey, CellResult, Split
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.figure import ContenderResults, CurveIntervals, Drawing, ExperimentResults, MatchedResults
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.interfaces.suite import Figure
from rankbench.plugin import manager
from rankbench.plugin.registry import base_of
from rankbench.runner.experiment_check import check_suite
from rankbench.stats.contrasts import MeanIntervals, PairedIntervals, mean_intervals
from rankbench.suites.suite_files import load_suite, read_suite
from rankbench.testing.check import CheckFailed, CheckSkipped, Subject, conformance_check


@conformance_check("protocol")
def judged_on_something(subject: Subject) -> None:
    """There is at least one split with a title; metrics and curves say which way is better, curves on which split."""
    it = subject.it
    if not it.splits or not all(isinstance(title, str) and title.strip() for title in it.splits.values()):
        raise CheckFailed("`splits` names no set of units to judge on, or leaves out its title")
    for metric in it.metrics:
        _check_metric(metric)
    for metric, (split, direction) in it.curves.items():
        if split not in it.splits or direction not in ("minimize", "maximize"):
            raise CheckFailed(
                f"the curve {metric!r} is of the split {split!r} and the direction {direction!r}; name one of "
                f"{', '.join(it.splits)}, and 'minimize' or 'maximize'"
            )
    if it.test_share is not None and not 0 < it.test_share < 1:
        raise CheckFailed(f"`test_share` is {it.test_share}, not a share")


def _check_metric(metric: Metric) -> None:
    low = -math.inf if metric.low is None else metric.low
    high = math.inf if metric.high is None else metric.high
    level = metric.chance
    if not low < high or (level is not None and not (math.isfinite(level) and low <= level <= high)):
        raise CheckFailed(
            f"metric {metric.name!r} has the range [{low}, {high}] and the chance level {level}: the one must "
            "not be empty, and the other a number in it"
        )


@conformance_check("protocol")
def says_what_it_assumes(subject: Subject) -> None:
    """`assumptions` is a list of sentences."""
    found = subject.it.assumptions()
    if not isinstance(found, list) or not all(isinstance(text, str) and text.strip() for text in found):
        raise CheckFailed("assumptions() is no list of sentences")


FEW = 20
"""Judgments of the block that is tried."""


@conformance_check("protocol")
def blocks_are_judged_alike(subject: Subject) -> None:
    """A small block of a protocol without data has losses in their ranges, the same again, and without neighbors."""
    it = subject.it
    if it.table is not None or not it.metrics:
        raise CheckSkipped("it needs data, or losses that a suite names")
    prepared = it.prepare(None, 1)
    base = base_of(it.contender)
    tried = (manager.get(base, name) for name in manager.names(it.contender))
    ours = [one for one in tried if manager.origin(one.kind, one.name).distribution == OURSELVES]
    fitting = [one for one in ours if not it.misfit(one)]
    if len(fitting) < 2:
        raise CheckSkipped(f"it refuses nearly every {it.contender} of rankbench")
    cells = {str(place): Contender.single(one) for place, one in enumerate(fitting[:2])}
    task = BlockTask(BlockKey(str(it), "", FEW, 0, 1), 0, it.metric_names(), cells)
    whole = {result.cell: result for result in it.execute(prepared, task)}
    again = [*it.execute(prepared, task), *it.execute(prepared, replace(task, cells={"1": cells["1"]}))]
    others = {
        result.cell: result for result in it.execute(prepared, replace(task, key=replace(task.key, repetition=1)))
    }
    if list(whole) != list(cells):
        raise CheckFailed(f"of the cells {list(cells)} there are results of {list(whole)}")
    for result in again:
        _same_cells(result, whole[result.cell], str(cells[result.cell]))
    for result in whole.values():
        _losses_fit(result, prepared)
    judged = [at for at in cells if whole[at].losses]
    if judged and it.layout == "race" and all(_same_losses(others[at], whole[at]) for at in judged):
        raise CheckFailed(
            "another repetition has the same losses: copies are no repetitions; draw from the block's key"
        )


def _same_cells(found: CellResult, expected: CellResult, label: str) -> None:
    """Raise unless a contender has the same losses once more, or without its neighbor."""
    if not _same_losses(found, expected):
        raise CheckFailed(f"{label}: the block again, or without the other contender, has other losses")


def _same_losses(found: CellResult, expected: CellResult) -> bool:
    return all(
        np.array_equal(found.losses.get(place, np.zeros(0)), losses, equal_nan=True)
        for place, losses in expected.losses.items()
    )


def _losses_fit(result: CellResult, prepared: Prepared) -> None:
    """Raise unless each unit has a loss in the range of its metric."""
    metrics = {metric.name: metric for metric in prepared.metrics}
    if result.status == "skipped":
        return
    if result.status != "done" or {name for name, _ in result.losses} != {*metrics}:
        raise CheckFailed(f"a cell is {result.status} {result.reason}, with losses of {sorted({*result.losses})}")
    for (name, split), losses in result.losses.items():
        if name not in metrics or losses.shape != (len(prepared.units.get(split, ())),):
            raise CheckFailed(f"losses {name!r} of {split!r} have shape {losses.shape}, or the metric is not declared")
        low, high = metrics[name].ends
        inside = (losses >= (-math.inf if low is None else low)) & (losses <= (math.inf if high is None else high))
        if not inside.all():
            raise CheckFailed(f"{name}: {losses[~inside][0]:.6g} is outside of [{low}, {high}]")


@conformance_check("suite")
def loads(subject: Subject) -> None:
    """The file, and what it includes, are suites; what they name is there and fits: components, data, labels, n."""
    try:
        suite = load_suite(str(subject.it))
        check_suite(suite)
    except RankbenchError as error:
        raise CheckFailed(str(error)) from error
    if suite.name != subject.it.stem:
        raise CheckFailed(f"the suite's name is {suite.name!r}, its file's is {subject.it.stem!r}")


@conformance_check("suite")
def tells_what_it_is(subject: Subject) -> None:
    """The suite and each of its experiments have a title."""
    suite = read_suite(subject.it)
    if not suite.experiments and not suite.include:
        raise CheckSkipped("it has no experiments")
    for name, title in [(suite.name, suite.title), *((e.name, e.title) for e in suite.experiments)]:
        if not title.strip():
            raise CheckFailed(f"{name!r} has no title")


def _intervals() -> tuple[np.ndarray, np.ndarray]:
    edges = np.array([-20.0, -1.0, -0.01, 0.0, 0.01, 1.0, 20.0])
    lower, upper = np.triu_indices(len(edges))
    return edges[lower], edges[upper]


@conformance_check("claim")
def sides_exclude_each_other(subject: Subject) -> None:
    """No interval lies on the claimed side and on the other one; where there is none, it lies on neither."""
    it, (lower, upper) = subject.it, _intervals()
    claimed, opposed = (np.asarray(side(lower, upper)) for side in (it.claimed, it.opposed))
    if claimed.shape != lower.shape or opposed.shape != lower.shape:
        raise CheckFailed(f"of {len(lower)} intervals the sides have shapes {claimed.shape} and {opposed.shape}")
    both = np.flatnonzero(claimed & opposed)
    if len(both):
        raise CheckFailed(f"[{lower[both[0]]:g}, {upper[both[0]]:g}] lies on both sides")
    # With a margin of 0 nothing may be claimed.
    numbers = [at for name, at in it.attributes().items() if float in union_types(it.parameters()[name].annotation)]
    wide = it.model_copy(update=dict.fromkeys(numbers, 0.5)).claimed(lower, upper)
    for side, lies in {"claimed": claimed | wide, "other": opposed}.items():
        if not lies.any() or lies.all():
            raise CheckFailed(f"{'all' if lies.any() else 'none'} of {len(lower)} intervals lie on the {side} side")
    missing = np.full(2, np.nan)
    if it.claimed(missing, missing).any() or it.opposed(missing, missing).any():
        raise CheckFailed("an interval that is not known, nan, lies on a side")


@conformance_check("claim")
def shorter_intervals_stay_on_their_side(subject: Subject) -> None:
    """An interval inside one that lies on the claimed side lies there too."""
    lower, upper = _intervals()
    claimed = np.asarray(subject.it.claimed(lower, upper))
    inside = (lower[:, None] <= lower) & (upper <= upper[:, None])
    outer, inner = np.nonzero(inside & claimed[:, None] & ~claimed[None, :])
    if len(outer):
        i, j = outer[0], inner[0]
        raise CheckFailed(
            f"[{lower[i]:g}, {upper[i]:g}] lies on the claimed side, [{lower[j]:g}, {upper[j]:g}] inside it does not"
        )


@conformance_check("claim")
def tells_what_is_measured(subject: Subject) -> None:
    """It says in a sentence what its intervals are of."""
    said = subject.it.measured()
    if not isinstance(said, str) or not said.strip().endswith("."):
        raise CheckFailed(f"`measured()` is no sentence: {said!r}")


_LABELS = ("one", "two", "three")


def _compared(n: int, *failed: str) -> MatchedResults:
    contenders = []
    for i, one in enumerate(_LABELS):
        done = one not in failed
        contenders.append(ContenderResults(one, i, {}, "done" if done else "error", done, done, ""))
    return MatchedResults(n, n, tuple(contenders), (0, 1, 2, 3, 4))


class _Trial(ExperimentResults):
    """Results of three contenders at two n; one contender failed at the larger n."""

    def __init__(self) -> None:
        by_n = _compared(100), _compared(1000, _LABELS[2])
        super().__init__(("first", "second"), ("design", "heldout"), by_n, frozenset(), "race", "judgments")

    def metric(self, name: str) -> Metric:
        return Metric(name, "minimize" if name == "first" else "maximize")

    def units(self, split: Split) -> Sequence[str]:
        return ("a", "b", "c")

    def split_title(self, split: Split) -> str:
        return f"{split} units"

    def intervals(self, n: int, labels: Sequence[str], metric: str, split: Split, level: float) -> MeanIntervals:
        draws = np.random.default_rng(n).uniform(0.2, 0.8, (5, len(_LABELS)))
        return mean_intervals(draws[:, [_LABELS.index(label) for label in labels]], level)

    def values(self, n: int, label: str, metric: str, split: Split) -> NDArray[np.float64]:
        return np.array([0.1, 0.2, 0.3]) * (1 + _LABELS.index(label))

    def differences(
        self, n: int, labels: Sequence[str], base: str, metric: str, split: Split, level: float
    ) -> PairedIntervals:
        means = self.intervals(n, [base, *labels], metric, split, level)
        estimate = means.mean[1:] - means.mean[0]
        return PairedIntervals(estimate, estimate - 0.1, estimate + 0.1, "95% intervals")

    def curve(self, n: int, label: str, metric: str, level: float, *, per_decade: int = 0) -> CurveIntervals | None:
        return None


def _drawn(subject: Subject) -> Drawing:
    drawing = subject.it.drawing(Figure(file="figure", kind=subject.it.name), _Trial())
    if not isinstance(drawing, Drawing):
        raise CheckFailed(f"`drawing` returns a {type(drawing).__name__}, not a Drawing")
    return drawing


@conformance_check("figure")
def draws_who_is_in_it(subject: Subject) -> None:
    """Everything in the drawing has the name of a series; every contender is in the figure or left out of it."""
    drawing = _drawn(subject)
    known = {*drawing.names, *(omission.label for omission in drawing.left_out)}
    if missing := [label for label in _LABELS if label not in known]:
        raise CheckFailed(f"contender {missing[0]!r} is neither in the figure nor left out of it")
    plots = [plot for row in drawing.plots for plot in row]
    drawn = [mark.name for plot in plots for marks in (plot.lines, plot.levels, plot.dots) for mark in marks]
    if strangers := [name for name in drawn if name not in drawing.names]:
        raise CheckFailed(f"{strangers[0]!r} is drawn, but is not among the drawing's names")


@conformance_check("figure")
def rows_of_plots_are_of_one_length(subject: Subject) -> None:
    """Plots stand in rows of one length, and the arrays of a line have one shape."""
    drawing = _drawn(subject)
    if len({len(row) for row in drawing.plots}) > 1:
        raise CheckFailed(f"rows have {sorted({len(row) for row in drawing.plots})} plots")
    for line in (line for row in drawing.plots for plot in row for line in plot.lines):
        shapes = {np.shape(getattr(line, name)) for name in ("x", "y", "lower", "upper")}
        if len(shapes) > 1 or len(shapes.pop()) != 1:
            raise CheckFailed(f"x, y, lower and upper of the line {line.name!r} are not of one length")
