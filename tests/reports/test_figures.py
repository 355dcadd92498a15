"""Figures: the same bytes every time, every line and label where it belongs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import matplotlib
import numpy as np
import pytest
import synthetic
from matplotlib.figure import Figure as Canvas

from rankbench.drawing.canvas import LogAxis, canvas_of
from rankbench.drawing.looks import assign_looks, styled
from rankbench.errors import SpecError
from rankbench.interfaces.figure import matches, metric_words
from rankbench.interfaces.suite import Experiment, Figure, Panel
from rankbench.plugin import manager
from rankbench.plugin.manager import check_tables, figure_kind
from rankbench.reports.experiment_data import Sampler
from rankbench.reports.figures import SampledResults, casts_of, draw_figures, drawings_of, subtitle
from rankbench.store.journal import Journal
from rankbench.suites import figure_curves as curves
from rankbench.suites.figure_curves import Curves
from rankbench.suites.figure_risk import line_names, parameter_lines, parameter_value
from rankbench.suites.suite_files import read_suite


def drawn(sampler: Sampler, figure: Figure) -> Canvas:
    """Return a figure's canvas, as a suite that has this figure alone draws it."""
    view, kind = SampledResults(sampler), figure_kind(figure)
    cast = kind.cast(figure, view)
    drawing = kind.drawing(figure, view, cast)
    canvas = canvas_of(drawing, cast, assign_looks([cast]))
    canvas.suptitle(subtitle(sampler, figure, sampler.races, drawing))
    return canvas


def made(**table: Any) -> Figure:
    return Figure.model_validate({"file": "g"} | table)


def files(sampler: Sampler) -> dict[str, bytes]:
    casts = casts_of(sampler)
    return draw_figures(sampler, casts, drawings_of(sampler, casts), assign_looks(casts))


@pytest.fixture(scope="module")
def samplers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sampler]:
    folder = synthetic.write(tmp_path_factory.mktemp("run"), synthetic.paper(), {"design": 20, "heldout": 15})
    journal = Journal(folder)
    record, members, cells = journal.record(), journal.members(), journal.cells()
    return {e.name: Sampler(journal, record, e, members, cells) for e in record.experiments}


def test_bytes_are_the_same_and_nothing_global_is_touched(samplers: dict[str, Sampler]) -> None:
    before = dict(matplotlib.rcParams)
    one = files(samplers["figure-4"])
    with matplotlib.rc_context({"font.size": 20, "axes.grid": False}):
        assert files(samplers["figure-4"]) == one
    assert dict(matplotlib.rcParams) == before
    assert set(one) == {"figure-4.svg", "figure-4.png"}
    assert one["figure-4.png"].startswith(b"\x89PNG")
    assert not re.search(rb"<dc:date>|20\d\d-\d\d-\d\d", one["figure-4.svg"])


def test_figure_3(samplers: dict[str, Sampler]) -> None:
    sampler = samplers["figure-3"]
    canvas = drawn(sampler, sampler.experiment.figures[0])
    assert len(canvas.axes) == 8
    first = canvas.axes[0]
    ticks = [tick.get_text() for tick in canvas.axes[4].get_xticklabels()]
    assert ticks == ["1", "3", "10", "30", "100", "300", "1000", "∞"]
    assert first.get_title() == "n = 200,000"
    assert first.get_ylabel() == "NDCG risk (less is better),\ndesign queries"
    assert canvas.axes[4].get_ylabel() == "NDCG risk (less is better),\nheld-out queries"
    labels = [text.get_text() for text in canvas.legends[0].get_texts()]
    assert labels == ["regression", "SGD 1/t", "logistic", "full information", "hollow: the same as k = ∞"]
    race = sampler.races[0]
    arm = race.arm("regression k=1")
    assert arm is not None
    expected = sampler.means(arm, "ndcg", "design", race.repetitions).mean()
    assert any(np.isclose(line.get_ydata()[0], expected) for line in first.get_lines() if len(line.get_ydata()))
    assert "simulated data; 95% bands over draws (12 repetitions)" in canvas.get_suptitle()


def test_figure_4_has_a_line_for_each_order(samplers: dict[str, Sampler]) -> None:
    sampler = samplers["figure-4"]
    canvas = drawn(sampler, sampler.experiment.figures[0])
    assert len(canvas.axes) == 2
    labels = [text.get_text() for text in canvas.legends[0].get_texts()]
    assert labels == ["regression k=10", "regression k=100", "regression k=inf"]


def test_figure_2(samplers: dict[str, Sampler]) -> None:
    sampler = samplers["figure-2"]
    canvas = drawn(sampler, sampler.experiment.figures[0])
    assert len(canvas.axes) == 6
    left, right = ([text.get_text() for text in axes.get_legend().get_texts()] for axes in canvas.axes[4:])
    assert left == ["SGD k=1", "SGD k=10", "SGD k=100", "SGD k=1000"]
    assert right == ["n = 200,000", "n = 400,000", "n = 800,000", "n = 1,600,000"]
    exact = canvas.axes[2].get_lines()[0]
    expected = np.mean([synthetic.curve_values(1.0, 400_000, r) for r in range(8)], axis=0)
    np.testing.assert_allclose(exact.get_ydata(), expected)
    assert canvas.axes[2].get_yscale() == canvas.axes[2].get_xscale() == "log"


