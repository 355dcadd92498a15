"""Curves against steps, as in the paper's figure 2: a column for each panel, a row for each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.reports.curves import curve_steps, curve_values
from rankbench.reports.figures.cast import Cast, Omission, groups, limited, order_of, unfinished
from rankbench.reports.figures.lines import matches
from rankbench.reports.figures.style import Look, alike, entries, pages, safe, subtitle, thousands, titles
from rankbench.reports.sample import Arm, Race, Sampler
from rankbench.stats.draws import mean_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from rankbench.kinds.suite import Figure, Panel

__all__ = ["cast_curves", "draw_curves"]

_METRIC_WORDS = {
    "estimated-gap": "estimated gap\n(the paper's estimator)",
    "exact-gap-last": "gap to the minimizer,\nlast iterate",
    "exact-gap-average": "gap to the minimizer,\naveraged iterate",
}


class _Series(NamedTuple):
    """A contender at one n in a panel; `name` is its own in the figure, `label` what the panel's legend says."""

    name: str
    label: str
    race: Race
    arm: Arm


def cast_curves(sampler: Sampler, figure: Figure) -> Cast:
    """Return the contenders of the panels; what was added is in every panel of a single n.

    A contender drawn at several n is several series: at the n of the other panels it is the
    contender as it is there, at others a variant in the same color.
    """
    series = [one for panel in figure.panels for one in _series(sampler, figure, panel)]
    labels = order_of(sampler)
    asked = {one.arm.member.label for one in series}
    status = unfinished(sampler, [label for label in labels if label in asked], {one.race.n for one in series})
    with_curves = [one for one in series if _has_curves(sampler, figure, one)]
    drawn = {one.arm.member.label for one in with_curves}
    nowhere = {omission.label for omission in status if not omission.where}
    names, beyond = limited(list(dict.fromkeys(one.name for one in with_curves)))
    metrics = ", ".join(figure.metrics)
    single = any(len(panel.n) == 1 for panel in figure.panels)
    misfits = {label: f"no curve of {metrics}" for label in labels if label in asked - drawn - nowhere}
    if not single:
        why = "each panel has several n"
        misfits |= {label: why for label in labels if label in sampler.added and label not in asked}
    label_of = {one.name: one.arm.member.label for one in series}
    return Cast(
        figure.file,
        names,
        frozenset(name for name in names if label_of[name] in sampler.added),
        variants={name: label_of[name] for name in names if name != label_of[name]},
        left_out=(
            *(Omission(label, "", "choice") for label in labels if label not in {*asked, *misfits}),
            *status,
            *(Omission(label, why, "misfit") for label, why in misfits.items()),
            *beyond,
        ),
    )


def draw_curves(sampler: Sampler, figure: Figure, cast: Cast, looks: Mapping[str, Look]) -> Canvas:
    """Draw the curves named in `figure.metrics` against steps, on the axes that `figure.axes` asks for.

    Bands are t intervals over draws. Where the values' axis is to be logarithmic and a mean
    is not positive (an estimated gap may well be below zero), it is linear.
    """
    from matplotlib.figure import Figure as Canvas

    rows, columns = len(figure.metrics), max(len(figure.panels), 1)
    panels = [
        groups([one for one in _series(sampler, figure, panel) if one.name in cast.names and _drawable(one)])
        for panel in figure.panels
    ]
    parts = max((len(panel) for panel in panels), default=1)
    size = max(3.6 * columns + 0.8, 6.4), (1.95 * rows + 1.5) * parts
    canvas = Canvas(figsize=size, layout="constrained")
    grids: list[NDArray[Any]] = []
    for part, page in enumerate(pages(canvas, parts)):
        grid = page.subplots(rows, columns, squeeze=False, sharex=True, sharey="row")
        grids.append(grid)
        for c, (panel, together) in enumerate(zip(figure.panels, panels, strict=True)):
            shown = together[part] if part < len(together) else ()
            _column(list(grid[:, c]), sampler, figure, shown, looks)
            grid[0][c].set_title(_title(panel, shown))
        for axes, metric in zip(grid[:, 0], figure.metrics, strict=True):
            axes.set_ylabel(_METRIC_WORDS.get(metric, safe(metric)))
    if figure.axes == "log":
        for same in zip(*grids, strict=True):
            _scale([axes for row in same for axes in row])
    if parts > 1:
        for column in zip(*(grid.flat for grid in grids), strict=True):
            alike(column)
    used = dict.fromkeys(one.race.n for panel in panels for together in panel for one in together)
    canvas.suptitle(subtitle(sampler, figure, [race for race in sampler.races if race.n in used]), fontsize=10)
    return canvas


