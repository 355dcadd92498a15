"""The compiled pass over all queries of a score surrogate; the surrogate comes as a first-class function."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import GRADIENT

__all__ = ["risk"]

Vector = types.float64[::1]
FrozenVector = types.Array(types.float64, 1, "C", readonly=True)
Offsets = types.Array(types.int64, 1, "C", readonly=True)


@declared(types.float64(types.FunctionType(GRADIENT), Vector, Vector, Offsets, FrozenVector, Vector, Vector))
def risk(
    surrogate: Any,
    alpha: NDArray[np.float64],
    targets: NDArray[np.float64],
    offsets: NDArray[np.int64],
    shares: NDArray[np.float64],
    params: NDArray[np.float64],
    pull: NDArray[np.float64],
) -> float:
    """Return ``sum_q v_q phi(alpha_q, target_q)`` and write its gradient in alpha, shape (N,), to `pull`."""
    value = 0.0
    for q in range(shares.shape[0]):
        start, stop = offsets[q], offsets[q + 1]
        if shares[q] == 0.0:
            pull[start:stop] = 0.0
            continue
        value += shares[q] * surrogate(alpha[start:stop], targets[start:stop], params, pull[start:stop])
        for i in range(start, stop):
            pull[i] *= shares[q]
    return value
