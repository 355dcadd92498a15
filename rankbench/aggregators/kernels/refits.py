"""Bradley-Terry scores of many resamples of the same log, one after the other without the interpreter."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from rankbench.aggregators.kernels.likelihood import conjugate_gradients, gradient_and_curvature, item_sums
from rankbench.kernels.random import below

__all__ = ["refit"]

_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)
_VECTOR = types.float64[::1]

_STEPS = 60


@njit(types.void(_VECTOR, _INDEX, _READ), cache=True, nogil=True)
def _center(vector: NDArray[np.float64], scale: NDArray[np.int32], sizes: NDArray[np.float64]) -> None:
    """Make a vector sum to zero on every scale, in place."""
    means = np.zeros(len(sizes))
    for i in range(len(vector)):
        means[scale[i]] += vector[i] / sizes[scale[i]]
    for i in range(len(vector)):
        vector[i] -= means[scale[i]]


@njit(types.bool_(_ROWS, _INDEX, _READ, _READ, _INDEX, types.int64), cache=True, nogil=True)
def _one_scale_each(
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
    scale: NDArray[np.int32],
    scales: int,
) -> bool:
    """Return whether every scale is still strongly connected: from its first item there and back."""
    m = len(scale)
    for way in range(2):
        there, back = (forward, backward) if way == 0 else (backward, forward)
        reached = np.zeros(m, dtype=np.bool_)
        begun = np.zeros(scales, dtype=np.bool_)
        for i in range(m):
            if not begun[scale[i]]:
                begun[scale[i]] = True
                reached[i] = True
        changed = True
        while changed:
            changed = False
            for i in range(m):
                for e in range(starts[i], starts[i + 1]):
                    j = high[e]
                    if reached[i] and not reached[j] and there[e] > 0.0:
                        reached[j] = True
                        changed = True
                    elif reached[j] and not reached[i] and back[e] > 0.0:
                        reached[i] = True
                        changed = True
        if not reached.all():
            return False
    return True


@njit(
    types.bool_(_ROWS, _INDEX, _READ, _READ, types.float64, _INDEX, _READ, types.float64, _VECTOR),
    cache=True,
    nogil=True,
)
def _newton(
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    forward: NDArray[np.float64],
    backward: NDArray[np.float64],
    ridge: float,
    scale: NDArray[np.int32],
    sizes: NDArray[np.float64],
    tolerance: float,
    scores: NDArray[np.float64],
) -> bool:
    """Move `scores` to the maximum; return whether they came to rest."""
    m, pairs = len(scores), len(high)
    won, lost = np.zeros(m), np.zeros(m)
    item_sums(starts, high, forward, backward, won, lost)
    judged = forward + backward
    gradient, ahead, step, trial = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    curvature, spare = np.empty(pairs), np.empty(pairs)
    gradient_and_curvature(starts, high, judged, won, ridge, scores, gradient, curvature)
    _center(gradient, scale, sizes)
    norm = math.sqrt((gradient * gradient).sum())
    first = norm
    noise = 1e-15 * math.sqrt(((won + lost) * (won + lost)).sum())
    for _ in range(_STEPS):
        if norm <= noise:
            return True
        enough = max(min(0.1, norm / first), 1e-12) * norm
        conjugate_gradients(starts, high, curvature, ridge, gradient, enough, 10 * m, step)
        _center(step, scale, sizes)
        if np.abs(step).max() <= tolerance:
            scores -= step
            return True
        length = 1.0
        while True:
            for i in range(m):
                trial[i] = scores[i] - length * step[i]
            gradient_and_curvature(starts, high, judged, won, ridge, trial, ahead, spare)
            _center(ahead, scale, sizes)
            after = math.sqrt((ahead * ahead).sum())
            if after <= max((1.0 - 1e-4 * length) * norm, noise):
                break
            length *= 0.5
            if length < 1e-10:
                return False
        scores[:] = trial
        gradient[:] = ahead
        curvature[:] = spare
        norm = after
    return False


@njit(
    types.void(
        types.uint64[:, ::1],
        _ROWS,
        _ROWS,
        _READ,
        _ROWS,
        _INDEX,
        types.float64,
        types.float64,
        _INDEX,
        _READ,
        _READ,
        types.float64,
        types.float64[:, ::1],
    ),
    cache=True,
    nogil=True,
)
def refit(
    states: NDArray[np.uint64],
    unit_starts: NDArray[np.int64],
    unit_cells: NDArray[np.int64],
    unit_weights: NDArray[np.float64],
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    tie_share: float,
    ridge: float,
    scale: NDArray[np.int32],
    sizes: NDArray[np.float64],
    center: NDArray[np.float64],
    tolerance: float,
    out: NDArray[np.float64],
) -> None:
    """Write the scores of each resample, ``out[r]``, (m,); nan where they do not exist.

    Parameters
    ----------
    states : ndarray of uint64, shape (R, 4)
        One random stream a resample.
    unit_starts, unit_cells, unit_weights : ndarray
        What is drawn, as often as there are units: unit u adds ``unit_weights[e]`` to cell
        ``unit_cells[e] = 3 pair + c`` for ``e = unit_starts[u] .. unit_starts[u + 1] - 1``.
    starts, high : ndarray
        The pairs.
    tie_share : float
        How much of a win a tie is for either.
    scale, sizes : ndarray
        Scale of every item, number of items of every scale.
    center : ndarray of float64, shape (m,)
        Where to start.
    """
    pairs, units = len(high), len(unit_starts) - 1
    forward, backward, sums = np.empty(pairs), np.empty(pairs), np.empty(3 * pairs)
    # Units of one cell each, as judgments are, need no inner loop: half the time of drawing.
    single = len(unit_cells) == units
    for u in range(units):
        single = single and unit_starts[u] == u
    for r in range(len(states)):
        sums[:] = 0.0
        if single:
            for _ in range(units):
                u = below(states[r], units)
                sums[unit_cells[u]] += unit_weights[u]
        else:
            for _ in range(units):
                u = below(states[r], units)
                for e in range(unit_starts[u], unit_starts[u + 1]):
                    sums[unit_cells[e]] += unit_weights[e]
        for e in range(pairs):
            forward[e] = sums[3 * e] + tie_share * sums[3 * e + 2]
            backward[e] = sums[3 * e + 1] + tie_share * sums[3 * e + 2]
        out[r] = center
        exists = ridge > 0.0 or _one_scale_each(starts, high, forward, backward, scale, len(sizes))
        if not exists or not _newton(starts, high, forward, backward, ridge, scale, sizes, tolerance, out[r]):
            out[r] = np.nan