def _title(panel: Panel, shown: Sequence[_Series]) -> str:
    """Return a panel's title, with the n that was drawn where there is one: data may be too few for the suite's."""
    drawn = {one.race.n for one in shown}
    parts = [safe(panel.title), thousands(drawn.pop()) if len(panel.n) == len(drawn) == 1 else ""]
    return ", ".join(filter(None, parts))


def _series(sampler: Sampler, figure: Figure, panel: Panel) -> list[_Series]:
    """Return what a panel asks for, whatever became of it."""
    alone = len(panel.n) == 1
    own = next((p.n[0] for p in figure.panels if len(p.n) == 1 and p.n[0] in panel.n), panel.n[0])
    several = len(panel.series) > 1 or "*" in panel.series[0]
    found = []
    for race in sampler.races:
        for arm in race.arms if race.n_declared in panel.n else ():
            label = arm.member.label
            if not (matches(label, panel.series) or (alone and label in sampler.added)):
                continue
            at = f"{label}, {thousands(race.n)}"
            said = label if alone else at if several else thousands(race.n)
            found.append(_Series(label if alone or race.n_declared == own else at, said, race, arm))
    return found


def _drawable(one: _Series) -> bool:
    return one.arm.racing and bool(one.race.repetitions)


def _has_curves(sampler: Sampler, figure: Figure, one: _Series) -> bool:
    return any(_values(sampler, one, metric) is not None for metric in figure.metrics)


def _values(sampler: Sampler, one: _Series, metric: str) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Return the steps of a curve and its values in each repetition, if all repetitions have it."""
    if not _drawable(one):
        return None
    steps = curve_steps(sampler, one.arm, metric)
    values = curve_values(sampler, one.arm, metric, steps.tolist(), one.race.repetitions) if len(steps) else None
    return None if values is None else (steps, values)


def _column(
    column: Sequence[Axes], sampler: Sampler, figure: Figure, shown: Sequence[_Series], looks: Mapping[str, Look]
) -> None:
    names = titles(one.label for one in shown)
    for axes, metric in zip(column, figure.metrics, strict=True):
        for one in shown:
            found = _values(sampler, one, metric)
            if found is not None:
                _curve(axes, *found, names[one.label], looks[one.name], figure.level)
        axes.set_xscale("linear" if figure.axes == "linear" else "log")
    column[-1].set_xlabel(safe(figure.steps))
    handles, folded, columns = entries(column, 3.6)
    if handles:
        column[-1].legend(handles, folded, loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=columns)


def _curve(
    axes: Axes, steps: NDArray[np.int64], values: NDArray[np.float64], name: str, style: Look, level: float
) -> None:
    found = mean_intervals(values, level)
    every = max(len(steps) // 8, 1)
    axes.plot(
        steps,
        found.mean,
        color=style.color,
        linestyle=style.dashes,
        marker=style.marker,
        markevery=every,
        label=name,
    )
    if np.isfinite(found.lower).any():
        axes.fill_between(steps, found.lower, found.upper, color=style.color, alpha=0.18, linewidth=0)


def _scale(row: Sequence[Axes]) -> None:
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
