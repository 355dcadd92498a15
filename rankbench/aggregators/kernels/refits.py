"""Bradley-Terry scores of many resamples of the same log, one after the other without the interpreter."""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from rankbench.aggregators.kernels.likelihood import AT_MAXIMUM, NEWTON_WORK, item_sums, newton
from rankbench.kernels.resamples import draw_cells

__all__ = ["refit"]

_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)
_VECTOR = types.float64[::1]


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
        # A loop: numba's form of `all` brings half of numba with it into every process, a sixth of a second.
        for i in range(m):
            if not reached[i]:
                return False
    return True


@njit(
    types.void(
        types.uint64[:, ::1],
        types.int64,
        _ROWS,
        _INDEX,
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
    units: int,
    unit_starts: NDArray[np.int64],
    unit_cells: NDArray[np.int32],
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
    units, unit_starts, unit_cells, unit_weights
        What is drawn: see `rankbench.kernels.resamples.draw_cells`. Cells from ``3 len(high)`` on say nothing.
    starts, high : ndarray
        The pairs.
    tie_share : float
        How much of a win a tie is for either.
    scale, sizes : ndarray
        Scale of every item, number of items of every scale.
    center : ndarray of float64, shape (m,)
        Where to start.
    """
    m, pairs = len(center), len(high)
    forward, backward, judged, sums = np.empty(pairs), np.empty(pairs), np.empty(pairs), np.empty(3 * pairs + 3)
    won, lost, gradient, step, curvature = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(pairs)
    work = np.empty(NEWTON_WORK * m + pairs)
    for r in range(len(states)):
        sums[:] = 0.0
        draw_cells(states[r], units, unit_starts, unit_cells, unit_weights, sums)
        for e in range(pairs):
            forward[e] = sums[3 * e] + tie_share * sums[3 * e + 2]
            backward[e] = sums[3 * e + 1] + tie_share * sums[3 * e + 2]
            judged[e] = forward[e] + backward[e]
        for i in range(m):
            out[r, i] = center[i]
        if ridge > 0.0 or _one_scale_each(starts, high, forward, backward, scale, len(sizes)):
            won[:] = 0.0
            lost[:] = 0.0
            item_sums(starts, high, forward, backward, won, lost)
            status, _, _ = newton(
                starts, high, judged, won, lost, ridge, scale, sizes, 10 * m, tolerance, False, out[r], gradient,
                curvature, step, work,
            )  # fmt: skip
            if status == AT_MAXIMUM:
                continue
        out[r] = np.nan
