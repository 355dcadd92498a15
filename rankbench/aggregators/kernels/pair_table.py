"""A table of all pairs of items in scratch memory, for kernels that meet every pair again and again.

Entry ``[i, j]`` of the m x m table is ``work[i * m + j]``. It is all zero between calls, and
kernels of O(k) keep it so by clearing each pair as they take it, not the whole table.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

import rankbench.kernels.signatures  # noqa: F401  numba reads the cache folder when it is first imported

__all__ = ["add_up", "table_size", "take_entries"]


def table_size(m: int) -> int:
    """Return the length of the scratch memory for m items."""
    return m * m


@njit(cache=True, nogil=True, inline="always")
def add_up(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
    work: NDArray[np.float64],
) -> float:
    """Add the weight of each judgment to entry [winner, loser] of the table; return the total."""
    total = 0.0
    for t in range(len(winners)):
        work[winners[t] * m + losers[t]] += weights[t]
        total += weights[t]
    return total


@njit(cache=True, nogil=True, inline="always")
def take_entries(work: NDArray[np.float64], m: int, i: int, j: int) -> tuple[float, float]:
    """Return entries [i, j] and [j, i] and clear them: whoever meets the pair again finds zeros."""
    forward, backward = work[i * m + j], work[j * m + i]
    # Without a branch: one that asks whether there is anything to clear is guessed wrong too often.
    work[i * m + j] = 0.0
    work[j * m + i] = 0.0
    return forward, backward
