"""Precision at k, as the member of the NDCG family that it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.discounts import gains
from rankbench.losses.ndcg import NDCGFamily

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel

__all__ = ["Precision"]


class Precision(NDCGFamily):
    """One minus the relevance of the top k items, relative to the largest possible one.

    The family's member with ``G(s) = s`` and ``F(j) = 1`` for j <= k, infinite after it.
    For ``s_j`` in {0, 1} with at least k ones it is one minus precision at k; with fewer
    ones the best ordering still has loss 0. Values are in [0, 1] for s >= 0, which the
    paper assumes; scores below 0 can cost more than 1.
    """

    name: ClassVar[str] = "precision"
    source: ClassVar[str] = "[DMJ13]_ eq. (14), section 3.3"

    k: int = Field(default=10, ge=1, description="Number of items at the top that count.")

    def gain_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return s itself."""
        return gains("identity", scores)

    def discounts_of(self, m: int) -> NDArray[np.float64]:
        """Return 1 for the first k positions, 0 after them."""
        return (np.arange(m) < self.k).astype(np.float64)

    def kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.kernels.gains import gain_params
        from rankbench.kernels.signatures import Kernel
        from rankbench.losses.kernels.ndcg import ndcg, work

        return Kernel(ndcg, gain_params("identity", None, self.k), work)

    def ranked_kernel(self) -> tuple[Kernel, int] | None:
        """Return the compiled form for k of 16 or less."""
        from rankbench.kernels.gains import gain_params
        from rankbench.kernels.signatures import Kernel
        from rankbench.losses.kernels.ndcg import ranked_ndcg
        from rankbench.losses.kernels.top import MOST

        return (Kernel(ranked_ndcg, gain_params("identity", None, self.k)), self.k) if self.k <= MOST else None
