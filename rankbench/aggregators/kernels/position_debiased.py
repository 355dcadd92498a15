"""Compiled expectation maximization of the position-based model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.kernels.click_rates import ratios
from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import SELECT

__all__ = ["position_debiased"]

_TINY = 1e-12


@declared(SELECT)
def position_debiased(
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    clicked: NDArray[np.bool_],
    item_offsets: NDArray[np.int64],
    params: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write attractiveness, then examination; `params` are smoothing, steps at most and tolerance.

    Selections are counted by item and position once; a step then costs the size of the table.
    """
    smoothing, steps, tolerance = params[0], int(params[1]), params[2]
    n = item_offsets[-1]
    longest = len(out) - n
    shows = np.zeros((n, longest))
    clicks = np.zeros((n, longest))
    for q in range(len(offsets) - 1):
        first = item_offsets[q]
        for s in range(offsets[q], offsets[q + 1]):
            for row in range(starts[s], starts[s + 1]):
                shows[first + items[row], row - starts[s]] += 1.0
                if clicked[row]:
                    clicks[first + items[row], row - starts[s]] += 1.0
    reached, hits = np.zeros(longest), np.zeros(longest)
    shown, a, expected = np.zeros(n), np.zeros(n), np.zeros(n)
    for item in range(n):
        for j in range(longest):
            reached[j] += shows[item, j]
            hits[j] += clicks[item, j]
            shown[item] += shows[item, j]
            a[item] += clicks[item, j]
    e = hits / np.maximum(reached, 1.0)
    top = e.max()
    if top == 0.0:
        out[:n] = 0.0
        out[n:] = 1.0
        return
    e /= top
    for item in range(n):
        for j in range(longest):
            expected[item] += shows[item, j] * e[j]
    ratios(a, expected, item_offsets, smoothing)
    for item in range(n):
        a[item] = min(a[item], 1.0)
    new_a, new_e = np.zeros(n), np.zeros(longest)
    for _ in range(steps):
        new_a[:] = 0.0
        new_e[:] = 0.0
        for item in range(n):
            if shown[item] == 0.0:
                continue
            for j in range(longest):
                both = clicks[item, j]
                skipped = (shows[item, j] - both) / max(1.0 - a[item] * e[j], _TINY)
                new_a[item] += both + skipped * a[item] * (1.0 - e[j])
                new_e[j] += both + skipped * (1.0 - a[item]) * e[j]
        moved = 0.0
        for j in range(longest):
            found = new_e[j] / reached[j] if reached[j] > 0.0 else 0.0
            moved = max(moved, abs(found - e[j]))
            e[j] = found
        ratios(new_a, shown, item_offsets, smoothing)
        for item in range(n):
            moved = max(moved, abs(new_a[item] - a[item]))
            a[item] = new_a[item]
        if moved <= tolerance:
            break
    top = e.max()
    out[:n] = a * top
    out[n:] = e / top
