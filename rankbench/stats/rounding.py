"""What rounding may leave of a zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["rounding"]

_SHARE = 1e-12


def rounding(values: NDArray[np.float64], size: float = 1.0) -> float:
    """Return the size up to which sums and differences are taken for 0.

    Parameters
    ----------
    values : ndarray of float64
        The sums and differences.
    size : float
        Of the numbers that were added or subtracted; at least 1 is assumed.

    Notes
    -----
    Two ways to compute the same loss differ in last bits. Which of them is smaller depends on the
    machine and is no finding.
    """
    return _SHARE * max(1.0, size, float(np.abs(values).max(initial=0.0)))
