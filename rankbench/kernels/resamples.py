"""Units drawn with replacement: judgments, or judges with all that they said.

This module imports numba; import it only from kernel modules and inside functions.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.random import STATE, fill_below

__all__ = ["LANES", "draw_cells", "draw_lanes", "draw_units", "sum_lanes"]

_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)
_STATES = types.uint64[:, ::1]
_SUMS = types.float64[:, :, ::1]

LANES = 4
"""Resamples that are summed at once: their sums of a cell stand side by side."""

_BLOCK = 512
"""Units that are drawn at once."""


@declared(types.void(STATE, types.int64[::1]))
def draw_units(state: NDArray[np.uint64], times: NDArray[np.int64]) -> None:
    """Draw as many units as there are; add to `times`, (G,), how often each was drawn."""
    units, block = len(times), np.empty(_BLOCK, np.int64)
    for first in range(0, units, _BLOCK):
        some = block[: min(_BLOCK, units - first)]
        fill_below(state, units, some)
        for k in range(len(some)):
            times[np.uint64(some[k])] += 1


@declared(types.void(_STATES, types.int64, _ROWS, _INDEX, _READ, types.float64[::1], _SUMS))
def draw_cells(
    states: NDArray[np.uint64],
    units: int,
    starts: NDArray[np.int64],
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    work: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Draw the units that `draw_units` draws, resample by resample, and sum what they said as they are drawn.

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
            sums[r, 0, pair], sums[r, 1, pair], sums[r, 2, pair] = (
                work[3 * pair],
                work[3 * pair + 1],
                work[3 * pair + 2],
            )


@declared(types.void(_STATES, types.int64, types.float32[::1]))
def draw_lanes(states: NDArray[np.uint64], units: int, times: NDArray[np.float32]) -> None:
    """Add to `times` how often each unit is drawn: of resample ``LANES g + l`` at ``(g units + u) LANES + l``."""
    block = np.empty(_BLOCK, np.int64)
    for r in range(len(states)):
        place = (r // LANES) * units * LANES + r % LANES
        for first in range(0, units, _BLOCK):
            some = block[: min(_BLOCK, units - first)]
            fill_below(states[r], units, some)
            for k in range(len(some)):
                times[np.uint64(place + LANES * some[k])] += np.float32(1.0)


@declared(
    types.void(
        types.int64, types.int64, types.float32[::1], _ROWS, _INDEX, _READ, types.int64[::1], types.float64[::1], _SUMS
    ),
)
def sum_lanes(
    begin: int,
    end: int,
    times: NDArray[np.float32],
    starts: NDArray[np.int64],
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    place: NDArray[np.int64],
    tile: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Sum what units said about some pairs, times how often they were drawn, unit by unit in their order.

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
                # Written out: a loop over lanes takes longer than what it does.
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
