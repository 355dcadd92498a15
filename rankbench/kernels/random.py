"""Kernels draw random numbers, and units with replacement.

NumPy promises that `numpy.random.SeedSequence` never changes, but not its distributions, and numba has
streams of its own; so the kernels draw from a generator written out here, whose state
is four words in an array that the caller owns. One stream is one state; nothing is global.

This module imports numba; import it only from kernel modules and from the runner.

References
----------
.. [BV21] D. Blackman and S. Vigna. Scrambled linear pseudorandom number generators.
   ACM Transactions on Mathematical Software 47(4), 2021.
.. [L19] D. Lemire. Fast random integer generation in an interval. ACM Transactions on
   Modeling and Computer Simulation 29(1), 2019.

This module imports numba; import it only from kernel modules and inside functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import ReadIndex, ReadRows, ReadVector, Rows, Vector, declared

STATE = types.uint64[::1]
SeedState = Annotated[NDArray[np.uint64], STATE]
States = Annotated[NDArray[np.uint64], types.uint64[:, ::1]]
FiveWords = tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]
Times = Annotated[NDArray[np.float32], types.float32[::1]]
DrawnSums = Annotated[NDArray[np.float64], types.float64[:, :, ::1]]
"""Numba type of a generator's state: C-contiguous uint64, shape (4,), not all zero."""

# numba promotes uint64 with int64 to float64: every constant below must be a uint64.
_U17, _U23, _U41, _U45, _U19 = (np.uint64(n) for n in (17, 23, 41, 45, 19))
_U11, _U32 = np.uint64(11), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_TWO32 = np.uint64(1 << 32)
_ULP = 2.0**-53


def seed_state(entropy: Sequence[int]) -> NDArray[np.uint64]:
    """Return the state of a new stream, shape (4,).

    Parameters
    ----------
    entropy : sequence of int
        Non-negative integers of any size; different sequences give independent streams
        (`numpy.random.SeedSequence`, whose output NumPy keeps stable).

    Raises
    ------
    ValueError
        A negative number in `entropy`.
    """
    return np.random.SeedSequence(list(entropy)).generate_state(4, np.uint64).astype(np.uint64, copy=False)


@declared()
def bits_and_next(s0: np.uint64, s1: np.uint64, s2: np.uint64, s3: np.uint64) -> FiveWords:
    """Return 64 random bits and the state after them, xoshiro256++ [BV21]_."""
    total = s0 + s3
    bits = ((total << _U23) | (total >> _U41)) + s0
    shifted = s1 << _U17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << _U45) | (s3 >> _U19)
    return bits, s0, s1, s2, s3


@declared()
def next_u64(state: SeedState) -> np.uint64:
    """Return 64 random bits and advance `state`, xoshiro256++ [BV21]_."""
    bits, state[0], state[1], state[2], state[3] = bits_and_next(state[0], state[1], state[2], state[3])
    return bits


@declared()
def uniform(state: SeedState) -> float:
    """Return a uniform multiple of 2^-53 in [0, 1) and advance `state`."""
    return np.float64(next_u64(state) >> _U11) * _ULP


@declared()
def below(state: SeedState, bound: int) -> int:
    """Return a uniform integer in [0, bound) and advance `state`, without bias.

    Multiplies the upper half of 64 random bits by the bound and rejects the few products
    that would make some integers likelier [L19]_.

    Parameters
    ----------
    state : ndarray of uint64, shape (4,)
    bound : int
        In [1, 2^32]; not checked.
    """
    n = np.uint64(bound)
    product = (next_u64(state) >> _U32) * n
    low = product & _LOW
    if low < n:
        # 2^32 mod n of the 2^32 values are surplus; the division is rarely reached.
        surplus = _TWO32 % n
        while low < surplus:
            product = (next_u64(state) >> _U32) * n
            low = product & _LOW
    return np.int64(product >> _U32)  # type: ignore[return-value]


@declared()
def fill_below(state: SeedState, bound: int, out: Rows) -> None:
    """Write the results of repeated calls of `below`, in half of the time: the state stays in registers.

    Parameters
    ----------
    state : ndarray of uint64, shape (4,)
    bound : int
        In [1, 2^32]; not checked.
    out : ndarray of int64, shape (n,)
        Written.
    """
    n = np.uint64(bound)
    surplus = _TWO32 % n
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(len(out)):
        while True:
            bits, s0, s1, s2, s3 = bits_and_next(s0, s1, s2, s3)
            product = (bits >> _U32) * n
            if product & _LOW >= surplus:
                break
        out[i] = product >> _U32
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3


LANES = 4
"""Resamples that are summed at once: their sums of a cell stand side by side."""

_BLOCK = 512
"""Units that are drawn at once."""


@declared()
def draw_units(state: SeedState, times: Rows) -> None:
    """Draw G units with replacement; add each unit's number of draws to `times`, (G,)."""
    units, block = len(times), np.empty(_BLOCK, np.int64)
    for first in range(0, units, _BLOCK):
        some = block[: min(_BLOCK, units - first)]
        fill_below(state, units, some)
        for k in range(len(some)):
            times[np.uint64(some[k])] += 1


