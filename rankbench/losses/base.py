"""The interface of losses L(alpha, s): what contenders are judged by."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Component, StructureKind

if TYPE_CHECKING:
    from rankbench.kernels import Kernel

__all__ = ["Loss"]


class Loss(Component):
    """A loss of scores alpha against one query's structure.

    Ties in alpha are averaged over unless the loss's source says otherwise.

    Attributes
    ----------
    structure : StructureKind
        What it is judged against: ``scores``, shape (m,), or ``edges``, an adjacency
        matrix of shape (m, m).
    direction : {"minimize", "maximize"}
    range : tuple of float
        Smallest and largest possible value whatever the parameters, ``inf`` where
        unbounded; `bounds` narrows it for one set of parameters.
    """

    kind: ClassVar[str] = "loss"
    structure: ClassVar[StructureKind] = "scores"
    direction: ClassVar[Literal["minimize", "maximize"]] = "minimize"
    range: ClassVar[tuple[float, float]]

    @abstractmethod
    def value(self, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
        """Return the loss of one query's scores alpha, shape (m,)."""

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and largest possible value with these parameters."""
        return self.range

    def kernel(self) -> Kernel | None:
        """Return the compiled form (`LOSS` or `MATRIX_LOSS`), or None: interpreted."""
        return None
