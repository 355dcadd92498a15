"""Compiled h(Y) of the pairwise families (12) and (13)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import WEIGH

__all__ = ["weigh"]


@declared(WEIGH)
def weigh(weights: NDArray[np.float64], params: NDArray[np.float64], offsets: NDArray[np.float64]) -> None:
    """Write factors and offsets; `params` are whether h(Y) is a margin, its power and its scale."""
    margin, power, scale = params[0] != 0.0, params[1], params[2]
    for e in range(weights.shape[0]):
        there = weights[e] > 0.0
        h = scale * weights[e] ** power if there else 0.0
        weights[e] = (1.0 if there else 0.0) if margin else h
        offsets[e] = h if margin else 0.0
