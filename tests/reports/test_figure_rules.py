"""What holds of every figure: axes say which way is better, bands are 95%, differences are those of the tables."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import synthetic
from synthetic import Contender, Plan

from rankbench.plugin import manager
from rankbench.reports.analysis import in_windows
from rankbench.reports.figures import drawn_figures
from rankbench.reports.recommendation_facts import ALPHA, case_of, together_level
from rankbench.suites.suite_files import read_suite
from rankbench.tracking.history import Series, history_figure


@pytest.mark.parametrize("suite", sorted(manager.suites()))
def test_bands_are_95_percent(suite: str) -> None:
    experiments = read_suite(manager.suites()[suite]).experiments
    assert {figure.level for experiment in experiments for figure in experiment.figures} <= {0.95}


def test_differences_are_those_of_the_tables(tmp_path: Path) -> None:
    plan = synthetic.drawn(against="logistic")
    (section,) = synthetic.analysis(synthetic.write(tmp_path, [plan])).sections
    (drawing,) = (one.drawing for one in drawn_figures(section.data))
    assert [[plot.zero for plot in row] for row in drawing.plots] == [[False] * 2, [True] * 2] * 2
    said = "differences: 95% over queries and repetitions; a difference is significant, by itself,"
    assert drawing.note.startswith(said)
    for row, split in ((1, "design"), (3, "heldout")):
        for plot, n in zip(drawing.plots[row], (200_000, 400_000), strict=True):
            (line,), (level,) = plot.lines, plot.levels
            assert (level.name, level.value) == ("logistic", 0.0)
            for i, k in enumerate((1, 10, "inf")):
                (known,) = [
                    one for one in section.rows if (one.n, one.split, one.contender) == (n, split, f"regression k={k}")
                ]
                found = line.y[i], line.lower[i], line.upper[i]
                expected = known.difference, known.difference_lower, known.difference_upper
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_differences_of_a_recommendation_are_those_that_its_words_rest_on(tmp_path: Path) -> None:
    contenders = [Contender("base", {}, 0.2, noise=0), Contender("a", {}, 0.1, noise=0), Contender("b", {}, noise=0)]
    extra = {"recommend": True, "figures": [{"file": "f", "kind": "dots", "against": "base"}]}
    plan = Plan("methods", contenders, n=(200_000,), repetitions=10, baseline="base", extra=extra)
    analysis = synthetic.analysis(synthetic.write(tmp_path, [plan], {"heldout": 1}, test_share=0.2))
    (section,) = analysis.sections
    level, case = together_level(section, analysis), case_of(section, analysis)
    (drawing,) = (one.drawing for one in drawn_figures(section.data, level))
    assert level == case.level == 1 - ALPHA / case.tables
    assert "hold together" in drawing.bands
    dots = {dot.name: dot for dot in drawing.plots[0][0].dots}
    assert list(dots) == ["b", "a", "base"]
    for label in ("a", "b"):
        assert (dots[label].lower, dots[label].upper) == pytest.approx(case.main.interval("ndcg", label, "base"))
    assert (dots["base"].value, drawing.plots[0][0].zero) == (0.0, True)


def test_means_of_windows() -> None:
    rng = np.random.default_rng(3)
    steps = np.unique(np.geomspace(1, 100_000, 61).round().astype(np.int64))
    values = rng.normal(size=(4, len(steps)))
    at, means = in_windows(steps, values, 2)
    assert len(at) == 10
    for w, (start, end) in enumerate((10 ** (i / 2), 10 ** ((i + 1) / 2)) for i in range(10)):
        inside = (steps >= start - 1e-6) & ((steps < end - 1e-6) | (w == 9))
        np.testing.assert_allclose(means[:, w], values[:, inside].mean(axis=1))
        assert abs(at[w] - np.exp(np.log(steps[inside]).mean())) <= 0.5


def test_the_history_of_one_run_says_so() -> None:
    one = Series("paper: loss", "x86", "minimize", ["abc"], [datetime(2026, 1, 1, tzinfo=UTC)], [0.5], [])
    (axes,) = history_figure([one]).canvas().axes
    assert axes.get_xlabel() == "one run, 2026-01-01: nothing to compare it with yet"
    assert axes.get_lines()[0].get_xydata().tolist() == [[0.0, 0.5]]
