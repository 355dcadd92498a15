"""Mean of a metric against n: a row for each metric, a column for each split, a line for each contender."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankbench.results.figures.lines import matches
from rankbench.results.figures.style import Look, look, safe, subtitle
from rankbench.results.sample import Arm, Race, Sampler
from rankbench.results.schema import Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from rankbench.suites.schema import Figure

__all__ = ["draw_growth"]


def draw_growth(sampler: Sampler, figure: Figure) -> Canvas:
    """Draw the metrics named in `figure.metrics`, all of them if none is, against n.

    Both axes are logarithmic; that of values is linear where a mean is not positive. Bands are t
    intervals over draws. Contenders that match `figure.series` have lines, in their order in the
    suite; one that `figure.references` match is drawn as a thin gray line of its own dashes.
    """
    from matplotlib.figure import Figure as Canvas

    metrics, splits = figure.metrics or sampler.metrics, sampler.source.shown_splits()
    labels = _labels(sampler)
    drawn = [label for label in labels if matches(label, figure.series)]
    references = [label for label in labels if matches(label, figure.references) and label not in drawn]
    looks = {label: look(i) for i, label in enumerate(drawn)}
    looks |= {label: Look("#777777", "", look(i + 1).dashes) for i, label in enumerate(references)}
    rows, columns = (len(splits), len(metrics)) if len(splits) == 1 else (len(metrics), len(splits))
    canvas = Canvas(figsize=(max(3.6 * columns + 0.7, 6.4), 2.6 * rows + 1.35), layout="constrained")
    grid = canvas.subplots(rows, columns, squeeze=False, sharex=True)
    panels = [(metric, split) for metric in metrics for split in splits]
    for axes, (metric, split) in zip(grid.flat, panels, strict=True):
        for label, style in looks.items():
            _line(axes, sampler, label, metric, split, style, figure.level)
        _scales(axes)
        axes.set_ylabel(f"mean {safe(metric)}")
        if len(splits) > 1:
            axes.set_title(safe(sampler.source.short(split)))
    for axes in grid[-1]:
        axes.set_xlabel(f"n, {safe(sampler.source.counts)}")
    handles, names = grid[0][0].get_legend_handles_labels()
    if handles:
        canvas.legend(handles, names, loc="outside lower center", ncols=min(len(handles), 3 if columns < 3 else 5))
    canvas.suptitle(subtitle(sampler, figure, sampler.races), fontsize=10)
    return canvas


def _labels(sampler: Sampler) -> list[str]:
    """Return the labels of all contenders, in the order of the suite."""
    order = {arm.member.label: arm.member.order for race in sampler.races for arm in race.arms}
    return sorted(order, key=lambda label: order[label])


def _line(axes: Axes, sampler: Sampler, label: str, metric: str, split: Split, style: Look, level: float) -> None:
    points: list[tuple[Race, Arm]] = []
    for race in sampler.races:
        arm = race.arm(label)
        if arm is not None and arm.racing and race.repetitions:
            points.append((race, arm))
    if not points:
        return
    found = [sampler.intervals([arm], metric, split, race.repetitions, level) for race, arm in points]
    x = [race.n for race, _ in points]
    mean, lower, upper = (np.array([getattr(f, name)[0] for f in found]) for name in ("mean", "lower", "upper"))
    axes.plot(x, mean, color=style.color, linestyle=style.dashes, marker=style.marker, label=safe(label))
    if np.isfinite(lower).any():
        axes.fill_between(x, lower, upper, color=style.color, alpha=0.18, linewidth=0)


def _scales(axes: Axes) -> None:
    """Make both axes logarithmic, that of values only if all means are positive."""
    axes.set_xscale("log")
    means = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines()] or [np.empty(0)])
    finite = means[np.isfinite(means)]
    if len(finite) and finite.min() > 0:
        # Bands may reach below zero.
        axes.set_yscale("log", nonpositive="clip")
        axes.set_ylim(finite.min() / 1.6, finite.max() * 1.3)
