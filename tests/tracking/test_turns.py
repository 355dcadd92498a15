"""Who is timed when, and when it is enough."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankbench.tracking.timings import TURNS
from rankbench.tracking.turns import (
    ROUNDS,
    Launch,
    TurnsTaken,
    declared_looks,
    half_widths,
    order_of_round,
    take_turns,
)


class Clock:
    """Launches that take so many seconds each, with so much noise."""

    def __init__(self, *seconds: float, noise: float = 0.0, sides: int = 2) -> None:
        self.seconds, self.noise, self.sides = seconds, noise, sides
        self.now, self.rng = 0.0, np.random.default_rng(1)

    def launch(self, number: int, until: float) -> Launch | None:
        self.now += self.seconds[min(number, len(self.seconds) - 1)]
        if self.now > until:
            return None
        times = np.exp(self.rng.normal(0, self.noise, (self.sides, 3, ROUNDS, TURNS)))
        return Launch(times, np.ones((self.sides, 2)), np.ones((self.sides, 2)))

    def run(self, precision: float, **limits: float) -> tuple[TurnsTaken, list[int]]:
        looked: list[int] = []
        tell = lambda taken: looked.append(len(taken.launches))  # noqa: E731
        return take_turns(self.launch, precision, clock=lambda: self.now, looked=tell, **limits), looked


def test_a_round_is_the_same_there_and_back() -> None:
    order = order_of_round(1, 2, 3, 2, 5)
    there = order[:10]
    assert sorted(there) == [(side, one) for side in range(2) for one in range(5)]
    assert order == [*there, *there[::-1]] * (TURNS // 2)
    # The sides of a contender follow one another.
    assert all(there[place][1] == there[place + 1][1] for place in range(0, 10, 2))


def test_orders_are_drawn_by_seed_launch_and_round() -> None:
    orders = {tuple(order_of_round(seed, launch, one, 2, 6)) for seed in (1, 2) for launch in (0, 1) for one in (0, 1)}
    assert len(orders) == 8
    assert order_of_round(1, 0, 0, 2, 6) == order_of_round(1, 0, 0, 2, 6)


def test_every_place_is_everybodys_as_often() -> None:
    places = np.array([[side for side, _ in order_of_round(5, launch, 0, 2, 4)[:8]] for launch in range(400)])
    assert abs(places[:, 0].mean() - 0.5) < 0.1
    first = [order_of_round(5, launch, 0, 2, 4)[0][1] for launch in range(400)]
    assert min(np.bincount(first)) > 60


def test_it_ends_when_all_intervals_are_narrow() -> None:
    taken, looked = Clock(1, noise=0.001).run(0.05, launches=40)
    assert not taken.last
    assert taken.declared == 40
    assert len(taken.launches) == looked[-1] == declared_looks(40)[0]


@pytest.mark.parametrize(
    ("seconds", "precision", "limits", "declared", "launches"),
    [
        ((1,), 0.001, {"launches": 20}, 20, 20),
        # The first launch compiles: the second one shows how long the others take.
        ((30, 10), 0.001, {"budget": 200}, 2 + (200 - 40) // 10, 2 + (200 - 40) // 10),
        ((10, 10, 40), 0.001, {"budget": 200}, 20, 2 + 4),
        ((10,), 0.05, {"budget": 5}, 1, 0),
        ((10,), 0.05, {"budget": 15}, 1, 1),
        ((10,), 0.05, {"budget": 25}, 2, 2),
    ],
)
def test_it_ends_with_the_launches_or_the_budget(
    seconds: tuple[float, ...], precision: float, limits: dict[str, float], declared: int, launches: int
) -> None:
    taken, looked = Clock(*seconds, noise=0.5).run(precision, **limits)
    assert taken.last
    assert (taken.declared, len(taken.launches)) == (declared, launches)
    assert looked == [*(one for one in declared_looks(declared) if one < launches), *[launches][:launches]]


def test_one_version_is_compared_with_the_reference() -> None:
    clock = Clock(1, noise=0.1, sides=1)
    launches = [one for number in range(10) if (one := clock.launch(number, math.inf)) is not None]
    widths = half_widths(launches, 1.0)
    assert widths.shape == (2,)
    assert (widths > 0).all()
    doubled = [Launch(2 * one.seconds, one.first, one.memory) for one in launches]
    np.testing.assert_allclose(half_widths(doubled, 1.0), widths)
    assert np.isnan(half_widths(launches[:3], 1.0)).all()
