"""Change points tell where a series' level changed, how surely, and between which two runs.

The largest standardized difference of means before and after a point is looked for in intervals of all lengths (seeded
binary segmentation, [KBLM23]_), so that a step which was undone later is found too. Of what passes the threshold the
narrowest intervals count, as each of them holds one change with the least else. The threshold is a union bound over all
points of all intervals. The spread is that of differences of neighbors, by their median, and single outliers are cut to
three of it: neither a step nor an outlier then widens it.

References
----------
.. [KBLM23] S. Kovács, P. Bühlmann, H. Li and A. Munk. Seeded binary segmentation: a general methodology for fast and
   optimal changepoint detection. Biometrika 110(1), 2023.
.. [H00] B. E. Hansen. Sample splitting and threshold estimation. Econometrica 68(3), 2000.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

FEWEST_RUNS = 8
"""Runs of a series, and of the shortest interval that is looked at: fewer show no level."""

CUT = 3.0
"""Standard deviations from the median of its neighbors, to which a run counts."""

NEIGHBORS = 7

RELATIVE_EFFICIENCY = 0.37
"""Of the median absolute deviation: it knows a spread as well as the variance of this share of the runs would."""

LIKELIHOOD_RATIO = 7.35
"""Largest lack of a likelihood ratio, beside the largest ratio, at places in the 95% interval [H00]_."""

GROWTH = 2**0.5
"""Length of the intervals of one layer, as a multiple of the layer before."""


@dataclass(frozen=True)
class ChangePoint:
    """A change of a series' level.

    Attributes
    ----------
    at : int
        The first run of the new level.
    low, high : int
        Where the first run of the new level lies, at 95%.
    before, after : float
        Levels: medians of the runs up to the change points on either side.
    """

    at: int
    low: int
    high: int
    before: float
    after: float


def change_points(values: NDArray[np.float64], alpha: float = 0.05) -> list[ChangePoint]:
    """Return the change points of a series.

    Parameters
    ----------
    values : ndarray of float64, shape (N,)
        In the order of time, finite.
    alpha : float
        Chance that any is found where the level never changes and runs are independent; divide it by the number of
        series that are looked at together.

    Returns
    -------
    list of ChangePoint
        In the order of time; none in a series of fewer than `FEWEST_RUNS`.

    Notes
    -----
    O(N log N). A series in which most neighbors are equal (qualities of a deterministic run) has no spread: every other
    value is then a change.
    """
    runs = len(values)
    if runs < FEWEST_RUNS:
        return []
    spread = float(np.median(np.abs(np.diff(values)))) * 1.4826 / np.sqrt(2)
    if spread <= 1e-12 * float(np.abs(values).max()):
        return _exact(values)
    cut = _cut(values, spread)
    found = _refined(cut, sorted(_places(cut, spread, alpha)))
    kept = _kept(cut, spread, found, _threshold(runs, runs, alpha))
    edges = [0, *kept, runs]
    return [_described(values, cut, spread, edges[i - 1], at, edges[i + 1]) for i, at in enumerate(kept, 1)]


def _exact(values: NDArray[np.float64]) -> list[ChangePoint]:
    """Return every place where the value of a series without variance changes."""
    places = [int(i) for i in np.flatnonzero(np.diff(values)) + 1]
    edges = [0, *places, len(values)]
    level = [float(np.median(values[low:high])) for low, high in itertools.pairwise(edges)]
    return [ChangePoint(at, at, at, level[i], level[i + 1]) for i, at in enumerate(places)]


def _cut(values: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    half = NEIGHBORS // 2
    middle = np.median(sliding_window_view(np.pad(values, half, mode="reflect"), NEIGHBORS), axis=1)
    return np.asarray(np.clip(values, middle - CUT * spread, middle + CUT * spread))


def _lengths(runs: int) -> list[int]:
    lengths, length = [], float(FEWEST_RUNS)
    while length < runs:
        lengths.append(int(length))
        length *= GROWTH
    return [*lengths, runs]


def _threshold(runs: int, points: int, alpha: float) -> float:
    """Return the critical value of so many standardized differences, by the union bound."""
    from scipy.special import stdtrit

    return float(-stdtrit(max(2.0, RELATIVE_EFFICIENCY * (runs - 1)), alpha / (2 * points)))


def _places(values: NDArray[np.float64], spread: float, alpha: float) -> list[int]:
    """Return the points of the narrowest intervals that pass the threshold and contain no earlier point."""
    runs = len(values)
    layers = []
    points = 0
    for length in _lengths(runs):
        starts = np.unique(np.minimum(np.arange(0, runs, max(1, length // 2)), runs - length))
        z = _standardized(sliding_window_view(values, length)[starts]) / spread
        best = z.argmax(axis=1)
        layers.append((starts, length, best + 1, z[np.arange(len(starts)), best]))
        points += z.size
    limit = _threshold(runs, points, alpha)
    found: list[int] = []
    for starts, length, places, z in layers:
        for i in np.argsort(-z, kind="stable"):
            if z[i] <= limit:
                break
            start = int(starts[i])
            if not any(start < at < start + length for at in found):
                found.append(start + int(places[i]))
    return found


def _standardized(windows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return |mean after - mean before| sqrt(t (L - t) / L) for t from 1 to L - 1, shape (I, L - 1)."""
    length = windows.shape[1]
    t = np.arange(1, length)
    sums = np.cumsum(windows - windows[:, :1], axis=1)
    centred = sums[:, :-1] - sums[:, -1:] * (t / length)
    return np.asarray(np.abs(centred) * np.sqrt(length / (t * (length - t))))


def _refined(values: NDArray[np.float64], found: list[int]) -> list[int]:
    """Move each point to the best place between its neighbors."""
    for _ in range(3):
        edges = [0, *found, len(values)]
        moved = []
        for i in range(1, len(edges) - 1):
            low, high = edges[i - 1], edges[i + 1]
            moved.append(low + 1 + int(_standardized(values[None, low:high])[0].argmax()))
        if moved == found:
            break
        found = sorted(set(moved))
    return found


def _kept(values: NDArray[np.float64], spread: float, found: list[int], limit: float) -> list[int]:
    """Drop points, the weakest first, that do not pass the threshold between their neighbors."""
    kept = list(found)
    while kept:
        edges = [0, *kept, len(values)]
        z = [_z(values, spread, *edges[i - 1 : i + 2]) for i in range(1, len(edges) - 1)]
        weakest = int(np.argmin(z))
        if z[weakest] > limit:
            break
        del kept[weakest]
    return kept


def _z(values: NDArray[np.float64], spread: float, low: int, at: int, high: int) -> float:
    before, after = values[low:at], values[at:high]
    return float(abs(after.mean() - before.mean()) / spread / np.sqrt(1 / len(before) + 1 / len(after)))


def _described(
    values: NDArray[np.float64], cut: NDArray[np.float64], spread: float, low: int, at: int, high: int
) -> ChangePoint:
    """Return a change point with the places whose likelihood ratio lacks little of its own."""
    residuals = np.concatenate([cut[low:at] - cut[low:at].mean(), cut[at:high] - cut[at:high].mean()])
    variance = max(float((residuals**2).sum() / max(len(residuals) - 2, 1)), (spread / 4) ** 2)
    ratio = _standardized(cut[None, low:high])[0] ** 2 / variance
    near = np.flatnonzero(ratio[at - low - 1] - ratio <= LIKELIHOOD_RATIO) + low + 1
    before, after = float(np.median(values[low:at])), float(np.median(values[at:high]))
    return ChangePoint(at, int(near.min()), int(near.max()), before, after)
