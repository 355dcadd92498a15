"""Equal judgments in a row, which are of one time where nothing says when judgments were made.

So a judgment of weight w says what w judgments say. The function is plain Python that numba compiles too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["run_starts"]


def run_starts(first: NDArray[np.int32], second: NDArray[np.int32], outcome: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return where each run of equal judgments begins, and the number of judgments, shape (R + 1,).

    Parameters
    ----------
    first, second : ndarray of int32, shape (n,)
    outcome : ndarray of int8, shape (n,)
        1 where the first won, -1 where the second did, 0 for a tie.
    """
    n = len(first)
    starts = np.zeros(n + 1, np.int64)
    count = 0
    for e in range(n):
        straight = e > 0 and first[e] == first[e - 1] and second[e] == second[e - 1] and outcome[e] == outcome[e - 1]
        turned = e > 0 and first[e] == second[e - 1] and second[e] == first[e - 1] and outcome[e] == -outcome[e - 1]
        if not (straight or turned):
            starts[count] = e
            count += 1
    starts[count] = n
    return starts[: count + 1].copy()
