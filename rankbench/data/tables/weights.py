"""Weights that floating-point sums can be made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError

__all__ = ["check_weights"]

_RATIO = 1e15
_HUGE, _TINY = 1e100, 1e-100


def check_weights(weights: NDArray[np.float64]) -> None:
    """Refuse weights, or sums of them, of which scores would silently be wrong.

    A float has sixteen digits: besides a weight that is 1e15 times as large, another one is lost
    in the sum. Squares of weights beyond 1e100, or below 1e-100, leave the finite numbers.

    Parameters
    ----------
    weights : ndarray of float64
        Positive.

    Raises
    ------
    InputError
        Their sum is not finite or beyond these bounds, or they differ too much.
    """
    if not weights.size:
        return
    low, high = float(weights.min()), float(weights.max())
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not np.isfinite(total) or total > _HUGE or high < _TINY:
        raise InputError(
            f"weights add up to {total:.3g}, of which no scores can be computed; divide all of them by one number, "
            "so that they are about 1",
            column="weight",
        )
    if high > _RATIO * low:
        raise InputError(
            f"weights, added up, range from {low:.3g} to {high:.3g}: the small ones are lost in rounding; leave them "
            "out, or mend the large ones",
            column="weight",
        )
