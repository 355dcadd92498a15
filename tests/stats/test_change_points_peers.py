"""Our change points beside those of apache-otava (E-divisive means, t-test) and ruptures (PELT), on made series."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from amounts import trials

from rankbench.tracking.change_points import change_points

RUNS = 200
TIMES = [trials(24), pytest.param(200, marks=pytest.mark.long)]
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


@pytest.mark.parametrize("times", TIMES)
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


@pytest.mark.parametrize("times", TIMES)
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


@pytest.mark.parametrize("times", TIMES)
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
