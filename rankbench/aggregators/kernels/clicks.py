"""Kernels estimate click models."""

from __future__ import annotations

import numpy as np

from rankbench.kernels.declared import Flags, Index, Rows, Vector, declared
from rankbench.kernels.signatures import SELECT


@declared()
def ratios(clicks: Vector, exposure: Vector, item_offsets: Rows, smoothing: float) -> None:
    """Replace clicks of each item by their ratio to its exposure, (N,), smoothed towards the ratio of its whole query.

    That of a query without exposure is the ratio of all queries.
    """
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
def click_rate(
    offsets: Rows, starts: Rows, items: Index, clicked: Flags, item_offsets: Rows, params: Vector, out: Vector
) -> None:
    """Write clicks over showings, then ones; `params` are smoothing, and whether a list ends with its first click."""
    out[:] = 0.0
    n = item_offsets[-1]
    shown = np.zeros(n)
    for q in range(len(offsets) - 1):
        first = item_offsets[q]
        for s in range(offsets[q], offsets[q + 1]):
            for row in range(starts[s], starts[s + 1]):
                shown[first + items[row]] += 1.0
                if clicked[row]:
                    out[first + items[row]] += 1.0
                    if params[1] != 0.0:
                        break
    ratios(out[:n], shown, item_offsets, params[0])
    out[n:] = 1.0


@declared(SELECT)
def coec(
    offsets: Rows, starts: Rows, items: Index, clicked: Flags, item_offsets: Rows, params: Vector, out: Vector
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


_TINY = 1e-12


@declared(SELECT)
def position_debiased(
    offsets: Rows, starts: Rows, items: Index, clicked: Flags, item_offsets: Rows, params: Vector, out: Vector
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
