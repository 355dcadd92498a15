"""Compiled order-preserving surrogates."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.formulas import looped
from rankbench.kernels.satisfaction import satisfied
from rankbench.kernels.signatures import GRADIENT, TARGET
from rankbench.surrogates.phi import PhiFormula

__all__ = ["satisfaction_target", "value_and_gradient"]


@declared(TARGET)
def satisfaction_target(
    scores: NDArray[np.float64],
    params: NDArray[np.float64],
    work: NDArray[np.float64],
    target: NDArray[np.float64],
) -> None:
    """Write G(s_j); `params` are its code and its largest grade."""
    for i in range(scores.shape[0]):
        target[i] = satisfied(scores[i], params[0], params[1])


@cache
def value_and_gradient(formula: PhiFormula) -> Any:
    """Return the kernel (`GRADIENT`) of ``sum_j w_j sum_l phi(alpha_j - alpha_l)``."""
    return looped(_pushes, GRADIENT, phi=formula.phi, dphi=formula.dphi)


def _pushes(
    alpha: NDArray[np.float64],
    target: NDArray[np.float64],
    params: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> float:
    m = alpha.shape[0]
    value = 0.0
    gradient[:] = 0.0
    for j in range(m):
        weight = target[j]
        if weight == 0.0:
            continue
        row, pull = 0.0, 0.0
        for i in range(m):
            t = alpha[j] - alpha[i]
            row += phi(t)  # type: ignore[name-defined]  # noqa: F821
            slope = dphi(t)  # type: ignore[name-defined]  # noqa: F821
            pull += slope
            gradient[i] -= weight * slope
        value += weight * row
        gradient[j] += weight * pull
    return value
