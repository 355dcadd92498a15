"""When two outputs are the same, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["relative_difference", "same"]


def same(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether all arrays hold the same bytes (nan equal to nan)."""
    return len(first) == len(second) and all(
        np.shape(a) == np.shape(b) and np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
        for a, b in zip(first, second, strict=True)
    )


def relative_difference(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the largest difference, relative to the largest value (or 1, if that is more); inf for other shapes."""
    if np.shape(first) != np.shape(second):
        return float("inf")
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return 0.0 if np.array_equal(a, b, equal_nan=True) else float("inf")
    scale = max(1.0, float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    return float(np.abs(a - b).max(initial=0.0)) / scale
