"""The check that every solver makes of every point it visits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged

__all__ = ["finite"]


def finite(solver: str, value: float, gradient: NDArray[np.float64], iteration: int) -> None:
    """Raise `ContenderDiverged` unless the objective and its gradient (or Hessian) are finite."""
    if not (math.isfinite(value) and np.isfinite(gradient).all()):
        raise ContenderDiverged(
            f"{solver}: objective or derivatives are not finite at iteration {iteration}; "
            "check the scale of the features, or raise lambda"
        )
