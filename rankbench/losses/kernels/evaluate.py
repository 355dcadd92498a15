"""The compiled pass over all queries; the loss itself comes as a first-class function."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import LOSS, MATRIX_LOSS

__all__ = ["matrix_pass", "scores_pass"]

Vector = types.float64[::1]
Matrix = types.float64[:, ::1]
Offsets = types.Array(types.int64, 1, "C", readonly=True)


@declared(types.void(types.FunctionType(LOSS), Matrix, Vector, Offsets, Vector, Vector, Matrix))
def scores_pass(
    loss: Any,
    alpha: NDArray[np.float64],
    structures: NDArray[np.float64],
    offsets: NDArray[np.int64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the loss of every contender on every query, ``out[c, q]``.

    Queries are the outer loop: a query's structure stays in cache for all contenders.
    """
    for q in range(offsets.shape[0] - 1):
        start, stop = offsets[q], offsets[q + 1]
        for c in range(alpha.shape[0]):
            out[c, q] = loss(alpha[c, start:stop], structures[start:stop], params, work)


@declared(types.void(types.FunctionType(MATRIX_LOSS), Matrix, types.int64, Matrix, Vector, Vector, Vector))
def matrix_pass(
    loss: Any,
    alpha: NDArray[np.float64],
    start: int,
    adjacency: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the loss of every contender on the one query whose items start at `start`."""
    stop = start + adjacency.shape[0]
    for c in range(alpha.shape[0]):
        out[c] = loss(alpha[c, start:stop], adjacency, params, work)
