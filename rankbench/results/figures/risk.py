"""Risk against a parameter, as in the paper's figures 3 and 4: a column for each n, a row for each split."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankbench.results.figures.lines import line_names, lines, matches
from rankbench.results.figures.scale import LogAxis
from rankbench.results.figures.style import Look, look, safe, subtitle, thousands
from rankbench.results.sample import Arm, Race, Sampler
from rankbench.results.schema import Split
from rankbench.results.stats.draws import MeanIntervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from rankbench.suites.schema import Figure

__all__ = ["draw_risk"]

_HOLLOW = "hollow: the same as k = ∞"
_PARAMETER_WORDS = {"k": "order of aggregation k", "lambda": "regularization λ"}


def draw_risk(sampler: Sampler, figure: Figure) -> Canvas:
    """Draw mean loss against `figure.parameter`.

    The parameter's axis is logarithmic; infinity is a tick of its own behind a gap.
    Bands are t intervals over draws, as in the paper. Cells that equal order infinity
    have hollow markers.
    """
    from matplotlib.figure import Figure as Canvas

    splits, races = sampler.source.shown_splits(), sampler.races
    groups = [lines(race, figure.series, figure.parameter) for race in races]
    names: dict[str, str] = {}
    for group in groups:
        names = line_names(group, figure.parameter) | names
    axis = LogAxis.of(value for group in groups for points in group.values() for value, _ in points)
    single = len(races) == 1
    rows, columns = (1, len(splits)) if single else (len(splits), len(races))
    canvas = Canvas(figsize=(max(2.8 * columns + 0.7, 6.4), 2.3 * rows + 1.35), layout="constrained")
    grid = canvas.subplots(rows, columns, squeeze=False, sharex=True, sharey=False if single else "row")
    for r, split in enumerate(splits):
        for c, race in enumerate(races):
            axes = grid[0][r] if single else grid[r][c]
            _panel(axes, sampler, figure, race, split, groups[c], names, axis)
            if single:
                axes.set_title(f"{safe(sampler.source.short(split))}, {thousands(race.n)}")
            elif r == 0:
                axes.set_title(thousands(race.n))
            if single or r == rows - 1:
                axes.set_xlabel(_PARAMETER_WORDS.get(figure.parameter, safe(figure.parameter)))
            if c == 0:
                words = _risk_words(sampler)
                axes.set_ylabel(words if single else f"{words},\n{safe(sampler.source.short(split))}")
    _legend(canvas, grid, [safe(name) for name in names.values()], 3 if columns < 3 else 5)
    canvas.suptitle(subtitle(sampler, figure, races), fontsize=10)
    return canvas


def _risk_words(sampler: Sampler) -> str:
    metric = safe(sampler.metrics[0])
    name = metric.upper() if metric.isalpha() else metric
    return f"{name} risk" if sampler.source.direction(sampler.metrics[0]) == "minimize" else f"mean {name}"


def _legend(canvas: Canvas, grid: NDArray[Any], names: list[str], columns: int) -> None:
    """Put one legend under all panels: lines, references, and what hollow markers are."""
    handles = {
        label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if not handles:
        return
    first = [name for name in dict.fromkeys(names) if name in handles]
    rest = [label for label in handles if label not in first and label != _HOLLOW]
    order = [*first, *rest, *([_HOLLOW] if _HOLLOW in handles else [])]
    canvas.legend(
        [handles[label] for label in order], order, loc="outside lower center", ncols=min(len(order), columns)
    )


def _panel(
    axes: Axes,
    sampler: Sampler,
    figure: Figure,
    race: Race,
    split: Split,
    group: dict[str, list[tuple[float, Arm]]],
    names: dict[str, str],
    axis: LogAxis,
) -> None:
    metric = sampler.metrics[0]
    references = [arm for arm in race.racing if matches(arm.member.label, figure.references)]
    for i, arm in enumerate(references):
        style = look(len(names) + i)
        found = sampler.intervals([arm], metric, split, race.repetitions, figure.level)
        axes.axhline(found.mean[0], color=style.color, linestyle=style.dashes, label=safe(arm.member.label))
        if math.isfinite(found.lower[0]):
            axes.axhspan(found.lower[0], found.upper[0], color=style.color, alpha=0.18, linewidth=0)
    for key, points in group.items():
        racing = [(value, arm) for value, arm in points if arm.racing]
        if racing and race.repetitions:
            found = sampler.intervals([arm for _, arm in racing], metric, split, race.repetitions, figure.level)
            _line(axes, axis, racing, found, names[key], look(list(names).index(key)))
    axis.ticks(axes)


def _line(
    axes: Axes,
    axis: LogAxis,
    points: Sequence[tuple[float, Arm]],
    found: MeanIntervals,
    name: str,
    style: Look,
) -> None:
    """Draw a line with its band; to infinity it is dotted, and the band is a bar of its own."""
    x = np.array([axis.places[value] for value, _ in points])
    inner = np.array([math.isfinite(value) and value > 0 for value, _ in points])
    hollow = np.array([bool(arm.equals) for _, arm in points])
    axes.plot(x, found.mean, color=style.color, linestyle=":", linewidth=1)
    axes.plot(x[inner], found.mean[inner], color=style.color, linestyle=style.dashes)
    axes.plot(x[~hollow], found.mean[~hollow], style.marker, color=style.color)
    axes.plot(x[hollow], found.mean[hollow], style.marker, color=style.color, markerfacecolor="white", zorder=3)
    axes.plot([], [], color=style.color, linestyle=style.dashes, marker=style.marker, label=safe(name))
    if hollow.any():
        axes.plot([], [], "o", color="#555555", markerfacecolor="white", label=_HOLLOW)
    if not np.isfinite(found.lower).all():
        return
    band: dict[str, Any] = {"color": style.color, "alpha": 0.2, "linewidth": 0}
    axes.fill_between(x[inner], found.lower[inner], found.upper[inner], **band)
    for i in np.flatnonzero(~inner):
        axes.fill_between([x[i] - 0.1, x[i] + 0.1], found.lower[i], found.upper[i], **band)
