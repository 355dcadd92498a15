"""Votes drawn from a distribution over ordered pairs; see `rankbench.theory.noise_populations`."""

from __future__ import annotations

from rankbench.kernels.declared import declared
from rankbench.runtime import settle_runtime

settle_runtime()

import numpy as np  # noqa: E402
from numba import types  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from rankbench.kernels.random import STATE, uniform  # noqa: E402

__all__ = ["draw_votes"]


@declared(types.void(types.float64[::1], types.int64, STATE, types.int32[::1], types.int32[::1]))
def draw_votes(
    upto: NDArray[np.float64], m: int, state: NDArray[np.uint64], winners: NDArray[np.int32], losers: NDArray[np.int32]
) -> None:
    """Fill `winners` and `losers`, shape (n,); the first n of a longer draw are a draw of n.

    Parameters
    ----------
    upto : ndarray of float64, shape (m * m,)
        Cumulative probabilities of "i over j", row by row; the last entry is 1.
    m : int
    state : ndarray of uint64, shape (4,)
    winners, losers : ndarray of int32, shape (n,)
    """
    for t in range(len(winners)):
        cell = np.searchsorted(upto, uniform(state), side="right")
        winners[t], losers[t] = cell // m, cell % m
