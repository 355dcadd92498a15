"""Figures: data of the contenders that are in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Layout, Split
from rankbench.kinds.figure import Drawing
from rankbench.kinds.metric import Metric
from rankbench.kinds.results import CurveIntervals, PairedIntervals
from rankbench.kinds.suite import Figure
from rankbench.stats.draw_intervals import MeanIntervals, mean_intervals
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed
from rankbench.testing.subjects import Subject

_LABELS = ("one", "two", "three")


@dataclass(frozen=True)
class _Arm:
    label: str
    order: int
    status: str = "done"
    config: dict[str, Any] = field(default_factory=dict)
    equals: str = ""

    @property
    def racing(self) -> bool:
        return self.status == "done"

    finished = racing


@dataclass(frozen=True)
class _Race:
    n: int
    n_declared: int
    arms: tuple[_Arm, ...]
    repetitions: tuple[int, ...] = (0, 1, 2, 3, 4)

    @property
    def racing(self) -> tuple[_Arm, ...]:
        return tuple(arm for arm in self.arms if arm.racing)


class _Trial:
    """Three contenders at two n, one of which failed at the larger."""

    metrics = ("first", "second")
    splits: tuple[Split, ...] = ("design", "heldout")
    added: frozenset[str] = frozenset()
    layout: Layout = "race"
    counts = "judgments"

    def __init__(self) -> None:
        arms = [_Arm(label, i) for i, label in enumerate(_LABELS)]
        late = [*arms[:2], _Arm(_LABELS[2], 2, "error")]
        self.races = (_Race(100, 100, tuple(arms)), _Race(1000, 1000, tuple(late)))

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


def _drawn(subject: Subject) -> tuple[set[str], Drawing]:
    figure = Figure(file="figure", kind=subject.it.name)
    cast = subject.it.cast(figure, _Trial())
    known = {omission.label for omission in cast.left_out}
    if missing := [label for label in _LABELS if label not in {*cast.names, *known}]:
        raise CheckFailed(f"contender {missing[0]!r} is neither in the figure nor left out of it")
    if cast.file != figure.file:
        raise CheckFailed(f"the cast is of the figure {cast.file!r}, not of {figure.file!r}")
    return set(cast.names), subject.it.drawing(figure, _Trial(), cast)


@conformance_check("figure")
def draws_who_is_in_it(subject: Subject) -> None:
    """Everything in the drawing has the name of a series; every contender is in the figure or left out of it."""
    names, drawing = _drawn(subject)
    if not isinstance(drawing, Drawing):
        raise CheckFailed(f"`drawing` returns a {type(drawing).__name__}, not a Drawing")
    plots = [plot for row in drawing.plots for plot in row]
    lines = [line.name for plot in plots for line in plot.lines]
    levels = [level.name for plot in plots for level in plot.levels]
    dots = [dot.name for plot in plots for dot in plot.dots]
    strangers = [name for name in (*lines, *levels, *dots) if name not in names]
    if strangers:
        raise CheckFailed(f"{strangers[0]!r} is drawn, but is not among the cast's names")


@conformance_check("figure")
def rows_of_plots_are_of_one_length(subject: Subject) -> None:
    """Plots stand in rows of one length, and the arrays of a line have one shape."""
    _, drawing = _drawn(subject)
    if len({len(row) for row in drawing.plots}) > 1:
        raise CheckFailed(f"rows have {sorted({len(row) for row in drawing.plots})} plots")
    for line in (line for row in drawing.plots for plot in row for line in plot.lines):
        shapes = {np.shape(getattr(line, name)) for name in ("x", "y", "lower", "upper")}
        if len(shapes) > 1 or len(shapes.pop()) != 1:
            raise CheckFailed(f"x, y, lower and upper of the line {line.name!r} are not of one length")
