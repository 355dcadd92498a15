"""The chance that an item satisfies, by maximum likelihood under the cascade model."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.selection_aggregator import SelectionAggregator, click_ratios, longest_list, rows_of, topmost

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.queries import Selections

__all__ = ["Cascade"]


class Cascade(SelectionAggregator):
    r"""Cascade: how often an item was selected, of the times that it was looked at.

    A user looks at the results from the top and selects the first that satisfies, item l
    with probability :math:`p_l`; the maximum likelihood estimate is

    .. math:: \hat p_l = \frac{\sum_i 1(\pi_i(c_i) = l)}
              {\sum_i \sum_{j=1}^{\min(c_i, m_i)} 1(\pi_i(j) = l)}

    with :math:`\pi_i` the list shown, :math:`c_i` the position selected, :math:`m_i + 1`
    for nothing. The paper's inner sum ends at :math:`c_i`, where there is no item if
    nothing was selected.

    Of several clicks the topmost counts: nobody who follows the model looks further. An
    item that nobody looked at has no estimate; it gets its query's selections over
    looks, the value towards which `smoothing` looks pull every item.

    Notes
    -----
    Limit under the model: :math:`p_l`, for every item that has a chance to be looked at. With
    scores in that order the expected ERR loss (16) is least, [DMJ13]_ Lemma 1.
    """

    name: ClassVar[str] = "cascade"
    source: ClassVar[str] = "[DMJ13]_ section 5.2; Chapelle, Metzler, Zhang and Grinspan 2009"
    stops: ClassVar[bool] = True

    def estimate(
        self, selections: Selections, item_offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the probabilities, shape (N,), and ones: every position down to the click is looked at."""
        items, positions = rows_of(selections, item_offsets)
        selected = np.repeat(topmost(selections), np.diff(selections.starts))
        n = int(item_offsets[-1])
        clicks = np.bincount(items[positions == selected], minlength=n).astype(np.float64)
        looks = np.bincount(items[positions <= selected], minlength=n).astype(np.float64)
        return click_ratios(clicks, looks, item_offsets, self.smoothing), np.ones(longest_list(selections))

    def selection_kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.click_rates import cascade
        from rankbench.kernels.signatures import Kernel

        return Kernel(cascade, np.array([self.smoothing]))
