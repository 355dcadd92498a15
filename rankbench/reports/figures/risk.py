"""Risk against a parameter, as in the paper's figures 3 and 4: a column for each n, a row for each split."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Split
from rankbench.reports.figures.cast import Cast, Omission, groups, limited, order_of, unfinished
from rankbench.reports.figures.lines import line_names, lines, matches, parameter_value
from rankbench.reports.figures.scale import LogAxis
from rankbench.reports.figures.style import Look, alike, legend, pages, safe, subtitle, thousands, titles
from rankbench.reports.sample import Arm, Race, Sampler
from rankbench.stats.draws import MeanIntervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from rankbench.kinds.suite import Figure

__all__ = ["cast_risk", "draw_risk"]

_HOLLOW = "hollow: the same as k = ∞"
_PARAMETER_WORDS = {"k": "order of aggregation k", "lambda": "regularization λ"}


class _Parts(NamedTuple):
    """What a figure is made of: points of lines by race and key, names by key, and labels of horizontal lines."""

    lines: list[dict[str, list[tuple[float, Arm]]]]
    names: dict[str, str]
    references: list[str]


def cast_risk(sampler: Sampler, figure: Figure) -> Cast:
    """Return the lines and horizontal lines of a figure; a contender that was added is in or beside one of them."""
    parts, labels = _parts(sampler, figure), order_of(sampler)
    of_line: dict[str, set[str]] = {}
    for found in parts.lines:
        for key, points in found.items():
            of_line.setdefault(parts.names[key], set()).update(arm.member.label for _, arm in points)
    members = of_line | {label: {label} for label in parts.references}
    asked = {label for found in members.values() for label in found}
    status = unfinished(sampler, [label for label in labels if label in asked])
    nowhere = {omission.label for omission in status if not omission.where}
    names, beyond = limited([name for name, found in members.items() if found - nowhere])
    return Cast(
        figure.file,
        names,
        frozenset(name for name in names if members[name] <= sampler.added),
        left_out=(
            *(Omission(label, "", "choice") for label in labels if label not in asked),
            *status,
            *(omission._replace(label=label) for omission in beyond for label in sorted(members[omission.label])),
        ),
    )


def draw_risk(sampler: Sampler, figure: Figure, cast: Cast, looks: Mapping[str, Look]) -> Canvas:
    """Draw mean loss against `figure.parameter`.

    The parameter's axis is logarithmic; infinity is a tick of its own behind a gap.
    Bands are t intervals over draws, as in the paper. Cells that equal order infinity
    have hollow markers. What has no such parameter is a horizontal line.
    """
    from matplotlib.figure import Figure as Canvas

    splits, races, parts = sampler.source.shown_splits(), sampler.races, _parts(sampler, figure)
    axis = LogAxis.of(value for found in parts.lines for points in found.values() for value, _ in points)
    single, together = len(races) == 1, groups(cast.names)
    rows, columns = (1, len(splits)) if single else (len(splits), len(races))
    size = max(2.8 * columns + 0.7, 6.4), (2.3 * rows + 1.35) * len(together)
    canvas = Canvas(figsize=size, layout="constrained")
    shown, found = titles(cast.names), []
    for page, names in zip(pages(canvas, len(together)), together, strict=True):
        grid: NDArray[Any] = page.subplots(rows, columns, squeeze=False, sharex=True, sharey=False if single else "row")
        found.append(list(grid.flat))
        own = {name: (shown[name], looks[name]) for name in names}
        for r, split in enumerate(splits):
            for c, race in enumerate(races):
                axes = grid[0][r] if single else grid[r][c]
                _panel(axes, sampler, figure, race, split, parts, c, own, axis)
        _words(grid, sampler, figure)
        legend(page, grid.flat, last=_HOLLOW)
    if len(together) > 1:
        for same in zip(*found, strict=True):
            alike(same)
    canvas.suptitle(subtitle(sampler, figure, races), fontsize=10)
    return canvas


def _parts(sampler: Sampler, figure: Figure) -> _Parts:
    found = [lines(race, figure.series, figure.parameter, sampler.added) for race in sampler.races]
    merged: dict[str, list[tuple[float, Arm]]] = {}
    for points in found:
        for key, line in points.items():
            known = {arm.member.label for _, arm in merged.setdefault(key, [])}
            merged[key] += [point for point in line if point[1].member.label not in known]
    configs = {arm.member.label: arm.member.config for race in sampler.races for arm in race.arms}
    patterns = (*figure.series, *figure.references)
    references = [
        label
        for label in order_of(sampler)
        if matches(label, figure.references)
        or ((matches(label, patterns) or label in sampler.added)
            and parameter_value(configs[label], figure.parameter) is None)
    ]  # fmt: skip
    return _Parts(found, line_names(merged, figure.parameter, sampler.added, references), references)


def _words(grid: NDArray[Any], sampler: Sampler, figure: Figure) -> None:
    """Put titles over columns and labels beside axes."""
    splits, races, single = sampler.source.shown_splits(), sampler.races, len(sampler.races) == 1
    metric = safe(sampler.metrics[0])
    name = metric.upper() if metric.isalpha() else metric
    risk = f"{name} risk" if sampler.source.direction(sampler.metrics[0]) == "minimize" else f"mean {name}"
    for axes in grid[-1]:
        axes.set_xlabel(_PARAMETER_WORDS.get(figure.parameter, safe(figure.parameter)))
    if single:
        for axes, split in zip(grid[0], splits, strict=True):
            axes.set_title(f"{safe(sampler.source.short(split))}, {thousands(races[0].n)}")
            axes.set_ylabel(risk)
        return
    for axes, race in zip(grid[0], races, strict=True):
        axes.set_title(thousands(race.n))
    for row, split in zip(grid, splits, strict=True):
        row[0].set_ylabel(f"{risk},\n{safe(sampler.source.short(split))}")


def _panel(
    axes: Axes,
    sampler: Sampler,
    figure: Figure,
    race: Race,
    split: Split,
    parts: _Parts,
    column: int,
    own: Mapping[str, tuple[str, Look]],
    axis: LogAxis,
) -> None:
    metric = sampler.metrics[0]
    for key, points in parts.lines[column].items():
        racing = [(value, arm) for value, arm in points if arm.racing]
        if racing and race.repetitions and parts.names[key] in own:
            found = sampler.intervals([arm for _, arm in racing], metric, split, race.repetitions, figure.level)
            _line(axes, axis, racing, found, *own[parts.names[key]])
    for label in parts.references:
        arm = race.arm(label)
        if arm is not None and arm.racing and race.repetitions and label in own:
            found = sampler.intervals([arm], metric, split, race.repetitions, figure.level)
            _horizontal(axes, found, *own[label])
    axis.ticks(axes)


def _horizontal(axes: Axes, found: MeanIntervals, name: str, style: Look) -> None:
    """Draw a mean that has no place on the parameter's axis: markers at the edges, where no points are."""
    across, y = axes.get_yaxis_transform(), float(found.mean[0])
    axes.plot(
        [0, 0.02, 0.98, 1], [y] * 4, color=style.color, linestyle=style.dashes, marker=style.marker,
        markevery=[1, 2], transform=across, label=name,
    )  # fmt: skip
    if math.isfinite(found.lower[0]):
        axes.axhspan(found.lower[0], found.upper[0], color=style.color, alpha=0.18, linewidth=0)


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
    dots: dict[str, Any] = {"color": style.color, "marker": style.marker, "linestyle": ""}
    axes.plot(x, found.mean, color=style.color, linestyle=":", linewidth=1)
    axes.plot(x[inner], found.mean[inner], color=style.color, linestyle=style.dashes)
    axes.plot(x[~hollow], found.mean[~hollow], **dots)
    axes.plot(x[hollow], found.mean[hollow], **dots, markerfacecolor="white", zorder=3)
    axes.plot([], [], color=style.color, linestyle=style.dashes, marker=style.marker, label=name)
    if hollow.any():
        axes.plot([], [], "o", color="#555555", markerfacecolor="white", label=_HOLLOW)
    if not np.isfinite(found.lower).all():
        return
    band: dict[str, Any] = {"color": style.color, "alpha": 0.2, "linewidth": 0}
    axes.fill_between(x[inner], found.lower[inner], found.upper[inner], **band)
    for i in np.flatnonzero(~inner):
        axes.fill_between([x[i] - 0.1, x[i] + 0.1], found.lower[i], found.upper[i], **band)
