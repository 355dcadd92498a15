"""The share of the lists with an item in which it is clicked."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.selection_aggregator import SelectionAggregator, click_ratios, longest_list, rows_of

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.queries import Selections

__all__ = ["ClickThroughRate"]


class ClickThroughRate(SelectionAggregator):
    r"""Click-through rate: clicks on an item over the lists that showed it, wherever it stood.

    .. math:: s_l = \frac{\sum_i 1(l \text{ clicked in } i)}{\sum_i 1(l \text{ shown in } i)}

    An item that was not shown gets its query's clicks over items shown, the value towards which
    `smoothing` lists pull every item.

    Notes
    -----
    It takes being low on the list for being bad: under the cascade model the limit is
    :math:`p_l` times the chance that a user who is shown item l gets down to it, so that the
    order of the items depends on how they were presented.
    """

    name: ClassVar[str] = "click-through-rate"
    source: ClassVar[str] = "Joachims, Granka, Pan, Hembrooke and Gay 2005 (position bias)"

    def estimate(
        self, selections: Selections, item_offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rates, shape (N,), and ones: positions are not told apart."""
        items, _ = rows_of(selections, item_offsets)
        n = int(item_offsets[-1])
        clicks = np.bincount(items[selections.clicked], minlength=n).astype(np.float64)
        lists = np.bincount(items, minlength=n).astype(np.float64)
        return click_ratios(clicks, lists, item_offsets, self.smoothing), np.ones(longest_list(selections))

    def selection_kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.click_rates import click_through_rate
        from rankbench.kernels.signatures import Kernel

        return Kernel(click_through_rate, np.array([self.smoothing]))
