"""Compiled normalization of positive scores; see `rankbench.aggregators.priorities`."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["on_scale"]


@declared(types.void(types.float64[::1], types.int64[::1], types.boolean))
def on_scale(scores: NDArray[np.float64], component: NDArray[np.int64], log: bool) -> None:
    """Turn logarithms known up to a constant a component into scores, in place.

    Parameters
    ----------
    scores : ndarray of float64, shape (m,)
        On entry logarithms; on return ratios with mean 1, or logarithms with mean 0, on every
        component.
    component : ndarray of int64, shape (m,)
        A label in ``[0, m)`` for each item.
    log : bool
        Whether to return logarithms.
    """
    m = len(scores)
    size, total = np.zeros(m), np.zeros(m)
    if not log:
        highest = np.full(m, -np.inf)
        for i in range(m):
            highest[component[i]] = max(highest[component[i]], scores[i])
        for i in range(m):
            scores[i] = math.exp(scores[i] - highest[component[i]])
    for i in range(m):
        size[component[i]] += 1.0
        total[component[i]] += scores[i]
    for i in range(m):
        mean = total[component[i]] / size[component[i]]
        scores[i] = scores[i] - mean if log else scores[i] / mean
