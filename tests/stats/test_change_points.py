"""Change points: found where they are, with honest intervals, and none where nothing changed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from amounts import trials
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
    """Outside of what the threshold is made for."""
    rng = np.random.default_rng([8, 3])
    false = sum(len(change_points(rng.standard_t(3, 1000))) for _ in range(times))
    print(f"of {times} series of 1,000 values of Student's t with 3 degrees of freedom: {false} changes were found")
    assert false <= 0.2 * times


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
    assert change_points(values) == [ChangePoint(10, 10, 10, 0.5, 0.4)]


def test_short_series_say_nothing() -> None:
    values = np.array([0.0] * 3 + [100.0] * 4)
    assert len(values) == FEWEST_RUNS - 1
    assert change_points(values) == []


RUNS = 200
TRIALS = [trials(24), pytest.param(200, marks=pytest.mark.long)]
"""Series."""


def otava(values: np.ndarray) -> list[int]:
    analysis = pytest.importorskip("otava.analysis", reason="apache-otava is part of requirements/without-deps.txt")
    return [
        int(point.index)
        for point in analysis.compute_change_points(values.tolist(), window_len=50, max_pvalue=0.001)[0]
    ]


def ruptures(values: np.ndarray) -> list[int]:
    found = pytest.importorskip("ruptures", reason="ruptures has no release for this Python")
    # BIC for a step and its place, with the spread of neighbors' differences.
    spread = np.median(np.abs(np.diff(values))) * 1.4826 / np.sqrt(2)
    penalty = 3 * spread**2 * np.log(len(values))
    return [int(at) for at in found.Pelt(model="l2", min_size=4, jump=1).fit(values).predict(pen=penalty)[:-1]]


def ours(values: np.ndarray) -> list[int]:
    return [change.at for change in change_points(values)]


PEERS = [
    otava,
    pytest.param(ruptures, marks=pytest.mark.skipif(sys.version_info >= (3, 14), reason="not for this Python")),
]


def stepped(rng: np.random.Generator, size: float, steps: int) -> tuple[np.ndarray, list[int]]:
    """Return a series and where its level changes, up and down in turns."""
    places = sorted(int(x) for x in (np.arange(1, steps + 1) * RUNS / (steps + 1) + rng.integers(-8, 9, steps)))
    values = rng.normal(10, 1, RUNS)
    for number, at in enumerate(places):
        values[at:] += size if number % 2 == 0 else -size
    return values, places


def near(found: list[int], places: list[int]) -> bool:
    return len(found) == len(places) and all(abs(a - b) <= 3 for a, b in zip(found, places, strict=True))


@pytest.mark.parametrize("times", TRIALS)
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("peer", PEERS)
def test_large_steps_are_where_others_find_them(peer, steps: int, times: int) -> None:
    rng = np.random.default_rng([1, steps])
    both = ours_right = theirs_right = 0
    for _ in range(times):
        values, places = stepped(rng, 4.0, steps)
        mine, theirs = ours(values), peer(values)
        ours_right += near(mine, places)
        theirs_right += near(theirs, places)
        both += near(mine, theirs)
    print(f"{steps} steps of 4: ours {ours_right}, {peer.__name__} {theirs_right}, the same {both}, of {times}")
    assert ours_right >= 0.9 * times
    assert ours_right >= theirs_right - 0.05 * times - 1
    assert both >= 0.75 * theirs_right


@pytest.mark.full
@pytest.mark.parametrize("times", TRIALS)
@pytest.mark.parametrize("peer", PEERS)
def test_fewer_false_changes_than_others(peer, times: int) -> None:
    """Ours are bounded for all series together; an unchanged series of 200 runs is called changed in 5% at most."""
    rng = np.random.default_rng(2)
    mine = theirs = 0
    for _ in range(times):
        values = rng.normal(10, 1, RUNS)
        mine += bool(ours(values))
        theirs += bool(peer(values))
    print(f"unchanged series called changed: ours {mine}, {peer.__name__} {theirs}, of {times}")
    assert mine <= 0.05 * times + 3 * np.sqrt(0.05 * times)
    assert mine <= theirs + 0.05 * times


@pytest.mark.full
@pytest.mark.parametrize("times", TRIALS)
@pytest.mark.parametrize("peer", PEERS)
def test_small_steps_are_found_as_often(peer, times: int) -> None:
    """A step of one standard deviation in the middle: as often as others find it, or nearly."""
    rng = np.random.default_rng(3)
    mine = theirs = 0
    for _ in range(times):
        values, (at,) = stepped(rng, 1.0, 1)
        mine += any(abs(place - at) <= 12 for place in ours(values))
        theirs += any(abs(place - at) <= 12 for place in peer(values))
    print(f"steps of 1 found: ours {mine}, {peer.__name__} {theirs}, of {times}")
    assert mine >= 0.5 * theirs
    assert mine >= 0.5 * times
