"""Means of smoothed log-odds, and of their squares, over samples of a pair's votes."""

from __future__ import annotations

import math

from rankbench.kernels.declared import declared
from rankbench.runtime import settle_runtime

settle_runtime()

import numpy as np  # noqa: E402
from numba import types  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

__all__ = ["batch_moments", "smoothed", "subset_moments"]

_VECTOR = types.float64[::1]
_ROWS = types.int64[::1]
_FLAGS = types.boolean[::1]

NEGLIGIBLE = 1e-18
"""Probability, relative to the likeliest number of wins, from which on the others do not count."""


@declared(types.float64(types.float64, types.float64, types.float64))
def smoothed(wins: float, votes: float, c: float) -> float:
    """Return ``log((P + c) / (1 - P + c))`` of the share P = wins / votes ([DMJ13]_ section 5.1)."""
    share = wins / votes
    return math.log((share + c) / (1.0 - share + c))


@declared(types.void(_FLAGS, _ROWS, types.int64, types.float64, _VECTOR, _VECTOR))
def subset_moments(
    won: NDArray[np.bool_],
    starts: NDArray[np.int64],
    k: int,
    c: float,
    mean: NDArray[np.float64],
    square: NDArray[np.float64],
) -> None:
    """Average over all k-subsets (18): over the hypergeometric number of wins, exactly.

    From the likeliest number outwards by the ratio of neighboring probabilities,
    normalized in the end: no factorials. Where there are at most k votes, the one term of
    all of them; 0 where there are none.

    Parameters
    ----------
    won : ndarray of bool, shape (n,)
        Votes of all pairs, one pair after the other.
    starts : ndarray of int64, shape (P + 1,)
        Votes of pair p are ``starts[p]:starts[p + 1]``.
    k : int
    c : float
        Smoothing.
    mean, square : ndarray of float64, shape (P,)
        Written to.
    """
    for p in range(len(starts) - 1):
        votes = starts[p + 1] - starts[p]
        wins = 0
        for t in range(starts[p], starts[p + 1]):
            wins += won[t]
        if votes <= k:
            s = smoothed(float(wins), float(votes), c) if votes > 0 else 0.0
            mean[p], square[p] = s, s * s
            continue
        low, high = max(0, k - (votes - wins)), min(k, wins)
        mode = min(max(((k + 1) * (wins + 1)) // (votes + 2), low), high)
        total, first, second = 0.0, 0.0, 0.0
        weight, w = 1.0, mode
        while w >= low and weight > NEGLIGIBLE:
            s = smoothed(float(w), float(k), c)
            total += weight
            first += weight * s
            second += weight * s * s
            weight *= float(w) * float(votes - wins - k + w) / (float(wins - w + 1) * float(k - w + 1))
            w -= 1
        weight, w = 1.0, mode
        while w < high:
            weight *= float(wins - w) * float(k - w) / (float(w + 1) * float(votes - wins - k + w + 1))
            w += 1
            if weight <= NEGLIGIBLE:
                break
            s = smoothed(float(w), float(k), c)
            total += weight
            first += weight * s
            second += weight * s * s
        mean[p], square[p] = first / total, second / total


@declared(types.void(_FLAGS, _ROWS, types.int64, types.float64, _VECTOR, _VECTOR))
def batch_moments(
    won: NDArray[np.bool_],
    starts: NDArray[np.int64],
    k: int,
    c: float,
    mean: NDArray[np.float64],
    square: NDArray[np.float64],
) -> None:
    """Average over ceil(votes / k) batches of k votes in their order, the last one of what is left.

    Parameters as for `subset_moments`.
    """
    for p in range(len(starts) - 1):
        first, second, batches = 0.0, 0.0, 0
        begin = starts[p]
        while begin < starts[p + 1]:
            end = min(begin + k, starts[p + 1])
            wins = 0
            for t in range(begin, end):
                wins += won[t]
            s = smoothed(float(wins), float(end - begin), c)
            first += s
            second += s * s
            batches += 1
            begin = end
        mean[p] = first / batches if batches else 0.0
        square[p] = second / batches if batches else 0.0
