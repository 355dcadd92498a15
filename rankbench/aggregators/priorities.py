"""Positive scores that stand for ratios, s_i / s_j, and the two scales they are given on."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scale", "on_scale"]

Scale = Literal["ratio", "log"]
"""``ratio``: positive scores with mean 1. ``log``: their logarithms, which sum to zero."""


def on_scale(
    logs: NDArray[np.float64], scale: Scale, component: NDArray[np.int64] | NDArray[np.int32] | None = None
) -> NDArray[np.float64]:
    """Normalize scores that are determined up to a factor.

    Parameters
    ----------
    logs : ndarray of float64, shape (m,)
        Logarithms of the scores, up to a constant.
    scale : Scale
    component : ndarray of int, shape (m,), optional
        Labels 0, 1, ... of the sets of items that have a factor of their own each; one
        set by default.

    Returns
    -------
    ndarray of float64, shape (m,)
        On every set with mean 1 (``ratio``) or mean 0 (``log``).
    """
    of = np.zeros(len(logs), dtype=np.int64) if component is None else component
    sizes = np.bincount(of)
    if scale == "log":
        means = np.bincount(of, logs) / sizes
        return logs - means[of]
    highest = np.full(len(sizes), -np.inf)
    np.maximum.at(highest, of, logs)
    ratios = np.exp(logs - highest[of])
    scores: NDArray[np.float64] = ratios / (np.bincount(of, ratios) / sizes)[of]
    return scores
