"""Curves of an arm at given steps, a row for each repetition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankbench.reports.sample import Arm, Sampler

__all__ = ["curve_steps", "curve_values", "in_windows"]


def curve_steps(sampler: Sampler, arm: Arm, metric: str) -> NDArray[np.int64]:
    """Return the steps that an arm's curve was recorded at, shape (P,); empty without one."""
    for repetition in sorted(arm.done):
        curve = sampler.results.curves(arm.cells[repetition]).get(metric)
        if curve is not None:
            return curve.steps
    return np.empty(0, dtype=np.int64)


def curve_values(
    sampler: Sampler, arm: Arm, metric: str, steps: Sequence[int], repetitions: Sequence[int]
) -> NDArray[np.float64] | None:
    """Return a curve's values at `steps`, shape (R, len(steps)), or None if one is missing.

    Between two recorded steps the value is interpolated linearly in log(step), outside
    of them it is that of the nearest one.
    """
    rows = []
    for repetition in repetitions:
        curve = sampler.results.curves(arm.cells[repetition]).get(metric)
        if curve is None or not len(curve.steps):
            return None
        at, recorded = np.log(np.asarray(steps, dtype=np.float64)), np.log(curve.steps.astype(np.float64))
        rows.append(np.interp(at, recorded, curve.values))
    return np.stack(rows)


def in_windows(
    steps: NDArray[np.int64], values: NDArray[np.float64], per_decade: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return means of a curve over windows of its steps, so many a decade, at the geometric means of the steps.

    Parameters
    ----------
    steps : ndarray of int64, shape (P,)
        Above 0, rising.
    values : ndarray of float64, shape (R, P)
    per_decade : int

    Returns
    -------
    (ndarray of int64, shape (W,), ndarray of float64, shape (R, W))
    """
    window = np.floor(np.log10(steps) * per_decade + 1e-9).astype(np.int64)
    # The last step begins a window that nothing else is in: it belongs to the one before.
    if len(window) > 1 and window[-1] != window[-2]:
        window[-1] = window[-2]
    _, starts = np.unique(window, return_index=True)
    sizes = np.diff([*starts, len(steps)])
    middle = np.exp(np.add.reduceat(np.log(steps), starts) / sizes)
    return np.rint(middle).astype(np.int64), np.add.reduceat(values, starts, axis=1) / sizes
