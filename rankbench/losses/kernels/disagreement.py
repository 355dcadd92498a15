"""Compiled weighted pairwise disagreement (10)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import MATRIX_LOSS

__all__ = ["disagreement", "work"]


def work(m: int) -> int:
    """Return the scratch that `disagreement` needs: the partial sums of two lots of m columns."""
    return 2 * m


@declared(MATRIX_LOSS)
def disagreement(
    alpha: NDArray[np.float64],
    adjacency: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
) -> float:
    """Return the sum of the weights of misordered pairs, divided by all weights if ``params[0]``.

    nan if alpha holds one.
    """
    m = alpha.shape[0]
    wrong, total = work[:m], work[m : 2 * m]
    wrong[:] = 0.0
    total[:] = 0.0
    # Sums are kept by column, so that a row is one vector operation.
    for i in range(m):
        own, row = alpha[i], adjacency[i]
        if own != own:
            return np.nan
        before, after = wrong[:i], wrong[i + 1 :]
        earlier, later = alpha[:i], alpha[i + 1 :]
        weights = row[i + 1 :]
        for j in range(i):
            before[j] += row[j] if own < earlier[j] else 0.0
        for j in range(m - i - 1):
            after[j] += weights[j] if own <= later[j] else 0.0
    value = wrong.sum()
    if params[0] == 0.0:
        return float(value)
    for i in range(m):
        for j in range(m):
            total[j] += adjacency[i, j]
        total[i] -= adjacency[i, i]
    weight = total.sum()
    return float(value / weight) if weight > 0.0 else 0.0
