"""Weighted pairwise disagreement: the loss of preference graphs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property, StructureKind
from rankbench.losses.base import Loss

if TYPE_CHECKING:
    from rankbench.kernels import Kernel

__all__ = ["PairwiseDisagreement"]


class PairwiseDisagreement(Loss):
    r"""Sum the weights of the preferences that alpha orders the other way.

    .. math:: L(\alpha, Y) = \sum_{i<j} Y_{ij} 1(\alpha_i \leq \alpha_j)
                           + \sum_{i>j} Y_{ij} 1(\alpha_i < \alpha_j)

    Y_ij >= 0 is the weight of "i over j"; the diagonal does not count.

    Notes
    -----
    The two sums differ so that a tie is not charged twice: ``alpha_i = alpha_j`` with
    i < j is charged Y_ij and not Y_ji, as if the item that stands later in the file had
    won. A tie is thus charged in one direction only, neither averaged over nor in favor
    of the contender, and with ties the value depends on the numbering of the items. This
    is the paper's convention, kept as it is.
    """

    name: ClassVar[str] = "pairwise-disagreement"
    source: ClassVar[str] = "[DMJ13]_ eq. (10)"
    properties: ClassVar[frozenset[Property]] = frozenset({"shift-invariant"})
    structure: ClassVar[StructureKind] = "edges"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)

    normalize: bool = Field(
        default=False, description="Divide by the sum of the weights: the share of preferences ordered wrongly."
    )

    def bounds(self) -> tuple[float, float]:
        """Return [0, 1] if normalized; else the weights have no bound."""
        return (0.0, 1.0) if self.normalize else self.range

    def value(self, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
        """Return the loss of one query; nan if alpha holds a nan, 0 if there are no preferences.

        Parameters
        ----------
        alpha : ndarray of float64, shape (m,)
        structure : ndarray of float64, shape (m, m)
            Adjacency matrix, entry [i, j] >= 0 the weight of i over j.
        """
        if np.isnan(alpha).any():
            return math.nan
        own, other = alpha[:, None], alpha[None, :]
        value = float(np.triu(structure, 1)[own <= other].sum() + np.tril(structure, -1)[own < other].sum())
        if not self.normalize:
            return value
        weight = float(structure.sum() - np.trace(structure))
        return value / weight if weight > 0 else 0.0

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.kernels import Kernel
        from rankbench.losses.kernels.disagreement import disagreement, work

        return Kernel(disagreement, np.array([float(self.normalize)]), work)
