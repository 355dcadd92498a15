"""Charts are figures as Vega-Lite specifications: plain JSON, made from the data that matplotlib draws."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import distinct, one_line
from rankbench.drawing.canvas import DECADE, LogAxis
from rankbench.drawing.looks import Look, worded_plots
from rankbench.interfaces.figure import Dot, Drawing, Level, Line, Plot

VERSION = "https://vega.github.io/schema/vega-lite/v6.json"
"""Version of the language; the page reads nothing from this address."""

SHAPES = {
    "": "circle", "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down", "P": "cross",
    "X": "M-.7,-.7L.7,.7M-.7,.7L.7,-.7", "<": "triangle-left",
}  # fmt: skip
"""Vega's shapes by matplotlib's markers."""

FEW_POINTS = 30
"""Points of a line that have markers of full size."""

LEVEL = [6, 3]
"""Dashes of a level."""

LONGEST = 40
"""Letters of a line of words beside a plot: a phone's width has room for them."""
JsonObject: TypeAlias = dict[str, Any]


def chart_content(
    drawing: Drawing, looks: Mapping[str, Look], wide: Drawing | None = None, units: str = "units"
) -> JsonObject:
    """Return a figure as JSON.

    Parameters
    ----------
    drawing : Drawing
    looks : mapping of str to Look
        Color, marker and dashes by the name of a series, see `rankbench.drawing.looks.assign_looks`.
    wide : Drawing, optional
        The same figure with intervals over units and repetitions, which a reader may choose.
    units : str
        Noun for the units, as "queries".

    Returns
    -------
    dict
        ``specs``: a Vega-Lite specification for each plot, row by row from the top left; its parameters are
        ``hidden`` (names of series), ``bands`` and ``wide`` (true or false). ``columns``: number of plots in a row.
        ``series``: name of each series or row of dots; a series has color, shape and dashes too. ``bands``: whether
        there are such. ``wide``: the units, where intervals over them differ. ``hollow``: meaning of hollow markers.
        ``note``: the figure's own note, as on intervals that no choice of bands changes.
    """
    shown = distinct(drawing.names, one_line)
    plots = [plot for row in drawing.plots for plot in row]
    others = [plot for row in wide.plots for plot in row] if wide else plots
    marks = _marks(plots)
    names = {mark.name for mark in marks if not isinstance(mark, Dot)}
    lines = {mark.name for mark in marks if isinstance(mark, Line)}
    rows = distinct((mark.row for mark in marks if isinstance(mark, Dot)), one_line)
    pairs = zip(marks, _marks(others), strict=True)
    differ = any(not np.array_equal(one.lower, other.lower, equal_nan=True) for one, other in pairs)
    series: list[JsonObject] = [{"name": row} for row in rows.values()]
    for name in (name for name in drawing.names if name in names):
        look = looks[name]
        drawn = {"shape": SHAPES[look.marker], "dash": _dash(look)} if name in lines else {"shape": "", "dash": LEVEL}
        series.append({"name": shown[name], "color": look.color, **drawn})
    return {
        "specs": [*_specs(drawing, looks, others, rows)],
        "columns": len(drawing.plots[0]),
        "series": series,
        "bands": any(np.isfinite(mark.lower).any() for mark in marks),
        "wide": units if differ else "",
        "hollow": drawing.hollow if any(line.hollow is not None for plot in plots for line in plot.lines) else "",
        "note": one_line(drawing.note),
    }


def _specs(
    drawing: Drawing, looks: Mapping[str, Look], wide: Sequence[Plot], rows: Mapping[str, str]
) -> Iterator[JsonObject]:
    axis = LogAxis.with_places_for(
        x for row in drawing.plots for plot in row for line in plot.lines for x in line.x.tolist()
    )
    # Plots may stand one below the other on a page.
    for r, row in enumerate(worded_plots(drawing)):
        for c, plot in enumerate(row):
            beside = wide[r * len(row) : (r + 1) * len(row)]
            if plot.dots:
                yield _dots(plot, beside[c], rows)
                continue
            up = _up(row, beside, drawing.y_scale) if drawing.same_y else _up((plot,), (), drawing.y_scale)
            yield _Lines(plot, beside[c], drawing, looks, axis, up).spec()


def _marks(plots: Sequence[Plot]) -> list[Line | Level | Dot]:
    """Return the lines, levels and dots of plots, in their order."""
    found = list[Line | Level | Dot]()
    for plot in plots:
        found += [*plot.lines, *plot.levels, *plot.dots]
    return found


