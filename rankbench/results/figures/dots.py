"""A dot with its interval for each contender, or for each item that a contender ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankbench.results.figures.lines import matches
from rankbench.results.figures.style import look, safe, subtitle
from rankbench.results.sample import Sampler
from rankbench.results.schema import Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from rankbench.suites.schema import Figure

__all__ = ["draw_dots"]

MOST = 80
"""Dots of a panel; of more items the best ones are drawn."""


class _Dot(NamedTuple):
    name: str
    value: float
    lower: float
    upper: float


def draw_dots(sampler: Sampler, figure: Figure) -> Canvas:
    """Draw values with 95% intervals, the best on top.

    In a race a panel for each of `figure.metrics` (the headline if none is named), at the
    largest n: a dot for each contender that `figure.series` match, all if there are none. In a
    ranking of items: the items of the first contender that matches.
    """
    from matplotlib.figure import Figure as Canvas

    split = sampler.source.shown_splits()[0]
    if sampler.source.layout == "ranking":
        label, dots = _items(sampler, figure, split)
        panels = [(f"score, {label}", dots)]
    else:
        metrics = figure.metrics or sampler.metrics[:1]
        panels = [(metric, _contenders(sampler, figure, metric, split)) for metric in metrics]
    height = 0.19 * max((len(dots) for _, dots in panels), default=1) + 1.4
    canvas = Canvas(figsize=(max(6.4, 3.6 * len(panels) + 1.5), height), layout="constrained")
    grid = canvas.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, dots) in zip(grid, panels, strict=True):
        _panel(axes, dots)
        axes.set_xlabel(safe(title))
    canvas.suptitle(subtitle(sampler, figure, sampler.races), fontsize=10)
    return canvas


def _items(sampler: Sampler, figure: Figure, split: Split) -> tuple[str, list[_Dot]]:
    units = sampler.source.units[split]
    for arm in sampler.races[-1].arms if sampler.races else ():
        if arm.done and (not figure.series or matches(arm.member.label, figure.series)):
            score, lower, upper = (sampler.values(arm, metric, split) for metric in ("score", "lower", "upper"))
            order = sorted(range(len(units)), key=lambda i: (-round(float(score[i]), 9), units[i]))[:MOST]
            dots = [_Dot(units[i], float(score[i]), float(lower[i]), float(upper[i])) for i in order]
            return arm.member.label, dots
    return "nobody", []


def _contenders(sampler: Sampler, figure: Figure, metric: str, split: Split) -> list[_Dot]:
    race = next((race for race in reversed(sampler.races) if race.racing and race.repetitions), None)
    if race is None:
        return []
    arms = [arm for arm in race.racing if not figure.series or matches(arm.member.label, figure.series)]
    found = sampler.intervals(arms, metric, split, race.repetitions, figure.level)
    sign = 1 if sampler.source.direction(metric) == "minimize" else -1
    order = np.argsort(sign * found.mean, kind="stable")[:MOST]
    return [
        _Dot(arms[i].member.label, float(found.mean[i]), float(found.lower[i]), float(found.upper[i])) for i in order
    ]


def _panel(axes: Axes, dots: list[_Dot]) -> None:
    style = look(0)
    for place, dot in enumerate(dots):
        if np.isfinite(dot.lower) and np.isfinite(dot.upper):
            axes.plot([dot.lower, dot.upper], [place, place], color=style.color, linewidth=1.2)
        axes.plot([dot.value], [place], style.marker, color=style.color)
    axes.set_yticks(range(len(dots)), [_short(dot.name) for dot in dots])
    axes.set_ylim(max(len(dots), 1) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def _short(name: str) -> str:
    text = safe(name)
    return text if len(text) <= 40 else text[:39] + "…"
