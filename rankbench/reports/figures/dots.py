"""A dot with its interval for each contender, or for each item that a contender ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankbench.reports.figures.cast import MOST, Cast, Omission, order_of, unfinished
from rankbench.reports.figures.lines import matches
from rankbench.reports.figures.style import Look, safe, subtitle, titles
from rankbench.reports.sample import Arm, Race, Sampler

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from rankbench.kinds.suite import Figure

__all__ = ["cast_dots", "draw_dots"]

MOST_ITEMS = 80
"""Items of a ranking that have dots: the best ones."""

LONGEST = 40
"""Letters of a name beside its dot."""


class _Dot(NamedTuple):
    name: str
    value: float
    lower: float
    upper: float


def cast_dots(sampler: Sampler, figure: Figure) -> Cast:
    """Return the contenders that have dots, or the one whose items have."""
    labels = order_of(sampler)
    asked = [label for label in labels if _asked(sampler, figure, label)]
    omissions = [Omission(label, "", "choice") for label in labels if label not in asked]
    if sampler.source.layout == "ranking":
        arm = _ranking(sampler, figure)
        drawn, race, why = {arm.member.label} if arm else set(), _first(sampler), ""
        finished = {arm.member.label for arm in race.arms if arm.done} if race else set()
        if arm:
            why = f"the figure has the items of one contender, {arm.member.label}"
    else:
        race, why = _last(sampler), f"the figure has room for the best {MOST}"
        finished = {arm.member.label for arm in race.racing} if race else set()
        drawn = {dot.name for metric in _metrics(sampler, figure) for dot in _contenders(sampler, figure, metric)}
    beyond = [label for label in asked if label in finished - drawn]
    omissions += unfinished(sampler, [label for label in asked if label not in finished], {race.n} if race else None)
    omissions += [Omission(label, why, "misfit") for label in beyond]
    return Cast(
        figure.file, tuple(label for label in asked if label in drawn), sampler.added & drawn,
        left_out=tuple(omissions),
    )  # fmt: skip


def draw_dots(sampler: Sampler, figure: Figure, cast: Cast, looks: Mapping[str, Look]) -> Canvas:
    """Draw values with 95% intervals, the best on top.

    In a race a panel for each of `figure.metrics` (the headline if none is named), at the
    largest n: a dot for each contender that `figure.series` match, all if there are none. In a
    ranking of items: the items of the first contender that matches.
    """
    from matplotlib.figure import Figure as Canvas

    if sampler.source.layout == "ranking":
        arm = _ranking(sampler, figure)
        label, dots = (arm.member.label, _items(sampler, arm)) if arm else ("nobody", [])
        panels = [(f"score, {label}", dots)]
        series = dict.fromkeys((dot.name for dot in dots), label)
    else:
        panels = [(metric, _contenders(sampler, figure, metric)) for metric in _metrics(sampler, figure)]
        series = {name: name for name in cast.names}
    shown = _short({dot.name for _, dots in panels for dot in dots})
    height = 0.19 * max((len(dots) for _, dots in panels), default=1) + 1.4
    canvas = Canvas(figsize=(max(6.4, 3.6 * len(panels) + 1.5), height), layout="constrained")
    grid = canvas.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, dots) in zip(grid, panels, strict=True):
        _panel(axes, dots, shown, series, looks)
        axes.set_xlabel(safe(title))
    canvas.suptitle(subtitle(sampler, figure, sampler.races), fontsize=10)
    return canvas


def _asked(sampler: Sampler, figure: Figure, label: str) -> bool:
    return not figure.series or matches(label, figure.series) or label in sampler.added


def _metrics(sampler: Sampler, figure: Figure) -> tuple[str, ...]:
    return figure.metrics or sampler.metrics[:1]


def _first(sampler: Sampler) -> Race | None:
    return sampler.races[-1] if sampler.races else None


def _last(sampler: Sampler) -> Race | None:
    """Return the race at the largest n that has results."""
    return next((race for race in reversed(sampler.races) if race.racing and race.repetitions), None)


def _ranking(sampler: Sampler, figure: Figure) -> Arm | None:
    """Return the arm whose items are drawn."""
    race = _first(sampler)
    own = [arm for arm in race.arms if arm.done] if race else []
    return next((arm for arm in own if not figure.series or matches(arm.member.label, figure.series)), None)


def _items(sampler: Sampler, arm: Arm) -> list[_Dot]:
    split = sampler.source.shown_splits()[0]
    units = sampler.source.units[split]
    score, lower, upper = (sampler.values(arm, metric, split) for metric in ("score", "lower", "upper"))
    order = sorted(range(len(units)), key=lambda i: (-round(float(score[i]), 9), units[i]))[:MOST_ITEMS]
    return [_Dot(units[i], float(score[i]), float(lower[i]), float(upper[i])) for i in order]


def _contenders(sampler: Sampler, figure: Figure, metric: str) -> list[_Dot]:
    race, split = _last(sampler), sampler.source.shown_splits()[0]
    arms = [arm for arm in race.racing if _asked(sampler, figure, arm.member.label)] if race else []
    if race is None or not arms:
        return []
    found = sampler.intervals(arms, metric, split, race.repetitions, figure.level)
    sign = 1 if sampler.source.direction(metric) == "minimize" else -1
    order = np.argsort(sign * found.mean, kind="stable")[:MOST]
    return [
        _Dot(arms[i].member.label, float(found.mean[i]), float(found.lower[i]), float(found.upper[i])) for i in order
    ]


def _panel(
    axes: Axes, dots: list[_Dot], shown: Mapping[str, str], series: Mapping[str, str], looks: Mapping[str, Look]
) -> None:
    """Draw dots, each as the contender looks whose it is."""
    for place, dot in enumerate(dots):
        style = looks[series[dot.name]]
        if np.isfinite(dot.lower) and np.isfinite(dot.upper):
            axes.plot([dot.lower, dot.upper], [place, place], color=style.color, linewidth=1.2)
        axes.plot(
            [dot.value], [place], marker=style.marker, linestyle="", color=style.color, label=safe(series[dot.name])
        )
    axes.set_yticks(range(len(dots)), [shown[dot.name] for dot in dots])
    axes.set_ylim(max(len(dots), 1) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def _short(names: Iterable[str]) -> dict[str, str]:
    """Return names cut to a length, those as they are that would be alike."""
    full = titles(names)
    cut = {name: text if len(text) <= LONGEST else text[: LONGEST - 1] + "…" for name, text in full.items()}
    times = Counter(cut.values())
    return {name: text if times[text] == 1 else full[name] for name, text in cut.items()}