def _wrapped(words: str) -> list[str]:
    return [piece for line in words.split("\n") for piece in textwrap.wrap(line, LONGEST) or [""]]


def _dash(look: Look) -> list[float]:
    return [1, 0] if isinstance(look.dashes, str) else [3 * length for length in look.dashes[1]]


def _number(value: float) -> float | None:
    """Return a number with six significant digits, as CSV has it: the last bits are the machine's."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [_number(value) for value in values]


def _tick(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:,g}"


def _titled(plot: Plot, words: str) -> JsonObject:
    """Return the common part of all plots: version, title, description for screen readers, width, parameters."""
    title = {"title": {"text": _wrapped(plot.title), "anchor": "start"}} if plot.title else {}
    return {
        "$schema": VERSION,
        "description": one_line(f"{plot.title} {words}"),
        **title,
        "width": "container",
        "params": [{"name": "hidden", "value": []}, {"name": "bands", "value": True}, {"name": "wide", "value": False}],
    }


def _up(plots: Sequence[Plot], wide: Sequence[Plot], scale: str) -> JsonObject:
    """Return the vertical scale of plots that share it, logarithmic where matplotlib's is; `wide` as for a chart."""
    marks = _marks(plots)
    means = _finite(mark.y if isinstance(mark, Line) else mark.value for mark in marks)
    if scale == "log" and len(means) and 0 < means.min() * DECADE <= means.max():
        return {"type": "log", "clamp": True, "domain": _numbers((means.min() / 1.5, means.max() * 1.5))}
    if len(plots) == 1 or not len(means):
        return {"zero": False}
    bands = (_finite(edge for mark in _marks(some) for edge in (mark.lower, mark.upper)) for some in (plots, wide))
    ends = [_numbers((every.min(), every.max())) for band in bands for every in [np.concatenate([means, band])]]
    if ends[0] == ends[1]:
        return {"zero": False, "domain": ends[0]}
    return {"zero": False, "domain": [{"expr": f"wide ? {far} : {near}"} for near, far in zip(*ends, strict=True)]}


def _finite(parts: Iterable[float | NDArray[np.float64]]) -> NDArray[np.float64]:
    found = np.concatenate([np.empty(0), *map(np.atleast_1d, parts)])
    return np.asarray(found[np.isfinite(found)], dtype=np.float64)


_INTERVAL = [
    {"field": "low", "title": "from", "type": "quantitative", "format": ".4~g"},
    {"field": "high", "title": "to", "type": "quantitative", "format": ".4~g"},
]

_ENDS = "' (' + format(datum.low, '.4~g') + ' to ' + format(datum.high, '.4~g') + ')'"


def _spoken(words: str, value: str) -> JsonObject:
    """Return the transform that makes a point's text for screen readers, as positions on an axis are not values."""
    said = f"{words} + ': ' + format(datum.{value}, '.5~g') + (isValid(datum.low) ? {_ENDS} : '')"
    return {"calculate": said, "as": "spoken"}


_SPOKEN: JsonObject = {"description": {"field": "spoken", "type": "nominal"}}

_KEPT: list[JsonObject] = [
    {"filter": "indexof(hidden, datum.series) < 0"},
    {"calculate": "wide ? datum.lower2 : datum.lower", "as": "low"},
    {"calculate": "wide ? datum.upper2 : datum.upper", "as": "high"},
]


def _zoom(*axes: str) -> list[JsonObject]:
    """Return the parameter of the places that a plot shows: the wheel zooms with the key Ctrl, and alone scrolls."""
    selected = {"type": "interval", "encodings": [*axes], "zoom": "wheel![event.ctrlKey]"}
    return [{"name": "zoom", "select": selected, "bind": "scales"}]


def _zero(side: str) -> JsonObject:
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "aria": False, "opacity": 0.6},
        "encoding": {side: {"datum": 0}},
    }


_DAY = 86_400_000
"""Milliseconds, in which Vega counts times."""

_LENGTH = 1.7
"""Inches of the horizontal axis of a narrow plot."""