@pytest.mark.parametrize(("asked", "found"), [("log-linear", ("log", "linear")), ("linear", ("linear", "linear"))])
def test_a_suite_says_what_axes_its_curves_have(
    samplers: dict[str, Sampler], asked: str, found: tuple[str, str]
) -> None:
    sampler = samplers["figure-2"]
    figure = sampler.experiment.figures[0].model_copy(update={"axes": asked, "steps": "false alarms"})
    canvas = drawn(sampler, figure)
    assert {(axes.get_xscale(), axes.get_yscale()) for axes in canvas.axes} == {found}
    assert {axes.get_xlabel() for axes in canvas.axes} == {"", "false alarms"}


def test_real_data_is_named(tmp_path: Path) -> None:
    plan = synthetic.paper()[1]
    folder = synthetic.write(
        tmp_path, [plan], {"design": 5, "heldout": 4}, simulated=False, dataset="mq2008:fold=2", assumptions=[]
    )
    with Journal(folder) as journal:
        record = journal.record()
        sampler = Sampler(journal, record, record.experiments[0], journal.members(), journal.cells())
        canvas = drawn(sampler, sampler.experiment.figures[0])
    assert "\nmq2008; 95% bands over draws (12 repetitions)" in canvas.get_suptitle()


def test_labels_from_outside_are_not_mathematics(tmp_path: Path) -> None:
    plan = synthetic.small()
    plan.contenders[0].label, plan.contenders[3].label = "_a $\\frac{", "b$x_"
    plan.extra = {"figures": [{"file": "f", "kind": "risk", "parameter": "k", "title": "$\\bad",
                               "series": ["*"], "references": ["b$x_"]}]}  # fmt: skip
    synthetic.write(tmp_path, [plan])
    with Journal(tmp_path) as journal:
        record = journal.record()
        found = files(Sampler(journal, record, record.experiments[0], journal.members(), journal.cells()))
    assert len(found["f.png"]) > 10_000


def test_empty_figures_can_be_drawn(tmp_path: Path) -> None:
    synthetic.write(tmp_path, synthetic.paper(), {"design": 5}, order=[])
    with Journal(tmp_path) as journal:
        record, members = journal.record(), journal.members()
        for experiment in record.experiments:
            assert files(Sampler(journal, record, experiment, members, {}))


def test_places_on_the_axis() -> None:
    axis = LogAxis.with_places_for([math.inf, 1, 10, 1000, 0])
    places = [axis.places[value] for value in (0, 1, 10, 1000, math.inf)]
    assert places == sorted(places)
    assert places[1:4] == pytest.approx([0, 1, 3])
    assert places[4] - places[3] >= 0.4
    assert LogAxis.with_places_for([]).places == {}


def test_parameters_and_labels() -> None:
    config = {"k": "inf", "lambda": 0.1, "aggregator": {"name": "x", "smoothing": 1}, "flag": True}
    assert parameter_value(config, "k") == math.inf
    assert parameter_value(config, "aggregator.smoothing") == 1.0
    assert [parameter_value(config, p) for p in ("flag", "nothing", "k.x", "aggregator.name")] == [None] * 4
    assert matches("regression k=1", ["regression k=*"])
    assert matches("a [b]?", ["a [b]?"])
    assert not matches("a b", ["a [b]?"])


def test_lines_group_by_everything_else(samplers: dict[str, Sampler]) -> None:
    race = SampledResults(samplers["figure-4"]).races[0]
    found = parameter_lines(race, ["regression*"], "lambda")
    assert sorted(line_names(found, "lambda").values()) == ["regression k=10", "regression k=100", "regression k=inf"]
    for points in found.values():
        assert [value for value, _ in points] == pytest.approx([10.0**-p for p in range(6, -1, -1)])
    assert len(parameter_lines(race, ["regression*"], "k")) == 7


def test_growth(samplers: dict[str, Sampler]) -> None:
    sampler = samplers["figure-3"]
    series, references = ("regression k=1*",), ("logistic",)
    figure = made(kind="growth", series=series, references=references)
    canvas = drawn(sampler, figure)
    assert [axes.get_title() for axes in canvas.axes] == ["design queries", "held-out queries"]
    labels = [text.get_text() for text in canvas.legends[0].get_texts()]
    assert labels == ["regression k=1", "regression k=10", "regression k=100", "regression k=1000", "logistic"]
    heldout = canvas.axes[1]
    # Means that span less than a decade have a linear axis.
    assert heldout.get_yscale() == "linear"
    n = [race.n for race in sampler.races]
    np.testing.assert_allclose(heldout.get_xticks(), np.log10(n))
    (color,) = {text.get_color() for text in heldout.get_lines() if text.get_label() == "regression k=10"}
    line, *_ = [line for line in heldout.get_lines() if line.get_color() == color and len(line.get_xdata())]
    np.testing.assert_allclose(line.get_xdata(), np.log10(n))
    expected = []
    for race in sampler.races:
        arm = race.arm("regression k=10")
        assert arm is not None
        expected.append(sampler.means(arm, "ndcg", "heldout", race.repetitions).mean())
    np.testing.assert_allclose(line.get_ydata(), expected)
    assert canvas.axes[0].get_ylabel() == "mean NDCG\n(less is better)"


