"""Figures: the same bytes every time, every line and label where it belongs."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
import synthetic
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from scipy.stats import norm

from rankbench.drawing.canvas import LogAxis, picture_bytes, titled_canvas
from rankbench.drawing.looks import assign_looks, styled
from rankbench.errors import SpecError
from rankbench.interfaces.figure import Dot, Drawing, Plot
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.suite import Experiment, Figure, matches
from rankbench.plugin import manager
from rankbench.plugin.manager import check_tables, figure_kind
from rankbench.reports.experiment_data import ExperimentData
from rankbench.reports.figures import DrawnFigure, SampledResults, drawn_figures
from rankbench.suites.figure_curves import Curves
from rankbench.suites.figure_risk import line_names, parameter_lines, parameter_value
from rankbench.suites.suite_files import read_suite


def made(data: ExperimentData, **table: Any) -> Drawing:
    """Return a figure as data; its file is called ``g``."""
    figure = Figure.model_validate({"file": "g"} | table)
    return figure_kind(figure).drawing(figure, SampledResults(data))


def canvas_of(data: ExperimentData, **table: Any) -> Canvas:
    """Return a canvas as a suite that has this figure alone draws it; by default its first one, else of a table."""
    figure = data.experiment.figures[0] if "kind" not in table else Figure.model_validate({"file": "g"} | table)
    figure = figure if "kind" in table else figure.model_copy(update=table)
    drawing = figure_kind(figure).drawing(figure, SampledResults(data))
    return DrawnFigure(data, figure, drawing).canvas(assign_looks([drawing]))


def pictures(data: ExperimentData) -> dict[str, bytes]:
    figures = drawn_figures(data)
    looks = assign_looks([one.drawing for one in figures])
    return {
        f"{one.figure.file}.{end}": content
        for one in figures
        for end, content in picture_bytes(one.canvas(looks)).items()
    }


def legend_of(drawn: Canvas | Axes) -> list[str]:
    legend = drawn.legends[0] if isinstance(drawn, Canvas) else drawn.get_legend()
    return [text.get_text() for text in legend.get_texts()]


@pytest.fixture(scope="module")
def experiments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ExperimentData]:
    folder = synthetic.write(tmp_path_factory.mktemp("run"), synthetic.paper(), {"design": 20, "heldout": 15})
    return {data.experiment.name: data for data in synthetic.experiments(folder)}


def mean_of(data: ExperimentData, label: str, split: str, matched: int = 0) -> float:
    runs = data.by_n[matched].runs(label)
    return float(data.means(runs, "ndcg", split, data.by_n[matched].repetitions).mean())  # type: ignore[arg-type]


@pytest.mark.full
def test_bytes_are_the_same_and_nothing_global_is_touched(experiments: dict[str, ExperimentData]) -> None:
    before = dict(matplotlib.rcParams)
    one = pictures(experiments["figure-4"])
    with matplotlib.rc_context({"font.size": 20, "axes.grid": False}):
        assert pictures(experiments["figure-4"]) == one
    assert dict(matplotlib.rcParams) == before
    assert set(one) == {"figure-4.svg", "figure-4.png"}
    assert one["figure-4.png"].startswith(b"\x89PNG")
    assert not re.search(rb"<dc:date>|20\d\d-\d\d-\d\d", one["figure-4.svg"])


@pytest.mark.full
def test_risk_against_the_order(experiments: dict[str, ExperimentData]) -> None:
    canvas = canvas_of(experiments["figure-3"])
    assert len(canvas.axes) == 8
    first, below = canvas.axes[0], canvas.axes[4]
    ticks = [tick.get_text() for tick in below.get_xticklabels()]
    assert ticks == ["1", "3", "10", "30", "100", "300", "1000", "∞"]
    assert first.get_title() == "n = 200,000"
    assert first.get_ylabel() == "NDCG risk (less is better),\ndesign queries"
    assert below.get_ylabel() == "NDCG risk (less is better),\nheld-out queries"
    names = ["regression", "SGD 1/t", "logistic", "full information", "hollow: the same as k = ∞"]
    assert legend_of(canvas) == names
    expected = mean_of(experiments["figure-3"], "regression k=1", "design")
    assert any(np.isclose(line.get_ydata()[0], expected) for line in first.get_lines() if len(line.get_ydata()))
    assert "simulated data; 95% bands over 12 repetitions" in canvas.get_suptitle()


def test_risk_against_lambda_has_a_line_for_each_order(experiments: dict[str, ExperimentData]) -> None:
    canvas = canvas_of(experiments["figure-4"])
    names = ["regression k=10", "regression k=100", "regression k=inf"]
    assert (len(canvas.axes), legend_of(canvas)) == (2, names)
    matched = experiments["figure-4"].by_n[0]
    found = parameter_lines(matched, ["regression*"], "lambda")
    assert sorted(line_names(found, "lambda").values()) == names
    for points in found.values():
        assert [value for value, _ in points] == pytest.approx([10.0**-p for p in range(6, -1, -1)])
    assert len(parameter_lines(matched, ["regression*"], "k")) == 7


def test_curves(experiments: dict[str, ExperimentData]) -> None:
    canvas = canvas_of(experiments["figure-2"])
    assert len(canvas.axes) == 6
    assert legend_of(canvas.axes[4]) == ["SGD k=1", "SGD k=10", "SGD k=100", "SGD k=1000"]
    assert legend_of(canvas.axes[5]) == ["n = 200,000", "n = 400,000", "n = 800,000", "n = 1,600,000"]
    exact = canvas.axes[2].get_lines()[0]
    expected = np.mean([synthetic.curve_values(1.0, 400_000, r) for r in range(8)], axis=0)
    np.testing.assert_allclose(exact.get_ydata(), expected)
    assert canvas.axes[2].get_yscale() == canvas.axes[2].get_xscale() == "log"


@pytest.mark.parametrize(("asked", "found"), [("log-linear", ("log", "linear")), ("linear", ("linear", "linear"))])
def test_a_suite_says_what_axes_its_curves_have(
    experiments: dict[str, ExperimentData], asked: str, found: tuple[str, str]
) -> None:
    canvas = canvas_of(experiments["figure-2"], axes=asked, steps="false alarms")
    assert {(axes.get_xscale(), axes.get_yscale()) for axes in canvas.axes} == {found}
    assert {axes.get_xlabel() for axes in canvas.axes} == {"", "false alarms"}


def test_growth(experiments: dict[str, ExperimentData]) -> None:
    data = experiments["figure-3"]
    canvas = canvas_of(data, kind="growth", series=("regression k=1*",), references=("logistic",))
    assert [axes.get_title() for axes in canvas.axes] == ["design queries", "held-out queries"]
    names = ["regression k=1", "regression k=10", "regression k=100", "regression k=1000", "logistic"]
    assert legend_of(canvas) == names
    heldout = canvas.axes[1]
    # Means that span less than a decade have a linear axis.
    assert heldout.get_yscale() == "linear"
    n = [matched.n for matched in data.by_n]
    np.testing.assert_allclose(heldout.get_xticks(), np.log10(n))
    (color,) = {text.get_color() for text in heldout.get_lines() if text.get_label() == "regression k=10"}
    line, *_ = [line for line in heldout.get_lines() if line.get_color() == color and len(line.get_xdata())]
    np.testing.assert_allclose(line.get_xdata(), np.log10(n))
    expected = [mean_of(data, "regression k=10", "heldout", matched) for matched in range(len(n))]
    np.testing.assert_allclose(line.get_ydata(), expected)
    assert canvas.axes[0].get_ylabel() == "mean NDCG loss\n(less is better)"


def test_a_long_title_stays_inside_the_picture() -> None:
    drawing = Drawing(((Plot(dots=(Dot("a", "a", 1.0, 0.5, 1.5),)),),), ("a",))
    canvas = titled_canvas(drawing, "Methods\n" + "differences: 95% over queries and repetitions; " * 3)
    canvas.draw_without_rendering()
    (box,) = (text.get_window_extent() for text in canvas.texts if text.get_text() == canvas.get_suptitle())
    assert canvas.bbox.x0 <= box.x0 < box.x1 <= canvas.bbox.x1
    assert " ".join(canvas.get_suptitle().split()).count("repetitions;") == 3


def test_the_data_and_few_repetitions_stand_in_the_title(tmp_path: Path) -> None:
    real = {"simulated": False, "dataset": "mq2008:fold=2", "assumptions": []}
    (data,) = synthetic.experiments(synthetic.write(tmp_path / "real", synthetic.paper()[1:2], {"design": 5}, **real))
    assert "\nmq2008; 95% bands over 12 repetitions" in canvas_of(data).get_suptitle()
    plan = synthetic.small()
    plan.extra, plan.repetitions = {"figures": [{"file": "f", "kind": "dots", "title": "Methods"}]}, 3
    (data,) = synthetic.experiments(synthetic.write(tmp_path / "few", [plan]))
    canvas = canvas_of(data)
    assert canvas.get_suptitle() == "Methods\nsimulated data; no intervals: 3 repetitions, fewer than 4"
    assert all(len(line.get_xdata()) == 1 for line in canvas.axes[0].get_lines())
    # A difference of so few has none either; of one more the title says of what.
    plan.extra["figures"][0]["against"] = "regression k=1"
    (data,) = synthetic.experiments(synthetic.write(tmp_path / "against", [plan]))
    canvas = canvas_of(data)
    assert canvas.get_suptitle() == "Methods\nsimulated data; no intervals: 3 repetitions, fewer than 4"
    plan.repetitions = 4
    (data,) = synthetic.experiments(synthetic.write(tmp_path / "enough", [plan]))
    canvas = canvas_of(data)
    assert canvas.get_suptitle() == "Methods\nsimulated data; 95% over queries and repetitions"
    assert any(len(line.get_xdata()) == 2 for line in canvas.axes[0].get_lines())


def test_contenders_that_repeat_themselves_have_bands_over_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = synthetic._seed
    without = {"query": None, "draw": -1, "own": -1}
    monkeypatch.setattr(synthetic, "_seed", lambda kind, *parts: seed(kind, *parts[: without[kind]]))
    plan = synthetic.small()
    plan.extra = {"figures": [{"file": "f", "kind": "dots"}]}
    plan.n = (200_000,)
    (data,) = synthetic.experiments(synthetic.write(tmp_path, [plan], {"design": 40}))
    (one,) = drawn_figures(data)
    assert "; 95% bands over queries and repetitions" in one.canvas(assign_looks([one.drawing])).get_suptitle()
    matched = data.by_n[0]
    values = {runs.label: data.values(runs, "ndcg", "design") for runs in matched.compared}
    for dot in one.drawing.plots[0][0].dots:
        x = values[dot.row]
        expected = norm.interval(0.95, x.mean(), x.std(ddof=1) / len(x) ** 0.5)
        assert (dot.lower, dot.upper) == pytest.approx(expected, rel=2e-3)  # by bootstrap


@pytest.mark.full
def test_labels_from_outside_are_not_mathematics(tmp_path: Path) -> None:
    plan = synthetic.drawn("f", title="$\\bad", series=["*"], references=["b$x_"])
    plan.contenders[0].label, plan.contenders[3].label = "_a $\\frac{", "b$x_"
    (data,) = synthetic.experiments(synthetic.write(tmp_path, [plan]))
    assert len(pictures(data)["f.png"]) > 10_000


@pytest.mark.full
def test_empty_figures_can_be_drawn(tmp_path: Path) -> None:
    assert all(
        map(pictures, synthetic.experiments(synthetic.write(tmp_path, synthetic.paper(), {"design": 5}, order=[])))
    )


def test_parameters_and_labels() -> None:
    config = {"k": "inf", "lambda": 0.1, "aggregator": {"name": "x", "smoothing": 1}, "flag": True}
    assert parameter_value(config, "k") == math.inf
    assert parameter_value(config, "aggregator.smoothing") == 1.0
    assert [parameter_value(config, p) for p in ("flag", "nothing", "k.x", "aggregator.name")] == [None] * 4
    assert matches("regression k=1", ["regression k=*"])
    assert matches("a [b]?", ["a [b]?"])
    assert not matches("a b", ["a [b]?"])


@pytest.mark.parametrize("kind", ["growth", "risk"])
def test_a_figure_that_names_no_contender_has_all_of_them(experiments: dict[str, ExperimentData], kind: str) -> None:
    data = experiments["figure-3"]
    more = {"parameter": "k"} if kind == "risk" else {}
    shown = made(data, kind=kind, **more)
    assert not [omission for omission in shown.left_out if omission.cause == "choice"]
    labels = {runs.label for matched in data.by_n for runs in matched.contenders}
    assert len(shown.names) == (len(labels) if kind == "growth" else 4)
    known = made(data, kind=kind, references=("logistic",), **more)
    assert ("regression k=1" in known.names) == (kind == "growth")


def test_a_risk_without_a_parameter_is_refused(experiments: dict[str, ExperimentData]) -> None:
    figure = Figure.model_validate({"file": "g", "kind": "risk"})
    experiment: Experiment = experiments["figure-3"].experiment.model_copy(update={"figures": (figure,)})
    with pytest.raises(SpecError, match="'risk' needs the parameter"):
        check_tables(experiment, "experiments.0")


@pytest.mark.parametrize(
    ("n", "words"),
    [
        ((4_100, 16_400, 65_600), ["4100", "16400", "65600"]),
        ((1_000, 1_100, 1_200, 10_000), ["1000", "10000"]),  # three that would touch
        ((100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000), ["100", "200", "300", "400", "600", "800"]),
        (
            tuple(1_234 * 3**k for k in range(6)),
            [r"$1.234\cdot 10^{3}$", r"$1.1106\cdot 10^{4}$", r"$9.9954\cdot 10^{4}$"],
        ),
    ],
)
def test_words_of_ticks_do_not_touch(n: tuple[int, ...], words: list[str]) -> None:
    """At the smallest size that plots have, measured as they are drawn; each n has a tick of some kind."""
    with styled():
        canvas = Canvas(figsize=(3.2, 2.4), layout="constrained")
        axes = canvas.subplots()
        LogAxis.with_places_for(n).ticks(axes)
        axes.set_xlim(*np.log10((n[0], n[-1])))
        assert [tick.get_text() for tick in axes.get_xticklabels()] == words
        canvas.draw_without_rendering()
        boxes = [text.get_window_extent() for text in axes.get_xticklabels()]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))
    assert sorted({*axes.get_xticks(), *axes.get_xticks(minor=True)}) == pytest.approx(np.log10(n))


def test_zero_and_infinity_have_places_of_their_own() -> None:
    axis = LogAxis.with_places_for([math.inf, 1, 10, 1000, 0])
    places = [axis.places[value] for value in (0, 1, 10, 1000, math.inf)]
    assert places == sorted(places)
    assert places[1:4] == pytest.approx([0, 1, 3])
    assert places[4] - places[3] >= 0.4


@pytest.mark.parametrize(
    ("metric", "lines", "words"),
    [
        ("ndcg:gain=identity,cutoff=10", 1, "mean NDCG loss\n(gain identity, cutoff 10; less is better)"),
        ("ndcg", 1, "mean NDCG loss (less is better)"),
        ("misordered", 2, "mean misordered loss\n(less is better)"),
        ("log-loss", 1, "mean log-loss (less is better)"),
    ],
)
def test_an_axis_says_a_metric_in_words(metric: str, lines: int, words: str) -> None:
    assert Metric(metric).axis(before="mean ", lines=lines) == words


def test_no_title_of_a_built_in_figure_states_an_n() -> None:
    """Data may be too few for it: the drawing says the n that was drawn."""
    own = [name for name in manager.suites() if manager.origin("suite", name).distribution == "rankbench"]
    for path in map(manager.suites().__getitem__, own):
        for figure in (figure for experiment in read_suite(path).experiments for figure in experiment.figures):
            kind = figure_kind(figure)
            titles = [figure.title, *(panel.title for panel in (kind.panels if isinstance(kind, Curves) else ()))]
            assert not [title for title in titles if re.search(r"\bn = \d", title)], path
