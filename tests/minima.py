"""How far a point is from the minimum of an objective, by the objective's formula and no optimizer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def step_to_minimum(
    objective: Callable[[NDArray[np.complex128]], complex | np.complex128], point: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return Newton's step from a point near a minimum: the minimum is there, up to the square of the step.

    The gradient is that of complex steps, which round nothing away. The curvature, from differences of gradients,
    must be positive in every direction: the point is near a minimum, and not near a saddle.

    Parameters
    ----------
    objective : callable
        Analytic around the point: `numpy.abs`, `numpy.logaddexp` and SciPy's `expit` take no complex numbers.
    point : ndarray of shape (d,)

    Returns
    -------
    ndarray of shape (d,)
    """
    axes = np.eye(len(point))

    def gradient(at: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([objective(at + 1e-30j * axis).imag for axis in axes]) / 1e-30

    curvature = np.array([gradient(point + 1e-5 * axis) - gradient(point - 1e-5 * axis) for axis in axes]) / 2e-5
    curvature = (curvature + curvature.T) / 2
    assert np.linalg.eigvalsh(curvature)[0] > 0
    return np.linalg.solve(curvature, -gradient(point))
