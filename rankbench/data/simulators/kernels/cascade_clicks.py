"""Drawing click sessions and grouping them by query, compiled."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.random import STATE, below, uniform

__all__ = ["draw_sessions", "group_sessions"]

_INDEX = types.int32[::1]
_LISTS = types.int32[:, ::1]
_VECTOR = types.float64[::1]
_MATRIX = types.float64[:, ::1]


@declared(types.void(_MATRIX, _VECTOR, _VECTOR, STATE, _INDEX, _LISTS, _INDEX))
def draw_sessions(
    weights: NDArray[np.float64],
    satisfaction: NDArray[np.float64],
    looks: NDArray[np.float64],
    state: NDArray[np.uint64],
    query: NDArray[np.int32],
    lists: NDArray[np.int32],
    click: NDArray[np.int32],
) -> None:
    """Fill `query`, `lists`, shape (n, L), and `click` (L: nothing) with independent sessions.

    Lists are drawn item by item without replacement, with probabilities in proportion to
    the `weights` of the query, shape (Q, m). Sessions take their random numbers one after
    the other, so the first n of a longer draw are the draw of length n.
    """
    m, length = weights.shape[1], lists.shape[1]
    left = np.empty(m)
    for t in range(len(query)):
        q = below(state, len(weights))
        query[t] = q
        for item in range(m):
            left[item] = weights[q, item]
        click[t] = length
        for position in range(length):
            # Summed anew each time: taking drawn weights off a sum would leave rounding errors.
            total = 0.0
            for item in range(m):
                total += left[item]
            at = uniform(state) * total
            found = -1
            for item in range(m):
                if left[item] > 0.0:
                    found = item
                    at -= left[item]
                    if at < 0.0:
                        break
            left[found] = 0.0
            lists[t, position] = found
        for position in range(length):
            chance = looks[position] * satisfaction[q * m + lists[t, position]]
            if uniform(state) < chance and click[t] == length:
                click[t] = position


@declared(types.void(_INDEX, _LISTS, _INDEX, types.int64[::1], _LISTS, types.boolean[:, ::1]))
def group_sessions(
    query: NDArray[np.int32],
    lists: NDArray[np.int32],
    click: NDArray[np.int32],
    offsets: NDArray[np.int64],
    items: NDArray[np.int32],
    clicked: NDArray[np.bool_],
) -> None:
    """Sort sessions by query, keeping their order within a query: a counting sort.

    Fills `offsets`, shape (Q + 1,) and zero on entry, `items` and `clicked`, shape (n, L), the
    latter false on entry.
    """
    for t in range(len(query)):
        offsets[query[t] + 1] += 1
    for q in range(1, len(offsets)):
        offsets[q] += offsets[q - 1]
    place = offsets[:-1].copy()
    for t in range(len(query)):
        row = place[query[t]]
        place[query[t]] += 1
        for position in range(lists.shape[1]):
            items[row, position] = lists[t, position]
        if click[t] < lists.shape[1]:
            clicked[row, click[t]] = True
