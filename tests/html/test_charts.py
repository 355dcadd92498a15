"""Charts have the numbers that matplotlib draws, and scales that do not hide any."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankbench.drawing.canvas import titled_canvas
from rankbench.drawing.looks import assign_looks
from rankbench.html.charts import chart_content
from rankbench.interfaces.figure import Dot, Drawing, Level, Line, Plot

NAN = math.nan


def line(name: str, x: list[float], y: list[float], half: float = 0.1, **more: Any) -> Line:
    values = np.array(y)
    return Line(name, np.array(x, dtype=float), values, values - half, values + half, **more)


def content(drawing: Drawing, wide: Drawing | None = None) -> dict[str, Any]:
    found = chart_content(drawing, assign_looks([drawing]), wide, "queries")
    return json.loads(json.dumps(found, allow_nan=False))


def test_points_have_six_digits_and_their_band() -> None:
    plot = Plot("t", "x", "y", (line("a", [1, 2], [1 / 3, NAN]),), (Level("b", 2.0, NAN, NAN),))
    found = content(Drawing(((plot,),), ("a", "b")))
    (spec,) = found["specs"]
    (points,) = spec["data"]["values"]
    assert points["x"] == [1, 2]
    assert points["y"] == [0.333333, None]
    assert points["lower"] == [0.233333, None]
    assert points["upper"] == [0.433333, None]
    assert [one["name"] for one in found["series"]] == ["a", "b"]
    level = spec["layer"][0]["data"]["values"]
    assert level == [{"series": "b", "y": 2.0, "lower": None, "upper": None, "lower2": None, "upper2": None}]
    assert found["bands"]
    assert found["wide"] == ""


def test_zero_and_infinity_stand_apart_from_the_logarithmic_axis() -> None:
    plot = Plot("t", "k", "y", (line("a", [0, 1, 10, math.inf], [1, 2, 3, 4]),))
    (spec,) = content(Drawing(((plot,),), ("a",), x_scale="ticks"))["specs"]
    (points,) = spec["data"]["values"]
    assert points["x"][1:3] == [0, 1]
    assert points["x"][0] < 0
    assert points["x"][3] > 1
    assert points["at"] == ["0", "1", "10", "∞"]
    assert points["alone"] == [True, False, False, True]
    axis = spec["layer"][0]["encoding"]["x"]["axis"]
    assert axis["values"] == sorted(points["x"])


def test_days_since_1970_are_dates_on_paper_and_on_a_page() -> None:
    drawing = Drawing(((Plot("t", "time", "y", (line("a", [0, 19_358.5], [1, 2]),)),),), ("a",), x_scale="time")
    (spec,) = content(drawing)["specs"]
    assert spec["data"]["values"][0]["x"] == [0, 1_672_574_400_000]  # 2023-01-01, noon
    across = spec["layer"][0]["encoding"]["x"]
    assert (across["type"], across["scale"]) == ("temporal", {"type": "utc"})
    canvas = titled_canvas(drawing, "")
    canvas.draw_without_rendering()
    assert {"1970", "2020"} <= {text.get_text() for text in canvas.axes[0].get_xticklabels()}


def test_plots_of_a_row_share_their_axis_which_follows_the_bands_that_are_chosen() -> None:
    near, far = (
        Drawing(((Plot(lines=(line("a", [1, 2], [1, 2], half),)), Plot(lines=(line("a", [1, 2], [5, 6], half),))),),
                ("a",), same_y=True)
        for half in (0.5, 2.0)
    )  # fmt: skip
    found = content(near, far)
    assert found["wide"] == "queries"
    assert found["note"] == ""
    assert content(replace(near, note="differences: 95% over queries"))["note"] == "differences: 95% over queries"
    assert found["columns"] == 2
    for spec in found["specs"]:
        scale = spec["layer"][0]["encoding"]["y"]["scale"]
        assert scale["domain"] == [{"expr": "wide ? -1.0 : 0.5"}, {"expr": "wide ? 8.0 : 6.5"}]


@pytest.mark.parametrize(("means", "logarithmic"), [([1, 10], True), ([1, 9], False), ([-1, 10], False)])
def test_values_have_a_logarithmic_scale_where_matplotlib_has_one(means: list[float], logarithmic: bool) -> None:
    plot = Plot(lines=(line("a", [1, 2], means, 5.0),))
    (spec,) = content(Drawing(((plot,),), ("a",), y_scale="log"))["specs"]
    scale = spec["layer"][0]["encoding"]["y"]["scale"]
    assert (scale.get("type") == "log") is logarithmic
    if logarithmic:  # what lies below the axis is at its end
        assert spec["data"]["values"][0]["lower"] == [scale["domain"][0], 5.0]


def test_dots_have_rows_of_their_own() -> None:
    near, far = (
        Drawing(((Plot(x_label="score " * 9, dots=dots, notes="places"),),), legends="none")
        for dots in (
            (Dot("m", "one\ntwo", 1.0, 0.5, 1.5, "1 to 2"), Dot("m", "one two", 2.0, NAN, NAN)),
            (Dot("m", "one\ntwo", 1.0, 0.1, 1.9, "1 to 2"), Dot("m", "one two", 2.0, NAN, NAN)),
        )
    )
    found = content(near, far)
    (spec,) = found["specs"]
    rows = spec["data"]["values"]
    names = ("x", "lower", "upper", "lower2", "upper2", "note")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (1.0, 0.5, 1.5, 0.1, 1.9, "1 to 2"),
        (2.0, None, None, None, None, ""),
    ]
    assert found["series"] == [{"name": row["series"]} for row in rows], "each may be hidden"
    assert len({row["series"] for row in rows}) == 2
    assert (found["bands"], found["wide"]) == (True, "queries")
    assert spec["layer"][1]["encoding"]["x"]["title"] == ["score " * 5 + "score", "score score score"], (
        "a phone's width"
    )
    assert content(near)["wide"] == ""