@declared()
def draw_cells(
    states: States, units: int, starts: ReadRows, cells: ReadIndex, weights: ReadVector, work: Vector, sums: DrawnSums
) -> None:
    """Draw the units of `draw_units`, resample by resample, and sum their cells as they are drawn.

    Parameters
    ----------
    states : ndarray of uint64, shape (R, 4)
    units : int
    starts : ndarray of int64, shape (units + 1,) or (0,)
        Unit u says ``weights[e]`` in cell ``cells[e]`` for ``e = starts[u] .. starts[u + 1] - 1``.
        Empty: it says 1 in ``cells[u]``, without an inner loop and in half of the time.
    cells : ndarray of int32
        Three times the pair, plus the outcome.
    weights : ndarray of float64
    work : ndarray of float64, shape (3 P,)
    sums : ndarray of float64, shape (R, 3, P)
        Written.
    """
    pairs, block = sums.shape[2], np.empty(_BLOCK, np.int64)
    for r in range(len(states)):
        work[:] = 0.0
        for first in range(0, units, _BLOCK):
            some = block[: min(_BLOCK, units - first)]
            fill_below(states[r], units, some)
            if len(starts):
                for k in range(len(some)):
                    u = np.uint64(some[k])
                    for e in range(np.uint64(starts[u]), np.uint64(starts[u + np.uint64(1)])):
                        work[np.uint64(cells[e])] += weights[e]
            else:
                for k in range(len(some)):
                    work[np.uint64(cells[np.uint64(some[k])])] += 1.0
        for pair in range(pairs):
            for outcome in range(3):
                sums[r, outcome, pair] = work[3 * pair + outcome]


@declared()
def draw_lanes(states: States, units: int, times: Times) -> None:
    """Add to `times` how often each unit is drawn: of resample ``LANES g + l`` at ``(g units + u) LANES + l``."""
    block = np.empty(_BLOCK, np.int64)
    for r in range(len(states)):
        place = (r // LANES) * units * LANES + r % LANES
        for first in range(0, units, _BLOCK):
            some = block[: min(_BLOCK, units - first)]
            fill_below(states[r], units, some)
            for k in range(len(some)):
                times[np.uint64(place + LANES * some[k])] += np.float32(1.0)


@declared()
def sum_lanes(
    begin: int,
    end: int,
    times: Times,
    starts: ReadRows,
    cells: ReadIndex,
    weights: ReadVector,
    place: Rows,
    tile: Vector,
    sums: DrawnSums,
) -> None:
    """Sum the units' cells of some pairs, times their numbers of draws, unit by unit in their order.

    Some cells are summed at a time, for `LANES` resamples, in a tile that stays in the processor's cache: where units
    say much and there are many pairs, every addition would wait for memory otherwise.

    Parameters
    ----------
    begin, end : int
        The pairs.
    times : ndarray of float32
        As `draw_lanes` leaves them.
    starts, cells, weights : ndarray
        See `draw_cells`. Cells of a unit rise.
    place : ndarray of int64, shape (units,)
        Room for where each unit is.
    tile : ndarray of float64, a multiple of 3 `LANES`
    sums : ndarray of float64, shape (R, 3, P)
        Written at these pairs.
    """
    units, width = len(place), len(tile) // (3 * LANES)
    for group in range((len(sums) + LANES - 1) // LANES):
        for u in range(units):
            low, high = starts[u], starts[u + 1]
            while low < high:
                middle = (low + high) // 2
                if cells[middle] < 3 * begin:
                    low = middle + 1
                else:
                    high = middle
            place[u] = low
        for first in range(begin, end, width):
            last = min(first + width, end)
            for k in range(3 * LANES * (last - first)):
                tile[k] = 0.0
            for u in range(units):
                e, stop = np.uint64(place[u]), np.uint64(starts[u + 1])
                if e >= stop or cells[e] >= 3 * last:
                    continue
                t = np.uint64((group * units + u) * LANES)
                a, b = np.float64(times[t]), np.float64(times[t + np.uint64(1)])
                c, d = np.float64(times[t + np.uint64(2)]), np.float64(times[t + np.uint64(3)])
                # Written out: a loop over lanes would take longer than its body.
                while e < stop and cells[e] < 3 * last:
                    cell, weight = np.uint64((cells[e] - 3 * first) * LANES), weights[e]
                    tile[cell] += weight * a
                    tile[cell + np.uint64(1)] += weight * b
                    tile[cell + np.uint64(2)] += weight * c
                    tile[cell + np.uint64(3)] += weight * d
                    e += np.uint64(1)
                place[u] = np.int64(e)
            for lane in range(min(LANES, len(sums) - group * LANES)):
                row = sums[group * LANES + lane]
                for pair in range(first, last):
                    k = 3 * (pair - first) * LANES + lane
                    row[0, pair], row[1, pair], row[2, pair] = tile[k], tile[k + LANES], tile[k + 2 * LANES]
