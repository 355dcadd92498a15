"""Curves against steps, as in the paper's figure 2: a column for each panel, a row for each metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankbench.results.curves import curve_steps, curve_values
from rankbench.results.figures.lines import matches
from rankbench.results.figures.style import Look, look, safe, subtitle, thousands
from rankbench.results.sample import Arm, Race, Sampler
from rankbench.results.stats.draws import mean_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from rankbench.suites.schema import Figure, Panel

__all__ = ["draw_curves"]

_METRIC_WORDS = {
    "estimated-gap": "estimated gap\n(the paper's estimator)",
    "exact-gap-last": "gap to the minimizer,\nlast iterate",
    "exact-gap-average": "gap to the minimizer,\naveraged iterate",
}


def draw_curves(sampler: Sampler, figure: Figure) -> Canvas:
    """Draw the curves named in `figure.metrics` against steps, on the axes that `figure.axes` asks for.

    Bands are t intervals over draws. Where the values' axis is to be logarithmic and a mean
    is not positive (an estimated gap may well be below zero), it is linear.
    """
    from matplotlib.figure import Figure as Canvas

    rows, columns = len(figure.metrics), max(len(figure.panels), 1)
    canvas = Canvas(figsize=(max(3.6 * columns + 0.8, 6.4), 1.95 * rows + 1.5), layout="constrained")
    grid = canvas.subplots(rows, columns, squeeze=False, sharex=True, sharey="row")
    used: list[Race] = []
    for c, panel in enumerate(figure.panels):
        arms = _arms(sampler, panel)
        used.extend(race for race, _ in arms if race not in used)
        for r, metric in enumerate(figure.metrics):
            axes = grid[r][c]
            for i, (race, arm) in enumerate(arms):
                _curve(axes, sampler, race, arm, metric, _name(panel, race, arm), look(i), figure.level)
            axes.set_xscale("linear" if figure.axes == "linear" else "log")
            if c == 0:
                axes.set_ylabel(_METRIC_WORDS.get(metric, safe(metric)))
        grid[0][c].set_title(safe(panel.title))
        grid[-1][c].set_xlabel(safe(figure.steps))
        if grid[-1][c].get_legend_handles_labels()[0]:
            grid[-1][c].legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=2)
    if figure.axes == "log":
        for row in grid:
            _scale(row)
    canvas.suptitle(subtitle(sampler, figure, used), fontsize=10)
    return canvas


def _arms(sampler: Sampler, panel: Panel) -> list[tuple[Race, Arm]]:
    return [
        (race, arm)
        for race in sampler.races
        if race.n_declared in panel.n and race.repetitions
        for arm in race.racing
        if matches(arm.member.label, panel.series)
    ]


def _name(panel: Panel, race: Race, arm: Arm) -> str:
    if len(panel.n) == 1:
        return arm.member.label
    several = len(panel.series) > 1 or "*" in panel.series[0]
    return f"{arm.member.label}, {thousands(race.n)}" if several else thousands(race.n)


def _curve(
    axes: Axes, sampler: Sampler, race: Race, arm: Arm, metric: str, name: str, style: Look, level: float
) -> None:
    steps = curve_steps(sampler, arm, metric)
    values = curve_values(sampler, arm, metric, steps.tolist(), race.repetitions) if len(steps) else None
    if values is None:
        return
    found = mean_intervals(values, level)
    every = max(len(steps) // 8, 1)
    axes.plot(
        steps,
        found.mean,
        color=style.color,
        linestyle=style.dashes,
        marker=style.marker,
        markevery=every,
        label=safe(name),
    )
    if np.isfinite(found.lower).any():
        axes.fill_between(steps, found.lower, found.upper, color=style.color, alpha=0.18, linewidth=0)


def _scale(row: NDArray[Any]) -> None:
    """Choose a row's axis: logarithmic where all means are positive, else linear around zero."""
    means = np.concatenate([line.get_ydata() for axes in row for line in axes.get_lines()] or [np.empty(0)])
    finite = means[np.isfinite(means)]
    if not len(finite):
        return
    for axes in row:
        if finite.min() > 0:
            axes.set_yscale("log", nonpositive="clip")
            axes.set_ylim(bottom=float(finite.min()) / 2)
        else:
            axes.axhline(0.0, color="0.4", linewidth=0.8)
            axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