@pytest.mark.parametrize("kind", ["growth", "risk"])
def test_a_figure_that_names_no_contender_has_all_of_them(samplers: dict[str, Sampler], kind: str) -> None:
    sampler = samplers["figure-3"]
    more = {"parameter": "k"} if kind == "risk" else {}
    figure = made(kind=kind, **more)
    shown = figure_kind(figure).cast(figure, SampledResults(sampler))
    assert not [omission for omission in shown.left_out if omission.cause == "choice"]
    labels = {arm.label for race in sampler.races for arm in race.arms}
    assert len(shown.names) == (len(labels) if kind == "growth" else 4)
    figure = made(kind=kind, references=("logistic",), **more)
    known = figure_kind(figure).cast(figure, SampledResults(sampler))
    assert ("regression k=1" in known.names) == (kind == "growth")


def test_a_risk_without_a_parameter_is_refused() -> None:
    with pytest.raises(SpecError, match="'risk' needs the parameter"):
        check_tables(cast("Experiment", SimpleNamespace(figures=(made(kind="risk"),), claims=())), "experiments.0")


@pytest.mark.parametrize(
    ("n", "words"),
    [
        ((4_100, 16_400, 65_600), ["4100", "16400", "65600"]),
        ((1_000, 1_100, 1_200, 10_000), ["1000", "10000"]),  # three that would touch
        ((100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000), ["100", "200", "300", "400", "600", "800"]),
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


@pytest.mark.parametrize(
    ("metric", "lines", "words"),
    [
        ("ndcg:gain=identity,cutoff=10", 1, "mean NDCG\n(gain identity, cutoff 10; less is better)"),
        ("ndcg", 1, "mean NDCG (less is better)"),
        ("misordered", 2, "mean misordered\n(less is better)"),
        ("log-loss", 1, "mean log-loss (less is better)"),
    ],
)
def test_an_axis_says_a_metric_in_words(metric: str, lines: int, words: str) -> None:
    assert metric_words(metric, "less is better", before="mean ", lines=lines) == words


def test_growth_is_drawn_by_its_kind(samplers: dict[str, Sampler]) -> None:
    sampler = samplers["figure-4"]
    changed = sampler.experiment.model_copy(update={"figures": (made(kind="growth", series=("regression*",)),)})
    sampler_of = Sampler.__new__(Sampler)
    sampler_of.__dict__.update(sampler.__dict__, experiment=changed)
    assert set(files(sampler_of)) == {"g.svg", "g.png"}


def test_few_repetitions_have_no_bands_and_say_so(tmp_path: Path) -> None:
    plan = synthetic.small()
    plan.repetitions = 3
    plan.extra = {"figures": [{"file": "f", "kind": "dots", "title": "Methods"}]}
    synthetic.write(tmp_path, [plan])
    with Journal(tmp_path) as journal:
        record = journal.record()
        sampler = Sampler(journal, record, record.experiments[0], journal.members(), journal.cells())
        canvas = drawn(sampler, sampler.experiment.figures[0])
    assert canvas.get_suptitle() == "Methods\nsimulated data; no intervals: 3 repetitions, fewer than 4"
    assert all(len(line.get_xdata()) == 1 for line in canvas.axes[0].get_lines())


@pytest.mark.parametrize(
    ("n", "drawn", "title"),
    [((400_000,), (225_600,), "order k, n = 225,600"), ((1, 2), (1, 2), "order k"), ((400_000,), (), "order k")],
)
def test_a_panel_says_the_n_that_was_drawn(n: tuple[int, ...], drawn: tuple[int, ...], title: str) -> None:
    shown = [SimpleNamespace(race=SimpleNamespace(n=each)) for each in drawn]
    panel = Panel(title="order k", series=("a",), n=n)
    assert curves._title(panel, cast("Sequence[curves._Series]", shown)) == title


def test_no_title_of_a_built_in_figure_states_an_n() -> None:
    found = [
        path for name, path in manager.suites().items() if manager.origin("suite", name).distribution == "rankbench"
    ]
    assert len(found) > 10
    for path in found:
        for experiment in read_suite(path).experiments:
            for figure in experiment.figures:
                kind = figure_kind(figure)
                titles = [figure.title, *(panel.title for panel in (kind.panels if isinstance(kind, Curves) else ()))]
                assert not [title for title in titles if re.search(r"\bn = \d", title)], path
