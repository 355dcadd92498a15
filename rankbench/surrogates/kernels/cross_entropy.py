"""Compiled softmaxes and their cross entropy; no exponential can overflow."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.signatures import GRADIENT, TARGET

__all__ = ["softmax", "value_and_gradient"]


@declared(TARGET)
def softmax(
    scores: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    target: NDArray[np.float64],
) -> None:
    """Write the softmax of the scores."""
    top = scores.max()
    total = 0.0
    for i in range(scores.shape[0]):
        target[i] = math.exp(scores[i] - top)
        total += target[i]
    for i in range(scores.shape[0]):
        target[i] /= total


@declared(GRADIENT)
def value_and_gradient(
    alpha: NDArray[np.float64],
    target: NDArray[np.float64],
    params: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> float:
    """Return ``sum_j w_j (log sum_l e^alpha_l - alpha_j)`` and write its gradient."""
    m = alpha.shape[0]
    top = alpha[0]
    for i in range(1, m):
        top = max(top, alpha[i])
    total, mass, along = 0.0, 0.0, 0.0
    for i in range(m):
        gradient[i] = math.exp(alpha[i] - top)
        mass += gradient[i]
        total += target[i]
        along += target[i] * (alpha[i] - top)
    for i in range(m):
        gradient[i] = total * gradient[i] / mass - target[i]
    return total * math.log(mass) - along
