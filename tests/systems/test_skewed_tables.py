"""Two systems of equal mean with skewed differences: how often their ranks are wrong, and what it costs others."""

from __future__ import annotations

import re

import numpy as np
import pytest
from amounts import trials
from scipy import stats

import rankbench
from rankbench.aggregators.score_tables import MeanScore
from rankbench.stats.skewness import hidden_by_skewness
from rankbench.systems.score_sample import wrong_rates
from rankbench.systems.system_ranking import rank_systems

COLUMNS = "task=task,scores=*"

TASKS = (10, 15, 20, 30, 50, 100)


def two_systems(differences: np.ndarray) -> np.ndarray:
    base = np.random.default_rng(len(differences)).normal(size=len(differences))
    return np.stack([base + differences, base], axis=1)


def measured(tasks: int, tables: int) -> tuple[float, float]:
    """Return how often ranks are wrong, of lognormal differences less their mean; and how often by Student's t."""
    wrong = student = 0
    for seed in range(tables):
        differences = np.random.default_rng([3, seed, tasks]).lognormal(size=tasks) - np.exp(0.5)
        found = rank_systems(two_systems(differences)[None], MeanScore(), k=1, replicates=1000, seed=1)
        wrong += bool((found.low != 1).any() or (found.high != 2).any())
        student += bool(stats.ttest_1samp(differences, 0).pvalue < 0.05)
    return wrong / tables, student / tables


def widths(tasks: int, tables: int) -> np.ndarray:
    """Return lengths of intervals of normal differences, beside Student's, shape (tables,)."""
    critical = float(stats.t(tasks - 1).ppf(0.975))
    t = np.linspace(-3, 3, 241) * critical
    found = np.empty(tables)
    for seed in range(tables):
        values = np.random.default_rng([4, seed, tasks]).normal(size=tasks)
        means = np.stack([values, np.zeros(tasks)], axis=1)
        hidden = [hidden_by_skewness(means, np.array([one]), np.array([critical]))[0][0] for one in t]
        found[seed] = (hidden | (np.abs(t) <= critical)).mean() * 3
    return found


@pytest.mark.full
@pytest.mark.parametrize("tasks", [20, 50])
def test_skewed_differences_are_seldom_told_apart(tasks: int) -> None:
    tables = trials(2000, 150)
    wrong, student = measured(tasks, tables)
    assert wrong <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / tables)
    assert wrong < 0.8 * student


@pytest.mark.long
@pytest.mark.parametrize("tasks", TASKS)
def test_skewed_differences_are_told_apart_as_often_as_a_level_allows(tasks: int) -> None:
    wrong, student = measured(tasks, 4000)
    print(f"\n| {tasks} | {wrong:.3f} | {student:.3f} |")
    assert wrong <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / 4000)


@pytest.mark.parametrize("tasks", [20, 50])
def test_normal_differences_have_intervals_as_long_as_students(tasks: int) -> None:
    found = widths(tasks, trials(60))
    assert found.mean() <= 1.1
    assert np.median(found) == pytest.approx(1, abs=0.02)


def test_the_answer_says_which_tests_are_corrected() -> None:
    values = two_systems(np.random.default_rng(1).lognormal(size=40))
    table = {"task": [f"t{i}" for i in range(40)], "a": values[:, 0], "b": values[:, 1]}
    found = rankbench.rank(table, ["mean-score"], columns=COLUMNS)
    assert "mean-score: differences are skewed in 1 of 1 pair of systems; rankbench corrects their tests" in found.notes


@pytest.mark.parametrize("tasks", [2, 9, 17, 30, 31])
def test_a_note_names_a_rate_for_every_number_of_few_tasks(tasks: int) -> None:
    values = np.random.default_rng(tasks).lognormal(size=(tasks, 3))
    table = {"task": [f"t{i}" for i in range(tasks)], **dict(zip("abc", values.T, strict=True))}
    notes = rankbench.rank(table, columns=COLUMNS, replicates=100).notes
    said = [
        float(one)
        for note in notes
        for one in re.findall(r"have a wrong rank range by mean scores|(\d+)%", note)
        if one
    ]
    by_scores, by_ranks = (round(100 * one) for one in wrong_rates(tasks, 3))
    assert said == ([by_scores, by_ranks, 5] if tasks <= 30 else [])


@pytest.mark.parametrize(("methods", "tasks", "said"), [
    (["mean-score"], 12, True), (["mean-score"], 31, False), (["mean-score", "borda-count"], 12, False),
    ([], 12, False),
])  # fmt: skip
def test_the_answer_by_ranks_stands_beside_mean_scores_of_few_tasks(methods: list[str], tasks: int, said: bool) -> None:
    rng = np.random.default_rng(5)
    values = rng.lognormal(size=(tasks, 3)) + np.array([0.0, 0.0, 9.0])
    table = {"task": [f"t{i}" for i in range(tasks)], **dict(zip("abc", values.T, strict=True))}
    notes = rankbench.rank(table, methods, columns=COLUMNS, replicates=200).notes
    ranks = rankbench.rank(table, ["mean-rank"], columns=COLUMNS, replicates=200).table
    assert ranks.filter("may_be_first")["system"].to_list() == ["c"]
    assert ("by mean-rank, 'c' may be first" in notes) is said
