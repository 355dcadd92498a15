"""Compiled first steps of the surrogates of the NDCG family: gains, divided by Z(s) or not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.discounts import TINY
from rankbench.kernels.declared import declared
from rankbench.kernels.gains import gain_at, gains_and_ideal
from rankbench.kernels.signatures import TARGET
from rankbench.kernels.sorting import padding

__all__ = ["plain_target", "raised_target", "target", "work"]


def work(m: int) -> int:
    """Return the scratch that `target` needs for m items."""
    return 3 * int(padding(m))


@declared(TARGET)
def target(
    scores: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    target: NDArray[np.float64],
) -> None:
    """Write ``G(s_j) / Z(s)``, or zeros where Z(s) is not above zero or s = 0; nan if s is not finite."""
    check = 0.0
    for i in range(scores.shape[0]):
        check += 0.0 * scores[i]
    if check != 0.0:
        target[:] = np.nan
        return
    ideal = gains_and_ideal(scores, params, target, work)
    largest = 0.0
    for i in range(target.shape[0]):
        largest = max(largest, abs(target[i]))
    if ideal > 0.0 and ideal > TINY * largest:
        for i in range(target.shape[0]):
            target[i] /= ideal
    else:
        for i in range(target.shape[0]):
            target[i] = 0.0
    work[: 3 * padding(scores.shape[0])] = 0.0


@declared(TARGET)
def raised_target(
    scores: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write what `target` does, less its minimum where that is negative."""
    target(scores, params, work, out)
    least = 0.0
    for i in range(out.shape[0]):
        least = min(least, out[i])
    for i in range(out.shape[0]):
        out[i] -= least


@declared(TARGET)
def plain_target(
    scores: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    target: NDArray[np.float64],
) -> None:
    """Write ``G(s_j)``."""
    for i in range(scores.shape[0]):
        target[i] = gain_at(scores[i], 0.0, 1.0, int(params[0]))
