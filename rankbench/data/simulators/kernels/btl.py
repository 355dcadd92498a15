"""Drawing Bradley-Terry-Luce comparisons and grouping them by query, compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.random import STATE, below, uniform

__all__ = ["draw_judgments", "group_judgments"]

_INDEX = types.int32[::1]
_ROWS = types.int64[::1]
_VECTOR = types.float64[::1]


@declared(types.void(_ROWS, _VECTOR, STATE, _INDEX, _INDEX, _INDEX))
def draw_judgments(
    offsets: NDArray[np.int64],
    labels: NDArray[np.float64],
    state: NDArray[np.uint64],
    query: NDArray[np.int32],
    winner: NDArray[np.int32],
    loser: NDArray[np.int32],
) -> None:
    """Fill `query`, `winner` and `loser`, shape (n,), with independent judgments, (26).

    Each takes its random numbers in the same order: query, first item, second item, winner.
    So the first n judgments of a longer draw are the draw of length n.
    """
    for t in range(len(query)):
        q = below(state, len(offsets) - 1)
        start = offsets[q]
        m = offsets[q + 1] - start
        i = below(state, m)
        j = below(state, m - 1)
        if j >= i:
            j += 1
        # exp may overflow to inf, which is the right probability 0.
        p = 1.0 / (1.0 + math.exp(labels[start + j] - labels[start + i]))
        if uniform(state) >= p:
            i, j = j, i
        query[t], winner[t], loser[t] = q, i, j


@declared(types.void(_INDEX, _INDEX, _INDEX, _ROWS, _INDEX, _INDEX))
def group_judgments(
    query: NDArray[np.int32],
    winner: NDArray[np.int32],
    loser: NDArray[np.int32],
    offsets: NDArray[np.int64],
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
) -> None:
    """Sort judgments by query, keeping their order within a query: a counting sort.

    Fills `offsets`, shape (Q + 1,) and zero on entry, and `winners` and `losers`, shape (n,).
    """
    for t in range(len(query)):
        offsets[query[t] + 1] += 1
    for q in range(1, len(offsets)):
        offsets[q] += offsets[q - 1]
    place = offsets[:-1].copy()
    for t in range(len(query)):
        q = query[t]
        row = place[q]
        winners[row], losers[row] = winner[t], loser[t]
        place[q] = row + 1
