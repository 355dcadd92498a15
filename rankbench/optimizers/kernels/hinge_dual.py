"""Compiled passes of the hinge solver over the shortfalls of pairs."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["dual_point", "slope_along"]

Vector = types.float64[::1]


@declared(types.float64(Vector, Vector, types.float64, Vector))
def dual_point(
    shortfall: NDArray[np.float64], shares: NDArray[np.float64], width: float, beta: NDArray[np.float64]
) -> float:
    """Write the slopes of the smoothed hinge and return ``sum_c v_c max(z_c, 0) - beta_c z_c``.

    The hinge of a shortfall z, smoothed over ``(0, width)``, has the slope
    ``clip(z / width, 0, 1)``; times the pair's share it is a feasible dual variable.
    """
    rest = 0.0
    for c in range(shortfall.shape[0]):
        z = shortfall[c]
        slope = min(max(z / width, 0.0), 1.0) * shares[c]
        beta[c] = slope
        rest += max(z, 0.0) * shares[c] - slope * z
    return rest


@declared(types.void(Vector, Vector, Vector, types.float64, types.float64, Vector))
def slope_along(
    shortfall: NDArray[np.float64],
    gain: NDArray[np.float64],
    shares: NDArray[np.float64],
    width: float,
    length: float,
    out: NDArray[np.float64],
) -> None:
    """Write first and second derivative in t of the smoothed loss of ``z - t gain`` at t = `length`."""
    first, second = 0.0, 0.0
    for c in range(shortfall.shape[0]):
        z = shortfall[c] - length * gain[c]
        if z >= width:
            first -= shares[c] * gain[c]
        elif z > 0.0:
            first -= shares[c] * gain[c] * (z / width)
            second += shares[c] * gain[c] * gain[c] / width
    out[0], out[1] = first, second
