"""Equivalence: "no difference" is something to be shown, not a test that found nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["equivalent", "not_equivalent"]


def equivalent(lower: NDArray[np.float64], upper: NDArray[np.float64], margin: float) -> NDArray[np.bool_]:
    """Return where an interval lies within the margin: two one-sided tests in one [Sch87]_.

    An interval of coverage 1 - 2a inside (-margin, margin) rejects both one-sided nulls
    at level a; nan never does.

    Parameters
    ----------
    lower, upper : ndarray of float64, shape (P,)
    margin : float, > 0
        Largest difference that does not matter.
    """
    return np.asarray((lower > -margin) & (upper < margin))


def not_equivalent(lower: NDArray[np.float64], upper: NDArray[np.float64], margin: float) -> NDArray[np.bool_]:
    """Return where an interval lies outside the margin altogether."""
    return np.asarray((lower > margin) | (upper < -margin))
