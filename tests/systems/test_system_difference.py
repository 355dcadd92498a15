"""The difference of two systems, beside Student's t, exact power, and parts of variance."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from data_files import stored
from scipy import stats

import rankbench
from rankbench.cli import main
from rankbench.cli.difference import _difference_words
from rankbench.errors import InputError, SpecError


def table(values: np.ndarray) -> pl.DataFrame:
    """Return scores, shape (seeds, tasks, systems), as rows of cells; systems are a, b, ..."""
    return pl.DataFrame(
        [
            {"system": "abcdef"[s], "task": f"t{t}", "seed": str(r), "score": value}
            for (r, t, s), value in np.ndenumerate(values)
        ]
    )


def difference(values: np.ndarray, *pair: str, method: str = "mean-score", **more: Any) -> dict[str, Any]:
    found = rankbench.rank(table(values), [method], between=pair or ("a", "b"), **more).between  # type: ignore[arg-type]
    assert found is not None
    return found.row(0, named=True)


def normal(tasks: int, lead: float, seed: int = 0) -> np.ndarray:
    """Return a table with differences of a and b that are quantiles of a normal law: they are not skewed."""
    d = stats.norm.ppf((np.arange(tasks) + 0.5) / tasks) + lead
    b = np.random.default_rng(seed).normal(size=tasks)
    return np.stack([d + b, b, b - 3], axis=1)[None]


@pytest.mark.parametrize(("tasks", "lead"), [(12, 0.5), (40, 0.2), (40, -0.6)])
def test_one_seed_has_the_paired_t_test(tasks: int, lead: float) -> None:
    """Resamples find the standard error to 1 / sqrt(2 B), and twice its logarithm's that of more tasks."""
    values = normal(tasks, lead)
    found, other = difference(values), difference(values, "b", "a")
    t = stats.ttest_rel(values[0, :, 0], values[0, :, 1])
    interval = t.confidence_interval()
    half = (interval.high - interval.low) / 2
    assert found["difference"] == pytest.approx(lead)
    np.testing.assert_allclose([found["lower"], found["upper"]], [interval.low, interval.high], atol=0.03 * half)
    assert stats.norm.isf(found["p"] / 2) == pytest.approx(stats.norm.isf(t.pvalue / 2), rel=0.03)
    assert (found["tasks"], found["reason"]) == (tasks, None)
    for name, minus in (("difference", "difference"), ("lower", "upper"), ("p", "p"), ("more_tasks", "more_tasks")):
        sign = 1 if name in ("p", "more_tasks") else -1
        assert other[name] == pytest.approx(sign * found[minus])


@pytest.mark.parametrize(("tasks", "lead"), [(10, 0.6), (20, 0.4), (40, 0.2)])
def test_so_many_more_tasks_have_a_power_of_four_fifths(tasks: int, lead: float) -> None:
    values = normal(tasks, lead)
    n = tasks + difference(values)["more_tasks"]
    shift, critical = lead / (values[0, :, 0] - values[0, :, 1]).std(ddof=1) * np.sqrt(n), stats.t.isf(0.025, n - 1)
    power = stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift)
    assert power == pytest.approx(0.8, abs=0.025)


def test_a_skewed_difference_is_told_apart_where_the_ranking_tells_it() -> None:
    """Beyond 5% by Hall's correction, within it by Student's t; the interval holds 0, too."""
    d = np.random.default_rng(4).lognormal(size=20)
    b = np.random.default_rng(5).normal(size=20)
    d -= d.mean() + stats.sem(d) * 2.3
    values = np.stack([d + b, b], axis=1)[None]
    found = difference(values)
    assert stats.ttest_1samp(d, 0).pvalue < 0.05 < found["p"]
    assert found["lower"] < found["difference"] < 0 < found["upper"]
    assert set(rankbench.rank(table(values), ["mean-score"]).table["rank_low"]) == {1}


def test_more_tasks_leave_the_part_of_the_seeds() -> None:
    """Differences are effects of tasks, and of seeds that are too far apart for any number of tasks."""
    rng = np.random.default_rng(2)
    of_tasks = rng.permutation(stats.norm.ppf((np.arange(30) + 0.5) / 30))
    for spread, known in ((0.0, True), (0.05, True), (2.0, False)):
        of_seeds = spread * stats.norm.ppf((np.arange(8) + 0.5) / 8)
        d = 0.3 + of_tasks + of_seeds[:, None]
        found = difference(np.stack([d, np.zeros_like(d), d - 9], axis=2))
        seeds, tasks = of_seeds.var(ddof=1) / 8, of_tasks.var(ddof=1)
        left = (0.3 / (stats.norm.ppf(0.975) + stats.norm.ppf(0.8))) ** 2 - seeds
        assert (left > 0) == known
        if known:
            expected = tasks / left + stats.norm.ppf(0.975) ** 2 / 2
            assert 30 + found["more_tasks"] == pytest.approx(expected, rel=0.05)
        else:
            assert (found["more_tasks"], found["p"] > 0.05) == (None, True)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.array([[[2, 1], [3, 2], [4, 3], [9, 8.0]]]), "4 tasks are too few"),
        (np.array([[[1, 1], [3, 3], [4, 4], [9, 9], [2, 2], [5, 5.0]]]), "the same in all resamples"),
    ],
)
def test_a_missing_interval_has_its_reason(values: np.ndarray, reason: str) -> None:
    found = difference(values)
    assert reason in found["reason"]
    assert (found["lower"], found["p"], found["more_tasks"]) == (None, None, None)
    assert found["difference"] == values[0, 0, 0] - values[0, 0, 1]


def test_pairs_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="between=: no system 'aa' is ranked; did you mean 'a'"):
        difference(normal(9, 1.0), "aa", "b")
    with pytest.raises(SpecError, match="two different names"):
        difference(normal(9, 1.0), "a", "a")


@pytest.mark.full
def test_every_form_of_the_answer_has_the_difference(tmp_path: Path) -> None:
    """Less is better of mean ranks: the words go by the method's direction."""
    values = normal(30, 0.9)
    command = ["rank", str(stored(table(values), tmp_path / "scores.csv")), "--between", "a", "b"]
    rows = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)["between"]
    assert [row["words"] for row in rows] == ["a is better than b"] * 3
    assert rows[0]["difference"] > 0 > rows[1]["difference"]
    assert {name: rows[0][name] for name in ("lower", "p")} == {
        name: difference(values)[name] for name in ("lower", "p")
    }
    for form in ("table", "md"):
        assert "0.90" in CliRunner().invoke(main, [*command, "--format", form]).stdout
    frame = pl.read_csv(io.StringIO(CliRunner().invoke(main, [*command, "--format", "csv"]).stdout))
    assert frame["difference"].to_list() == [row["difference"] for row in rows]
    page = tmp_path / "page.html"
    assert CliRunner().invoke(main, [*command, "--out", str(page)]).exit_code == 0
    assert "a is better than b" in page.read_text()
    near = ["rank", str(stored(table(normal(30, 0.1)), tmp_path / "near.csv")), "--between", "a", "b"]
    assert "more tasks show such a difference at 80% power" in CliRunner().invoke(main, near).stdout


def test_enough_tasks_by_normal_theory_that_do_not_tell_two_apart_are_said_to_be_so() -> None:
    row = {"p": 0.13, "difference": 1.9, "more_tasks": 0.0, "reason": None}
    said = "The tasks do not tell a and b apart; so many have 80% power for such a difference by normal theory"
    assert _difference_words(row, "a", "b", "tasks") == said
