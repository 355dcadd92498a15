"""Mean of a metric against n: a row for each metric, a column for each split, a line for each contender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Split
from rankbench.reports.figures.cast import Cast, Omission, groups, limited, order_of, unfinished
from rankbench.reports.figures.lines import matches
from rankbench.reports.figures.style import Look, alike, legend, pages, safe, subtitle, titles
from rankbench.reports.sample import Arm, Race, Sampler

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from rankbench.kinds.suite import Figure

__all__ = ["cast_growth", "draw_growth"]


def cast_growth(sampler: Sampler, figure: Figure) -> Cast:
    """Return the contenders that `figure.series` match or that were added, and gray ones for `figure.references`."""
    labels = order_of(sampler)
    series = [label for label in labels if matches(label, figure.series) or label in sampler.added]
    references = [label for label in labels if label not in series and matches(label, figure.references)]
    choice = [Omission(label, "", "choice") for label in labels if label not in {*series, *references}]
    status = unfinished(sampler, [*series, *references])
    nowhere = {omission.label for omission in status if not omission.where}
    names, beyond = limited([label for label in (*series, *references) if label not in nowhere])
    return Cast(
        figure.file, names, sampler.added & set(names), frozenset(references) & set(names),
        left_out=(*choice, *status, *beyond),
    )  # fmt: skip


def draw_growth(sampler: Sampler, figure: Figure, cast: Cast, looks: Mapping[str, Look]) -> Canvas:
    """Draw the metrics named in `figure.metrics`, all of them if none is, against n.

    Both axes are logarithmic; that of values is linear where a mean is not positive. Bands are t
    intervals over draws. Contenders have lines in their order in the suite, references thin gray ones.
    """
    from matplotlib.figure import Figure as Canvas

    metrics, splits = figure.metrics or sampler.metrics, sampler.source.shown_splits()
    rows, columns = (len(splits), len(metrics)) if len(splits) == 1 else (len(metrics), len(splits))
    parts = groups(cast.names)
    size = max(3.6 * columns + 0.7, 6.4), (2.6 * rows + 1.35) * len(parts)
    canvas = Canvas(figsize=size, layout="constrained")
    panels = [(metric, split) for metric in metrics for split in splits]
    found: list[list[Axes]] = []
    shown = titles(cast.names)
    for page, names in zip(pages(canvas, len(parts)), parts, strict=True):
        grid: NDArray[Any] = page.subplots(rows, columns, squeeze=False, sharex=True)
        found.append(list(grid.flat))
        for axes, (metric, split) in zip(grid.flat, panels, strict=True):
            for name in names:
                _line(axes, sampler, name, shown[name], metric, split, looks[name], figure.level)
            axes.set_ylabel(f"mean {safe(metric)}")
            if len(splits) > 1:
                axes.set_title(safe(sampler.source.short(split)))
        for axes in grid[-1]:
            axes.set_xlabel(f"n, {safe(sampler.source.counts)}")
        legend(page, grid.flat)
    for same in zip(*found, strict=True):
        _scales(same)
    canvas.suptitle(subtitle(sampler, figure, sampler.races), fontsize=10)
    return canvas


def _line(
    axes: Axes, sampler: Sampler, label: str, name: str, metric: str, split: Split, style: Look, level: float
) -> None:
    points: list[tuple[Race, Arm]] = []
    for race in sampler.races:
        arm = race.arm(label)
        if arm is not None and arm.racing and race.repetitions:
            points.append((race, arm))
    if not points:
        return
    found = [sampler.intervals([arm], metric, split, race.repetitions, level) for race, arm in points]
    x = [race.n for race, _ in points]
    mean, lower, upper = (np.array([getattr(f, bound)[0] for f in found]) for bound in ("mean", "lower", "upper"))
    axes.plot(x, mean, color=style.color, linestyle=style.dashes, marker=style.marker, label=name)
    if np.isfinite(lower).any():
        axes.fill_between(x, lower, upper, color=style.color, alpha=0.18, linewidth=0)


def _scales(panels: Sequence[Axes]) -> None:
    """Make both axes of panels that stand for each other logarithmic, that of values only if all means are positive."""
    lines = [line for axes in panels for line in axes.get_lines()]
    means = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in lines] or [np.empty(0)])
    finite = means[np.isfinite(means)]
    positive = len(finite) and finite.min() > 0
    for axes in panels:
        axes.set_xscale("log")
        if positive:
            # Bands may reach below zero.
            axes.set_yscale("log", nonpositive="clip")
            axes.set_ylim(finite.min() / 1.6, finite.max() * 1.3)
    if len(panels) > 1:
        alike(panels)
