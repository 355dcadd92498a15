"""Clicks on an item over those that an average item in its positions gets.

References
----------
.. [ZJ07] V. Zhang and R. Jones. Comparing click logs and editorial labels for training
   query rewriting. WWW workshop on query log analysis, 2007.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.selection_aggregator import SelectionAggregator, click_ratios, longest_list, rows_of

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.queries import Selections

__all__ = ["COEC"]


class COEC(SelectionAggregator):
    r"""COEC: clicks over expected clicks, given the positions in which an item was shown.

    .. math:: s_l = \frac{\sum_i 1(l \text{ clicked in } i)}{\sum_i r_{\text{position of } l \text{ in } i}}

    with :math:`r_j` the share of the lists that reach position j in which it was clicked, over
    the selections of all queries. 1 is an average item. One without expected clicks gets
    its query's ratio, the value towards which `smoothing` expected clicks pull every item.

    Notes
    -----
    Where good items stand at the top, :math:`r_j` holds their goodness as well as the
    attention that the position gets, so that too much is taken off.
    """

    name: ClassVar[str] = "coec"
    source: ClassVar[str] = "[ZJ07]_"

    def estimate(
        self, selections: Selections, item_offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ratios, shape (N,), and the click rates of the positions, shape (L,)."""
        items, positions = rows_of(selections, item_offsets)
        n = int(item_offsets[-1])
        clicks = np.bincount(items[selections.clicked], minlength=n).astype(np.float64)
        longest = longest_list(selections)
        hits = np.bincount(positions[selections.clicked], minlength=longest)
        rates = hits / np.maximum(np.bincount(positions, minlength=longest), 1)
        expected = np.bincount(items, rates[positions], minlength=n).astype(np.float64)
        return click_ratios(clicks, expected, item_offsets, self.smoothing), rates

    def selection_kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.click_rates import coec
        from rankbench.kernels.signatures import Kernel

        return Kernel(coec, np.array([self.smoothing]))
