"""Attractiveness of items under the position-based model, by expectation maximization.

References
----------
.. [RDR07] M. Richardson, E. Dominowska and R. Ragno. Predicting clicks: estimating the
   click-through rate for new ads. WWW, 2007.
.. [CMR15] A. Chuklin, I. Markov and M. de Rijke. Click models for web search. Morgan &
   Claypool, 2015.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.kinds.selection_aggregator import SelectionAggregator, click_ratios, longest_list, rows_of

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.queries import Selections

__all__ = ["PositionDebiased"]

_TINY = 1e-12


class PositionDebiased(SelectionAggregator):
    r"""Position-debiased click rate: attractiveness under the position-based model.

    An item is clicked if its position is examined, with probability :math:`e_j` whatever
    else is on the list, and it attracts, with probability :math:`a_l`. Both maximize

    .. math:: \sum_{l, j} c_{lj} \log(e_j a_l) + (n_{lj} - c_{lj}) \log(1 - e_j a_l)

    over the counts n of showings and c of clicks of item l in position j, found by expectation
    maximization; e is common to all queries. Only the products are determined, so the
    largest :math:`e_j` is 1. `smoothing` showings at the query's mean attractiveness pull every
    item's in each step; an item that was not shown gets that mean.

    It stops when no :math:`e_j` or :math:`a_l` moves by more than `tolerance`, or after
    `iterations` steps: on small data the maximum may be approached very slowly.
    """

    name: ClassVar[str] = "position-debiased"
    source: ClassVar[str] = "[RDR07]_; [CMR15]_ sections 3.3 and 4.2"

    iterations: int = Field(default=200, ge=1, le=1_000_000, strict=True, description="Steps at most.")
    tolerance: float = Field(default=1e-6, ge=0, lt=1, description="Largest change at which it stops.")

    def estimate(
        self, selections: Selections, item_offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return attractiveness, shape (N,), and examination, shape (L,)."""
        items, positions = rows_of(selections, item_offsets)
        n, longest = int(item_offsets[-1]), longest_list(selections)
        cell = items * longest + positions
        shows = np.bincount(cell, minlength=n * longest).reshape(n, longest).astype(np.float64)
        clicks = np.bincount(cell[selections.clicked], minlength=n * longest).reshape(n, longest).astype(np.float64)
        shown, reached = shows.sum(axis=1), shows.sum(axis=0)
        rates = clicks.sum(axis=0) / np.maximum(reached, 1.0)
        top = rates.max()
        if top == 0.0:
            return np.zeros(n), np.ones(longest)
        e = rates / top
        a = np.minimum(click_ratios(clicks.sum(axis=1), shows @ e, item_offsets, self.smoothing), 1.0)
        for _ in range(self.iterations):
            skipped = (shows - clicks) / np.maximum(1.0 - np.outer(a, e), _TINY)
            attracted = clicks + skipped * np.outer(a, 1.0 - e)
            examined = clicks + skipped * np.outer(1.0 - a, e)
            new_e = np.divide(examined.sum(axis=0), reached, out=np.zeros(longest), where=reached > 0)
            new_a = click_ratios(attracted.sum(axis=1), shown, item_offsets, self.smoothing)
            moved = max(np.abs(new_e - e).max(), np.abs(new_a - a).max())
            e, a = new_e, new_a
            if moved <= self.tolerance:
                break
        top = e.max()
        return a * top, e / top

    def selection_kernel(self) -> Kernel:
        """Return the compiled form; its memory is two numbers for each item and position."""
        from rankbench.aggregators.kernels.position_debiased import position_debiased
        from rankbench.kernels.signatures import Kernel

        return Kernel(position_debiased, np.array([self.smoothing, float(self.iterations), self.tolerance]))
