"""Turns alternate versions by launches and rounds until the log ratios are known well enough.

The number of looks is declared beforehand, and look k gets a share t_k^3 - t_{k-1}^3 of the level, where t_k is the
part of all units that are there by then: the power family of spending functions ([LD83]_, [KD87]_). A difference
is judged once, at the last look. The chance of a false alarm is at most the sum of the chances at all looks (union
bound), and so at most the level, for any reason to stop: nothing is assumed of how looks depend on one
another. The price is small: the last of looks that grow by the square root of two keeps two thirds of the level.

References
----------
.. [LD83] K. K. G. Lan, D. L. DeMets. Discrete sequential boundaries for clinical trials. Biometrika 70(3), 1983.
.. [KD87] K. Kim, D. L. DeMets. Design and analysis of group sequential tests based on the type I error spending rate
   function. Biometrika 74(1), 1987.

A launch is a new process for each version that is timed: where a process puts its memory, how it hashes and what else
was going on when it started shifts all of its times together, so that rounds of one process agree with one another
better than with the truth. Statistics are therefore of launches: of a suite of a hundred rows a test needs some ten. A
launch has rounds; in a round everything is timed in an order of its own, so that the rounds of one contender lie apart.
The fastest call of a launch stands for it: other processes and other machines on the same processor only add time, and
where they do so for seconds, a mean or a median of the rounds has it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.contrasts import mean_intervals


def launch_log_ratios(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one log ratio a launch, of the fastest calls.

    Parameters
    ----------
    above, below : ndarray of float64, shape (..., L, R)
        Seconds of the compared ones by launch and round.

    Returns
    -------
    ndarray of float64, shape (..., L)
    """
    return np.asarray(np.log(above.min(axis=-1)) - np.log(below.min(axis=-1)))


def median_interval(values: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """Return the distribution-free interval of a median between two of the values, by signs.

    Parameters
    ----------
    values : ndarray of float64, shape (N,)
        Independent of one another.
    level : float, in (0, 1)

    Returns
    -------
    lower, upper : float
        Nan with too few values for the level.
    """
    from scipy.special import bdtr

    count, ordered = len(values), np.sort(values)
    # The median lies below the k-th of n values as often as n coins show fewer than k heads.
    outside = [k for k in range(1, count // 2 + 1) if 2 * float(bdtr(k - 1, count, 0.5)) <= 1 - level]
    if not outside:
        return float("nan"), float("nan")
    k = outside[-1]
    return float(ordered[k - 1]), float(ordered[count - k])


FIRST_LOOK = 6
"""Least number of units at the first look: with fewer an interval is too wide to stop."""

GROWTH = 2**0.5
"""Number of units at a look, as a multiple of the look before."""

POWER = 3


def declared_looks(units: int) -> tuple[int, ...]:
    """Return the numbers of units at each look, of at most `units`; the last look is after all of them."""
    looks = [units]
    while FIRST_LOOK <= (earlier := round(looks[-1] / GROWTH)) < looks[-1]:
        looks.append(earlier)
    return tuple(reversed(looks))


def share_of_look(declared: int, seen: int, *, last: bool) -> float:
    """Return the share of the level to spend at the look after `seen` units, in (0, 1].

    Parameters
    ----------
    declared : int
        Largest number of units, as for `declared_looks`.
    seen : int
        Number of units at the look.
    last : bool
        Nothing comes after it, as there is no time left: it gets all that is left. The end of the time must not
        depend on the differences.
    """
    before = max((look for look in declared_looks(declared) if look < seen), default=0)
    part = 1.0 if last or seen >= declared else seen / declared
    return float(part**POWER - (before / declared) ** POWER)


ROUNDS = 3
"""Rounds of a launch."""

LAUNCHES = 500
"""Launches at most, where nothing else says when to end."""


@dataclass(frozen=True)
class Launch:
    """Measurements of one launch.

    Attributes
    ----------
    seconds : ndarray of float64, shape (S, C + 1, R)
        By side, contender (the reference is the last) and round.
    first, memory : ndarray of float64, shape (S, C)
        Seconds of the first call; bytes at the peak, or nan where it was not measured.
    """

    seconds: NDArray[np.float64]
    first: NDArray[np.float64]
    memory: NDArray[np.float64]


@dataclass(frozen=True)
class TurnsTaken:
    """All launches, and the reason why they ended.

    Attributes
    ----------
    launches : list of Launch
    declared : int
        Largest number of launches.
    last : bool
        The time was up, or all were done; otherwise intervals were narrow enough.
    """

    launches: list[Launch]
    declared: int
    last: bool


def order_of_round(seed: int, launch: int, number: int, sides: int, contenders: int) -> list[tuple[int, int]]:
    """Return the shuffled calls (side, contender) of a round.

    The sides of a contender follow one another, which of them first is shuffled too.
    """
    rng = np.random.default_rng([seed, launch, number])
    return [(int(side), int(one)) for one in rng.permutation(contenders) for side in rng.permutation(sides)]


def half_widths(launches: Sequence[Launch], share: float) -> NDArray[np.float64]:
    """Return the half width of each contender's 95% interval, as a log ratio; nan with too few launches.

    Parameters
    ----------
    launches : sequence of Launch
    share : float
        Of the level, see `rankbench.tracking.turns.share_of_look`.
    """
    seconds = np.stack([one.seconds for one in launches], axis=2)  # (S, C + 1, L, R)
    if len(seconds) == 2:
        ratios = launch_log_ratios(seconds[1, :-1], seconds[0, :-1])
    else:
        ratios = launch_log_ratios(seconds[0, :-1], seconds[0, -1:])
    found = mean_intervals(ratios.T, 1 - 0.05 * share)
    return (found.upper - found.lower) / 2


def take_turns(
    launch: Callable[[int, float], Launch | None],
    precision: float,
    *,
    budget: float = math.inf,
    launches: int = LAUNCHES,
    clock: Callable[[], float] = time.monotonic,
    looked: Callable[[TurnsTaken], None] = lambda taken: None,
) -> TurnsTaken:
    """Launch until all intervals are narrow enough, or the time is up.

    Parameters
    ----------
    launch : callable
        Given its number, from 0, and the clock's time at which the budget is spent; None where it was spent before a
        launch was whole.
    precision : float
        Every 95% interval of a ratio is to be at most so much above and below it, as .02.
    budget : float
        Seconds.
    launches : int
        So many at most.
    clock : callable
    looked : callable
        Gets the state at each look, and at the end.

    Returns
    -------
    TurnsTaken
        Without launches where the budget is too small for one.
    """
    until = clock() + budget
    found: list[Launch] = []
    declared, looks = launches, tuple[int, ...]()
    while True:
        before = clock()
        if found and before >= until:
            break
        if (one := launch(len(found), until)) is None:
            break
        found.append(one)
        if len(found) == 1 and launches > 1:
            continue  # the first one compiles: it does not show how long the others take
        if not looks:
            second = clock() - before
            if math.isfinite(budget):
                declared = min(declared, len(found) + int(max(0.0, until - clock()) / second))
            looks = declared_looks(declared)
        if len(found) >= declared:
            break
        if len(found) in looks:
            taken = TurnsTaken(found[:], declared, last=False)
            looked(taken)
            if (half_widths(found, share_of_look(declared, len(found), last=False)) <= math.log1p(precision)).all():
                return taken
    taken = TurnsTaken(found, max(declared if looks else len(found), 1), last=True)
    if found:
        looked(taken)
    return taken
