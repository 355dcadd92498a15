"""Bradley-Terry scores of some resamples of the same log, one after the other without the interpreter."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.aggregators.kernels.likelihood import AT_MAXIMUM, NEWTON_WORK, item_sums, newton
from rankbench.kernels.declared import declared

__all__ = ["refit"]

_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)
_VECTOR = types.float64[::1]


@declared(types.bool_(_ROWS, _INDEX, _READ, _READ, _INDEX, types.int64))
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


@declared(
    types.void(
        types.Array(types.float64, 3, "C", readonly=True),
        _ROWS,
        _ROWS,
        _INDEX,
        _READ,
        types.float64,
        types.float64,
        _INDEX,
        _READ,
        _READ,
        types.float64,
        types.float64[:, ::1],
    ),
)
def refit(
    sums: NDArray[np.float64],
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    high: NDArray[np.int32],
    padding: NDArray[np.float64],
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
    sums : ndarray of float64, shape (R, 3, P)
        See `rankbench.kinds.resamples.Resamples.batches`.
    places : ndarray of int64, shape (P,)
        Where each of their pairs stands among those of `high`; after all of them where it says nothing.
    starts, high : ndarray
        The pairs to sum over.
    padding : ndarray of float64, shape (P,)
        Pseudo-votes that both items of each of these pairs have won besides.
    tie_share : float
        How much of a win a tie is for either.
    scale, sizes : ndarray
        Scale of every item, number of items of every scale.
    center : ndarray of float64, shape (m,)
        Where to start.
    """
    m, pairs = len(center), len(high)
    # One more than there are pairs, for what says nothing.
    forward, backward, judged = np.zeros(pairs + 1), np.zeros(pairs + 1), np.zeros(pairs + 1)
    won, lost, gradient, step, curvature = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(pairs)
    work = np.empty(NEWTON_WORK * m + pairs)
    for r in range(len(sums)):
        for p in range(len(places)):
            e = places[p]
            forward[e] = sums[r, 0, p] + tie_share * sums[r, 2, p]
            backward[e] = sums[r, 1, p] + tie_share * sums[r, 2, p]
            judged[e] = forward[e] + backward[e]
        for e in range(pairs):
            if padding[e] > 0.0:
                forward[e] += padding[e]
                backward[e] += padding[e]
                judged[e] = forward[e] + backward[e]
        for i in range(m):
            out[r, i] = center[i]
        if ridge > 0.0 or _one_scale_each(starts, high, forward, backward, scale, len(sizes)):
            won[:] = 0.0
            lost[:] = 0.0
            item_sums(starts, high, forward, backward, won, lost)
            status, _, _ = newton(
                starts, high, judged[:pairs], won, lost, ridge, scale, sizes, 10 * m, tolerance, False, out[r],
                gradient, curvature, step, work,
            )  # fmt: skip
            if status == AT_MAXIMUM:
                continue
        out[r] = np.nan