class _Lines:
    """A plot of lines and levels."""

    def __init__(
        self, plot: Plot, wide: Plot, drawing: Drawing, looks: Mapping[str, Look], axis: LogAxis, up: JsonObject
    ) -> None:
        self.plot, self.wide, self.scale, self.up = plot, wide, drawing.x_scale, up
        # A band may reach below zero, where a logarithmic scale has no place.
        self.least = up["domain"][0] if up.get("type") == "log" else -math.inf
        self.axis = axis if drawing.x_scale == "ticks" else None
        self.shown = distinct(drawing.names, one_line)
        self.names = list(dict.fromkeys(mark.name for mark in _marks([plot])))
        self.looks = [looks[name] for name in self.names]

    def spec(self) -> JsonObject:
        """Return the plot."""
        plot = self.plot
        lines = [*map(self._line, plot.lines, self.wide.lines)]
        fields = sorted({name for line in lines for name, value in line.items() if isinstance(value, list)})
        # Points stand on top, for the pointer to reach them.
        common = {"x": self._across(), "y": self._value(), **self._tint()}
        marks = {"transform": _KEPT, "encoding": common, "layer": [*self._layers()]}
        layers = [*(self._levels() if plot.levels else ()), marks]
        return {
            **_titled(plot, f"{plot.y_label} by {plot.x_label}"),
            "height": 260,
            "data": {"values": lines},
            "transform": [{"flatten": fields}] if fields else [],
            "layer": [*layers, _zero("y")] if plot.zero else layers,
        }

    def _line(self, line: Line, wide: Line) -> JsonObject:
        """Return a line as lists of numbers, which Vega-Lite makes points of."""
        found: JsonObject = {"series": self.shown[line.name]}
        if line.label:
            found["label"] = one_line(line.label)
        x = line.x.tolist()
        if self.scale == "time":
            found["x"] = [round(days * _DAY) for days in x]
        else:
            found["x"] = _numbers(self.axis.places[value] for value in x) if self.axis else _numbers(x)
        found |= {"y": _numbers(line.y), "lower": self._edge(line.lower), "upper": self._edge(line.upper)}
        if wide is not line:
            found |= {"lower2": self._edge(wide.lower), "upper2": self._edge(wide.upper)}
        if self.axis:
            inner = np.isfinite(line.x) & (line.x > 0)
            # A point without neighbors has a bar, as one at infinity has.
            found |= {"at": [*map(_tick, x)], "alone": (~inner if inner.sum() > 1 else inner | True).tolist()}
        if line.hollow is not None:
            found["hollow"] = line.hollow.tolist()
        return found

    def _edge(self, values: NDArray[np.float64]) -> list[float | None]:
        return _numbers(np.maximum(values, self.least))

    def _across(self) -> JsonObject:
        across: JsonObject = {"field": "x", "type": "quantitative", "title": _wrapped(self.plot.x_label)}
        if self.scale == "time":
            return across | {"type": "temporal", "scale": {"type": "utc"}}
        if self.axis is None:
            return across | {"scale": {"type": "log"} if self.scale == "log" else {"zero": False}}
        labeled = {self.axis.places[x]: _tick(x) for x in self.axis.labeled(_LENGTH)}
        ticks = " : ".join(f"datum.value == {_number(place)} ? '{words}'" for place, words in labeled.items())
        return across | {
            "scale": {"zero": False, "padding": 8, "nice": False},
            "axis": {
                "values": _numbers(sorted(self.axis.places.values())),
                "labelExpr": f"{ticks} : ''",
                "labelOverlap": False,
                "grid": False,
            },
        }

    def _value(self) -> JsonObject:
        # Markers at the edge stay whole.
        scale = {"padding": 6, **self.up}
        return {"field": "y", "type": "quantitative", "scale": scale, "title": _wrapped(self.plot.y_label)}

    def _tint(self) -> JsonObject:
        return {"color": self._scaled([look.color for look in self.looks])}

    def _scaled(self, values: Sequence[Any]) -> JsonObject:
        domain = [self.shown[name] for name in self.names]
        return {"field": "series", "type": "nominal", "scale": {"domain": domain, "range": values}, "legend": None}

    def _told(self) -> list[JsonObject]:
        words = "label" if any(line.label for line in self.plot.lines) else "series"
        along = {"field": "at" if self.axis else "x", "title": self.plot.x_label.split("\n")[0] or "x"}
        return [
            {"field": words, "title": "series"},
            along | ({"type": "temporal", "timeUnit": "utcyearmonthdatehoursminutes"} if self.scale == "time" else {}),
            {"field": "y", "title": "value", "type": "quantitative", "format": ".5~g"},
            *_INTERVAL,
        ]

    def _layers(self) -> Iterator[JsonObject]:
        """Yield bands, lines and points, which share their scales."""
        band: JsonObject = {"y": {"field": "low"}, "y2": {"field": "high"}}
        yield {
            "transform": [{"filter": "bands && isValid(datum.low) && !datum.alone"}],
            "mark": {"type": "area", "opacity": 0.18, "aria": False},
            "encoding": band,
        }
        if self.axis:
            yield {
                "transform": [{"filter": "bands && isValid(datum.low) && datum.alone"}],
                "mark": {"type": "rule", "opacity": 0.3, "strokeWidth": 7, "aria": False},
                "encoding": band,
            }
        yield {
            "transform": [{"filter": "!datum.alone"}],
            "mark": {"type": "line", "aria": False},
            "encoding": {"strokeDash": self._scaled([*map(_dash, self.looks)])},
        }
        longest = max((len(line.x) for line in self.plot.lines), default=0)
        across = json.dumps(f", {one_line(self.plot.x_label)} ")
        place = f"datum.{'at' if self.axis else 'x'}"
        place = f"utcFormat({place}, '%Y-%m-%d %H:%M')" if self.scale == "time" else place
        yield {
            "transform": [_spoken(f"datum.series + {across} + {place}", "y")],
            "mark": {"type": "point", "size": 40 if longest <= FEW_POINTS else 8},
            "encoding": {
                **_SPOKEN,
                "shape": self._scaled([SHAPES[look.marker] for look in self.looks]),
                "fill": {"condition": {"test": "datum.hollow", "value": "white"}, **self._tint()["color"]},
                "tooltip": self._told(),
            },
            "params": _zoom("x", "y"),
        }

    def _levels(self) -> Iterator[JsonObject]:
        """Yield the layers of values without a place on the horizontal axis."""
        levels = []
        for one, other in zip(self.plot.levels, self.wide.levels, strict=True):
            edges = self._edge(np.array([one.lower, one.upper, other.lower, other.upper]))
            named = dict(zip(("lower", "upper", "lower2", "upper2"), edges, strict=True))
            levels.append({"series": self.shown[one.name], "y": _number(one.value), **named})
        value = self._value()
        told = [one for one in self._told() if one["field"] not in ("at", "x", "label")]
        common: JsonObject = {"data": {"values": levels}, "encoding": {**self._tint(), "tooltip": told}}
        yield common | {
            "transform": [*_KEPT, {"filter": "bands && isValid(datum.low)"}],
            "mark": {"type": "rect", "opacity": 0.15, "aria": False},
            "encoding": {**common["encoding"], "y": value | {"field": "low"}, "y2": {"field": "high"}},
        }
        yield common | {
            "transform": [*_KEPT, _spoken("datum.series", "y")],
            "mark": {"type": "rule", "strokeWidth": 1.5, "strokeDash": LEVEL},
            "encoding": {**common["encoding"], **_SPOKEN, "y": value},
        }


