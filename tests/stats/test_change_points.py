"""Change points: found where they are, with honest intervals, and none where nothing changed."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from rankbench.tracking.change_points import FEWEST_RUNS, ChangePoint, change_points

TIMES = [60, pytest.param(2000, marks=pytest.mark.long)]
"""Simulated series."""


def step(rng: np.random.Generator, runs: int, at: int, size: float) -> np.ndarray:
    values = rng.normal(size=runs)
    values[at:] += size
    return values


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("runs", [8, 12, 30, 200, 1000])
def test_nothing_is_found_where_nothing_changed(runs: int, times: int) -> None:
    rng = np.random.default_rng([1, runs])
    false = sum(bool(change_points(rng.normal(5, 2, runs))) for _ in range(times))
    print(f"{runs} runs: false changes in {false} of {times} series")
    assert stats.binomtest(false, times, 0.05, alternative="greater").pvalue > 0.001


@pytest.mark.parametrize("times", TIMES)
def test_steps_of_two_standard_deviations_are_located(times: int) -> None:
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(times):
        at = int(rng.integers(50, 450))
        found = change_points(step(rng, 500, at, 2.0))
        hits += len(found) == 1 and abs(found[0].at - at) <= 3
    print(f"within 3 commits: {hits} of {times}")
    assert stats.binomtest(hits, times, 0.9, alternative="less").pvalue > 0.001


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("size", [0.6, 1.0, 1.5])
def test_intervals_of_the_place_cover(size: float, times: int) -> None:
    rng = np.random.default_rng([3, int(10 * size)])
    covered = found_any = 0
    for _ in range(times):
        at = int(rng.integers(100, 400))
        found = change_points(step(rng, 500, at, size))
        if found:
            nearest = min(found, key=lambda change: abs(change.at - at))
            found_any += 1
            covered += nearest.low <= at <= nearest.high
    print(f"steps of {size}: the place is covered in {covered} of {found_any}")
    assert found_any > 0.5 * times
    assert stats.binomtest(covered, found_any, 0.95, alternative="less").pvalue > 0.001


def test_a_step_that_was_undone_is_two_changes() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=500)
    values[200:240] += 4
    found = change_points(values)
    assert len(found) == 2
    assert [abs(change.at - at) <= 3 for change, at in zip(found, (200, 240), strict=True)] == [True, True]
    assert found[0].after == pytest.approx(4, abs=0.6)


def test_outliers_are_no_change() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=300)
    values[[40, 150, 151, 260]] = 50, -40, 30, 1e9
    assert change_points(values) == []
    moved = values + np.where(np.arange(300) >= 100, 3.0, 0.0)
    assert [abs(change.at - 100) <= 3 for change in change_points(moved)] == [True]


@pytest.mark.parametrize("times", [20, pytest.param(200, marks=pytest.mark.long)])
def test_heavy_tails_are_rarely_a_change(times: int) -> None:
    """Outside of what the threshold is made for; docs/history.md tells the count of the long form."""
    rng = np.random.default_rng([8, 3])
    false = sum(len(change_points(rng.standard_t(3, 1000))) for _ in range(times))
    print(f"of {times} series of 1,000 values of Student's t with 3 degrees of freedom: {false} changes were found")
    assert false <= 0.2 * times
    if times == 200:
        page = (Path(__file__).parents[2] / "docs" / "history.md").read_text(encoding="utf-8")
        told = re.sub(r"\s+", " ", page)
        assert (
            f"of 200 series of 1,000 values of Student's t with 3 degrees of freedom, {false} changes were found"
            in told
        )


def test_scale_and_sign_do_not_matter() -> None:
    values = step(np.random.default_rng(6), 200, 80, 3.0)
    found = change_points(values)
    for factor, shift in ((1e-9, 0.0), (-2.0, 5.0), (1e6, -1.0)):
        same = change_points(factor * values + shift)
        assert [(c.at, c.low, c.high) for c in same] == [(c.at, c.low, c.high) for c in found]
        assert same[0].after == pytest.approx(factor * found[0].after + shift)
    back = change_points(values[::-1])
    assert [200 - c.at for c in back] == [c.at for c in found]


def test_series_without_spread() -> None:
    assert change_points(np.full(20, 0.5)) == []
    values = np.array([0.5] * 10 + [0.4] * 7)
    assert change_points(values) == [ChangePoint(10, 10, 10, 0.5, 0.4, np.inf)]


def test_short_series_say_nothing() -> None:
    values = np.array([0.0] * 3 + [100.0] * 4)
    assert len(values) == FEWEST_RUNS - 1
    assert change_points(values) == []


def test_long_histories_take_seconds() -> None:
    """Compared with sorting in the same process: 200 series of 5,000 commits are a thousand such sorts a series."""
    rng = np.random.default_rng(7)
    values = step(rng, 5000, 3000, 1.0)
    change_points(values)
    spent, sorts = [], []
    for _ in range(5):
        start = time.process_time()
        change_points(values)
        middle = time.process_time()
        for _ in range(1000):
            np.sort(values)
        spent.append(middle - start)
        sorts.append(time.process_time() - middle)
    assert np.median(spent) < np.median(sorts) * 2
