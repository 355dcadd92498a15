"""Launches and rounds: who is timed when, and when it is enough.

A launch is a new process for each version that is timed: where a process puts its memory, how it hashes and what else
was going on when it started shifts all of its times together, so that rounds of one process agree with one another
better than with the truth. Statistics are therefore of launches. A launch has rounds; in a round everything is
timed in an order of its own, then in the reverse order, and both once more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.draw_intervals import mean_intervals
from rankbench.stats.log_ratios import launch_log_ratios
from rankbench.stats.looks import declared_looks, share_of_look
from rankbench.store.timings import TURNS

__all__ = ["LAUNCHES", "ROUNDS", "Launch", "Limits", "TurnsTaken", "half_widths", "order_of_round", "take_turns"]

ROUNDS = 2
"""Rounds of a launch."""

LAUNCHES = 500
"""Launches at most, where nothing else says when to end."""


class Limits(NamedTuple):
    """When to end.

    Attributes
    ----------
    precision : float
        Every 95% interval of a ratio is to be at most so much above and below it, as .02.
    budget : float
        Seconds.
    launches : int
    """

    precision: float
    budget: float = math.inf
    launches: int = LAUNCHES


@dataclass(frozen=True)
class Launch:
    """What one launch gave.

    Attributes
    ----------
    seconds : ndarray of float64, shape (S, C + 1, R, 4)
        By side, contender (the reference is the last), round and turn.
    first, memory : ndarray of float64, shape (S, C)
        Seconds of the first call; bytes at the peak, or nan.
    """

    seconds: NDArray[np.float64]
    first: NDArray[np.float64]
    memory: NDArray[np.float64]


@dataclass(frozen=True)
class TurnsTaken:
    """All launches, and why there are no more.

    Attributes
    ----------
    launches : list of Launch
    declared : int
        How many there were to be at most.
    last : bool
        The time was up, or all were done; otherwise intervals were narrow enough.
    """

    launches: list[Launch]
    declared: int
    last: bool


def order_of_round(seed: int, launch: int, number: int, sides: int, contenders: int) -> list[tuple[int, int]]:
    """Return the turns (side, contender) of a round: shuffled, then the other way round, and both once more.

    The sides of a contender follow one another, which of them first is shuffled too.
    """
    rng = np.random.default_rng([seed, launch, number])
    there = [(int(side), int(one)) for one in rng.permutation(contenders) for side in rng.permutation(sides)]
    return [*there, *reversed(there)] * (TURNS // 2)


def half_widths(launches: Sequence[Launch], share: float) -> NDArray[np.float64]:
    """Return the half width of each contender's 95% interval, as a log ratio; nan with too few launches.

    Parameters
    ----------
    launches : sequence of Launch
    share : float
        Of the level, see `rankbench.stats.looks.share_of_look`.
    """
    seconds = np.stack([one.seconds for one in launches], axis=2)  # (S, C + 1, L, R, 4)
    if len(seconds) == 2:
        ratios = launch_log_ratios(seconds[1, :-1], seconds[0, :-1])
    else:
        ratios = launch_log_ratios(seconds[0, :-1], seconds[0, -1:])
    found = mean_intervals(ratios.T, 1 - 0.05 * share)
    return (found.upper - found.lower) / 2


def take_turns(
    launch: Callable[[int, float], Launch | None],
    limits: Limits,
    *,
    clock: Callable[[], float] = time.monotonic,
    looked: Callable[[TurnsTaken], None] | None = None,
) -> TurnsTaken:
    """Launch until all intervals are narrow enough, or the time is up.

    Parameters
    ----------
    launch : callable
        Given its number, from 0, and the clock's time at which the budget is spent; None where it was spent before a
        launch was whole.
    limits : Limits
    clock : callable
    looked : callable, optional
        Told of what there is at each look, and at the end.

    Returns
    -------
    TurnsTaken
        Without launches where the budget is too small for one.
    """
    start = clock()
    until = start + limits.budget
    found: list[Launch] = []
    declared, second = limits.launches, math.nan
    looks: tuple[int, ...] = ()
    while True:
        before = clock()
        if found and before >= until:
            break
        one = launch(len(found), until)
        if one is None:
            break
        found.append(one)
        if len(found) == 1 and limits.launches > 1:
            continue  # the first one compiles: it does not show how long the others take
        if not looks:
            second = clock() - before
            fitting = len(found) + int(max(0.0, until - clock()) / second) if math.isfinite(limits.budget) else declared
            declared = max(len(found), min(declared, fitting))
            looks = declared_looks(declared)
        if len(found) >= declared:
            break
        if len(found) in looks:
            widths = half_widths(found, share_of_look(declared, len(found), last=False))
            if (widths <= math.log1p(limits.precision)).all():
                return _told(TurnsTaken(found, declared, last=False), looked)
            _told(TurnsTaken(found[:], declared, last=False), looked)
    return _told(TurnsTaken(found, max(declared if looks else len(found), len(found), 1), last=True), looked)


def _told(taken: TurnsTaken, looked: Callable[[TurnsTaken], None] | None) -> TurnsTaken:
    if looked is not None and taken.launches:
        looked(taken)
    return taken
