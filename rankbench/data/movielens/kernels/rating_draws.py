"""Random folds of rows and random pairs of ratings, compiled."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.random import STATE, below

__all__ = ["deal_folds", "draw_rating_pairs"]

_Rows = types.int64[::1]
_Places = types.int8[::1]


@declared(types.void(STATE, types.int64, _Places))
def deal_folds(state: NDArray[np.uint64], folds: int, out: NDArray[np.int8]) -> None:
    """Deal rows to folds whose sizes differ by at most one: a shuffle (Fisher and Yates) of 0, 1, ..., 0, 1, ..."""
    for row in range(out.shape[0]):
        out[row] = row % folds
    for row in range(out.shape[0] - 1, 0, -1):
        other = below(state, row + 1)
        out[row], out[other] = out[other], out[row]


@declared(types.void(STATE, _Rows, types.boolean, _Rows))
def draw_rating_pairs(
    state: NDArray[np.uint64],
    bounds: NDArray[np.int64],
    by_user: bool,
    pair: NDArray[np.int64],
) -> None:
    """Draw pairs, by number, with replacement.

    Parameters
    ----------
    state : ndarray of uint64
        Of the random stream.
    bounds : ndarray of int64, shape (U + 1,)
        Pairs of user u have the numbers ``bounds[u]`` to ``bounds[u + 1] - 1``, at least
        one.
    by_user : bool
        A user uniform, then one of that user's pairs; else a pair uniform.
    pair : ndarray of int64, shape (n,)
        Out. Every draw takes its random numbers in the same order, so that a shorter draw
        is a prefix of a longer one.
    """
    users = bounds.shape[0] - 1
    for t in range(pair.shape[0]):
        if by_user:
            who = below(state, users)
            pair[t] = bounds[who] + below(state, bounds[who + 1] - bounds[who])
        else:
            pair[t] = below(state, bounds[users])
