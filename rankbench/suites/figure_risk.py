"""Figures show risk against a parameter."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.interfaces.cell import Split
from rankbench.interfaces.figure import (
    ContenderResults,
    Drawing,
    ExperimentResults,
    FigureKind,
    Level,
    Line,
    MatchedResults,
    Omission,
    Plot,
    limited,
    order_of,
    unfinished,
)
from rankbench.interfaces.suite import Figure, matches
from rankbench.stats.contrasts import MeanIntervals, PairedIntervals

_ALONE = "; a difference is significant, by itself, where 0 is outside"


def parameter_value(config: Mapping[str, Any], parameter: str) -> float | None:
    """Return the number that a contender has at `parameter` (``a.b`` for nested ones), if any."""
    value: Any = config
    for key in parameter.split("."):
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    if value == "inf":
        return math.inf
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def parameter_lines(
    matched: MatchedResults, patterns: Sequence[str], parameter: str, added: Collection[str] = ()
) -> dict[str, list[tuple[float, ContenderResults]]]:
    """Group contenders by everything but `parameter`: points of one line, from left to right.

    Parameters
    ----------
    matched : MatchedResults
    patterns : sequence of str
        Of labels.
    parameter : str
    added : collection of str
        More labels.

    Returns
    -------
    dict of str to list of (float, ContenderResults)
        By a key that is the same at every n, in the order of the plan.
    """
    found: dict[str, list[tuple[float, ContenderResults]]] = {}
    for runs in matched.contenders:
        value = parameter_value(runs.config, parameter)
        if value is not None and (matches(runs.label, patterns) or runs.label in added):
            found.setdefault(_without(runs.config, parameter), []).append((value, runs))
    return {key: sorted(points, key=lambda point: (point[0], point[1].order)) for key, points in found.items()}


def line_names(
    groups: dict[str, list[tuple[float, ContenderResults]]],
    parameter: str,
    added: Collection[str] = (),
    used: Collection[str] = (),
) -> dict[str, str]:
    """Return a name for each line: its labels without the value of `parameter`.

    Two lines that would be called alike, and one that would be called as something in `used` is, are
    called by their first and last labels instead. Labels in `added` name a line only if it has no others.
    """
    labels = {key: [runs.label for _, runs in points] for key, points in groups.items()}
    own = {key: [label for label in found if label not in added] or found for key, found in labels.items()}
    short = {key: _common(found, parameter) for key, found in own.items()}
    times = Counter([*short.values(), *used])
    ends = {key: " ... ".join(dict.fromkeys((found[0], found[-1]))) for key, found in own.items()}
    return {key: name if times[name] == 1 else ends[key] for key, name in short.items()}


def _common(labels: list[str], parameter: str) -> str:
    token = re.compile(rf"[,;]?\s*\b{re.escape(parameter.split('.')[-1])}\s*=\s*[^\s,;()]+")
    short = {re.sub(r"\(\s*[,;]?\s*\)", "", token.sub("", label)).strip(" ,;:") for label in labels}
    if len(short) == 1:
        return short.pop() or labels[0]
    head = labels[0]
    while head and not all(label.startswith(head) for label in labels):
        head = head[:-1]
    return head.strip(" ,;:=") or labels[0]


def _without(config: dict[str, Any], parameter: str) -> str:
    copy = json.loads(json.dumps(config))
    *path, last = parameter.split(".")
    inner = copy
    for key in path:
        inner = inner[key]
    inner.pop(last)
    return json.dumps(copy, sort_keys=True)


class _Parts(NamedTuple):
    """Parts of a figure: points of lines by n and key, names by key, and labels of horizontal lines."""

    lines: dict[int, dict[str, list[tuple[float, ContenderResults]]]]
    names: dict[str, str]
    references: list[str]


class Risk(FigureKind):
    """Mean of the headline against a parameter of the contenders, a line for each setting of their others.

    A column for each n and a row for each split. The parameter's axis is logarithmic; infinity is a tick of its
    own behind a gap. Bands are t intervals over repetitions. Contenders that equal another one have hollow markers. A
    contender without the parameter is a horizontal line. With `against`, a row of paired differences stands under
    each row of means, with intervals that tell whether a difference is significant.

    Prefer it for contenders that differ by a number, such as the order k or lambda.
    """

    name: ClassVar[str] = "risk"
    source: ClassVar[str] = "[DMJ13]_ figures 3 and 4"

    parameter: str = Field(default="", description="Parameter on the axis, ``a.b`` for nested ones.")
    axis: str = Field(default="", description="Title of the axis.")
    series: tuple[str, ...] = Field(
        default=(), description="Labels of contenders on lines, all if neither these nor references are named."
    )
    references: tuple[str, ...] = Field(default=(), description="Labels of contenders that are horizontal lines.")
    against: str = Field(
        default="", description="Label of a contender: differences from it have plots of their own, under the means."
    )

    def lacks(self) -> str:
        """Return an error text for a missing parameter, or ``""``."""
        return "" if self.parameter else "a figure of kind 'risk' needs the parameter that it is drawn against"

    def patterns(self) -> Sequence[str]:
        """Return the labels of lines and horizontal lines."""
        return (*self.series, *self.references, *filter(None, [self.against]))

    def misfit(self, metrics: Collection[str], n: Collection[int], configs: Sequence[Mapping[str, Any]]) -> str:
        """Return an error text if no contender has the parameter."""
        if not self.parameter or any(parameter_value(config, self.parameter) is not None for config in configs):
            return ""
        return f"no contender has a number as parameter {self.parameter!r}"

    def drawing(self, figure: Figure, results: ExperimentResults) -> Drawing:
        """Return the plots; added contenders are in or beside a line. A single n: splits are side by side."""
        parts, labels = self._parts(results), order_of(results)
        of_line: dict[str, set[str]] = {}
        for found in parts.lines.values():
            for key, points in found.items():
                of_line.setdefault(parts.names[key], set()).update(runs.label for _, runs in points)
        members = of_line | {label: {label} for label in parts.references}
        asked = {label for found in members.values() for label in found}
        status = unfinished(results, [label for label in labels if label in asked])
        nowhere = {omission.label for omission in status if not omission.where}
        names, beyond = limited([name for name, found in members.items() if found - nowhere])
        matched = next((matched for matched in results.by_n if matched.repetitions and self._compares(matched)), None)
        words, drawn = "", False
        if matched is not None:
            others = [runs.label for runs in matched.compared if runs.label != self.against] or [self.against]
            at = results.metrics[0], results.splits[0], figure.level
            apart = results.differences(matched.n, others, self.against, *at)
            words, drawn = apart.words, not np.isnan(apart.lower).all()
        return Drawing(
            self._plots(figure, results, parts, names),
            names,
            frozenset(name for name in names if members[name] <= results.added),
            left_out=(
                *(Omission(label, "", "choice") for label in labels if label not in asked),
                *status,
                *(omission._replace(label=label) for omission in beyond for label in sorted(members[omission.label])),
            ),
            x_scale="ticks",
            same_y=len(results.by_n) != 1 or any(map(self._compares, results.by_n)),
            hollow="hollow: the same as k = ∞",
            size=(2.8, 2.1),
            note=f"differences: {words}{_ALONE * drawn}" * bool(words),
        )

    def _compares(self, matched: MatchedResults) -> bool:
        """Return whether the base of differences is compared."""
        return any(runs.label == self.against for runs in matched.compared)

    def _plots(
        self, figure: Figure, results: ExperimentResults, parts: _Parts, names: Sequence[str]
    ) -> tuple[tuple[Plot, ...], ...]:
        """Return rows of plots: with a single n the splits are columns, else rows."""
        splits, by_n, metric = results.splits, results.by_n, results.metrics[0]
        headline, single = results.metric(metric), len(by_n) == 1
        means = headline.axis(before="" if headline.direction == "minimize" else "mean ", what="risk")
        places = [[(split, by_n[0]) for split in splits]] if single else [
            [(split, matched) for matched in by_n] for split in splits
        ]  # fmt: skip
        bases = ("", self.against) if any(map(self._compares, by_n)) else ("",)
        rows: list[tuple[Plot, ...]] = []
        for cells in places:
            where = "" if single else f",\n{results.split_title(cells[0][0])}"
            for base in bases:
                last = cells is places[-1] and base == bases[-1]
                what = headline.axis(after=f" minus {base}", lines=2, what="risk") if base else means
                plots = [
                    Plot(
                        (results.split_title(split) if single else f"n = {matched.n:,}") if not rows else "",
                        (self.axis or self.parameter) if last else "",
                        f"{what}{where}" if not c else "",
                        *_marks(results, matched, split, parts, names, figure.level, base),
                        zero=bool(base),
                    )
                    for c, (split, matched) in enumerate(cells)
                ]
                rows.append(tuple(plots))
        return tuple(rows)

    def _parts(self, results: ExperimentResults) -> _Parts:
        series = self.series or (() if self.references else ("*",))
        found = {matched.n: parameter_lines(matched, series, self.parameter, results.added) for matched in results.by_n}
        merged: dict[str, list[tuple[float, ContenderResults]]] = {}
        for points in found.values():
            for key, line in points.items():
                known = {runs.label for _, runs in merged.setdefault(key, [])}
                merged[key] += [point for point in line if point[1].label not in known]
        configs = {runs.label: runs.config for matched in results.by_n for runs in matched.contenders}
        patterns = (*series, *self.references)
        references = [
            label
            for label in order_of(results)
            if matches(label, self.references)
            or ((matches(label, patterns) or label in results.added)
                and parameter_value(configs[label], self.parameter) is None)
        ]  # fmt: skip
        return _Parts(found, line_names(merged, self.parameter, results.added, references), references)


def _marks(
    results: ExperimentResults,
    matched: MatchedResults,
    split: Split,
    parts: _Parts,
    names: Collection[str],
    level: float,
    base: str,
) -> tuple[tuple[Line, ...], tuple[Level, ...]]:
    """Return the means at one n on one split, or their differences from a contender."""
    compared = {runs.label for runs in matched.compared} if matched.repetitions else set()
    if base and base not in compared:
        return (), ()

    def numbers(labels: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        at = results.metrics[0], split, level
        found: MeanIntervals | PairedIntervals = results.intervals(matched.n, labels, *at)
        if base:
            found = results.differences(matched.n, labels, base, *at)
        return found.mean, found.lower, found.upper

    lines, levels = [], []
    for key, line in parts.lines[matched.n].items():
        points = [(value, runs) for value, runs in line if runs.label in compared]
        if points and parts.names[key] in names:
            x = np.array([value for value, _ in points], dtype=np.float64)
            hollow = np.array([bool(runs.equals) for _, runs in points])
            lines.append(Line(parts.names[key], x, *numbers([runs.label for _, runs in points]), hollow=hollow))
    for label in parts.references:
        if label in compared and label in names:
            own = numbers([label]) if label != base else (np.zeros(1), np.full(1, np.nan), np.full(1, np.nan))
            levels.append(Level(label, *(float(column[0]) for column in own)))
    return tuple(lines), tuple(levels)
