"""Compiled click rates of items: cascade, click-through rate, clicks over expected clicks."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import SELECT

__all__ = ["cascade", "click_through_rate", "coec", "ratios"]

_ROWS = types.int64[::1]
_VECTOR = types.float64[::1]


@declared(types.void(_VECTOR, _VECTOR, _ROWS, types.float64))
def ratios(
    clicks: NDArray[np.float64], exposure: NDArray[np.float64], item_offsets: NDArray[np.int64], smoothing: float
) -> None:
    """Replace clicks by the smoothed ratios of `rankbench.kinds.selection_aggregator.click_ratios`."""
    n = item_offsets[-1]
    all_clicks, all_exposure = 0.0, 0.0
    for item in range(n):
        all_clicks += clicks[item]
        all_exposure += exposure[item]
    overall = all_clicks / all_exposure if all_exposure > 0.0 else 0.0
    for q in range(len(item_offsets) - 1):
        hits, seen = 0.0, 0.0
        for item in range(item_offsets[q], item_offsets[q + 1]):
            hits += clicks[item]
            seen += exposure[item]
        average = hits / seen if seen > 0.0 else overall
        for item in range(item_offsets[q], item_offsets[q + 1]):
            weight = exposure[item] + smoothing
            clicks[item] = (clicks[item] + smoothing * average) / weight if weight > 0.0 else average


@declared(SELECT)
def cascade(
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    clicked: NDArray[np.bool_],
    item_offsets: NDArray[np.int64],
    params: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write selections over looks, section 5.2, then ones."""
    out[:] = 0.0
    n = item_offsets[-1]
    looks = np.zeros(n)
    for q in range(len(offsets) - 1):
        first = item_offsets[q]
        for s in range(offsets[q], offsets[q + 1]):
            for row in range(starts[s], starts[s + 1]):
                looks[first + items[row]] += 1.0
                if clicked[row]:
                    out[first + items[row]] += 1.0
                    break
    ratios(out[:n], looks, item_offsets, params[0])
    out[n:] = 1.0


@declared(SELECT)
def click_through_rate(
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    clicked: NDArray[np.bool_],
    item_offsets: NDArray[np.int64],
    params: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write clicks over lists, then ones."""
    out[:] = 0.0
    n = item_offsets[-1]
    lists = np.zeros(n)
    for q in range(len(offsets) - 1):
        first = item_offsets[q]
        for row in range(starts[offsets[q]], starts[offsets[q + 1]]):
            lists[first + items[row]] += 1.0
            if clicked[row]:
                out[first + items[row]] += 1.0
    ratios(out[:n], lists, item_offsets, params[0])
    out[n:] = 1.0


@declared(SELECT)
def coec(
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    clicked: NDArray[np.bool_],
    item_offsets: NDArray[np.int64],
    params: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write clicks over expected clicks, then the click rates of the positions."""
    out[:] = 0.0
    n = item_offsets[-1]
    reached = np.zeros(len(out) - n)
    for s in range(len(starts) - 1):
        for row in range(starts[s], starts[s + 1]):
            reached[row - starts[s]] += 1.0
            if clicked[row]:
                out[n + row - starts[s]] += 1.0
    for position in range(len(reached)):
        out[n + position] /= max(reached[position], 1.0)
    expected = np.zeros(n)
    for q in range(len(offsets) - 1):
        first = item_offsets[q]
        for s in range(offsets[q], offsets[q + 1]):
            for row in range(starts[s], starts[s + 1]):
                expected[first + items[row]] += out[n + row - starts[s]]
                if clicked[row]:
                    out[first + items[row]] += 1.0
    ratios(out[:n], expected, item_offsets, params[0])