def _dots(plot: Plot, wide: Plot, shown: Mapping[str, str]) -> JsonObject:
    """Return a plot of dots, a row for each; `shown` has the rows' labels."""
    rows = []
    for one, other in zip(plot.dots, wide.dots, strict=True):
        row = {"series": shown[one.row], "x": _number(one.value), "note": one.note}
        row |= {"lower": _number(one.lower), "upper": _number(one.upper)}
        rows.append(row | {"lower2": _number(other.lower), "upper2": _number(other.upper)})
    across: JsonObject = {"type": "quantitative", "title": _wrapped(plot.x_label), "scale": {"zero": False}}
    told = [
        {"field": "series", "title": "name"},
        {"field": "x", "title": "value", "type": "quantitative", "format": ".5~g"},
        *_INTERVAL,
        *([{"field": "note", "title": plot.notes or "note"}] if any(one.note for one in plot.dots) else []),
    ]
    # All rows in their order: a layer of those with intervals alone would come first.
    along = {"field": "series", "type": "nominal", "scale": {"domain": [row["series"] for row in rows]}, "title": None}
    common = {"y": along, "tooltip": told}
    layers: list[JsonObject] = [
        {
            "transform": [{"filter": "bands && isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5, "aria": False},
            "encoding": common | {"x": across | {"field": "low"}, "x2": {"field": "high"}},
        },
        {
            "transform": [_spoken("datum.series", "x")],
            "mark": {"type": "point", "filled": True, "size": 45},
            "encoding": common | _SPOKEN | {"x": across | {"field": "x"}},
            "params": _zoom("x"),
        },
    ]
    return {
        **_titled(plot, plot.x_label),
        # A number: of a step Vega-Lite warns that it cannot fit it, although nothing asks it to.
        "height": 20 * max(len(rows), 1),
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": rows},
        "transform": _KEPT,
        "layer": [*layers, _zero("x")] if plot.zero else layers,
    }
