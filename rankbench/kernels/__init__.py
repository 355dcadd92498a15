"""Kernels are compiled code that families share; a component's declarations need no compiler.

This module imports no numba, which the others do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Kernel", "no_work", "table_size"]


def no_work(m: int) -> int:
    """Ask for no scratch memory."""
    return 0


def table_size(m: int) -> int:
    """Ask for a table of all pairs of m items."""
    return m * m


@dataclass(frozen=True)
class Kernel:
    """A compiled function with the parameters and the scratch memory it needs.

    Attributes
    ----------
    function : numba dispatcher
        Compiled with one of the explicit signatures of `rankbench.kernels.signatures`.
    params : ndarray of float64
        Handed to every call.
    work : callable
        Number of scratch floats for a query of m items.
    """

    function: Any
    params: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    work: Callable[[int], int] = no_work
