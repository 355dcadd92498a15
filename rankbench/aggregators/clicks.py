"""Click aggregators estimate relevance: click-through rate, clicks over expected clicks, cascade, position-based model.

References
----------
.. [ZJ07] V. Zhang and R. Jones. Comparing click logs and editorial labels for training
   query rewriting. WWW workshop on query log analysis, 2007.
.. [RDR07] M. Richardson, E. Dominowska and R. Ragno. Predicting clicks: estimating the
   click-through rate for new ads. WWW, 2007.
.. [CMR15] A. Chuklin, I. Markov and M. de Rijke. Click models for web search. Morgan &
   Claypool, 2015.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.interfaces.click_aggregator import SelectionAggregator, positions_of
from rankbench.interfaces.queries import Selections
from rankbench.kernels import Kernel


class CompiledClicks(SelectionAggregator):
    """An aggregator of clicks whose compiled form is its one form."""

    @abstractmethod
    def selection_kernel(self) -> Kernel:
        """Return the compiled form (`SELECT`)."""

    def estimate(
        self, selections: Selections, item_offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return scores, shape (N,), and examinations, shape (longest list,), by the compiled form."""
        model = self.fit(selections, item_offsets)
        return model.scores, model.examination


class ClickThroughRate(CompiledClicks):
    r"""Click-through rate: clicks on an item over the lists that showed it, wherever it stood.

    .. math:: s_l = \frac{\sum_i 1(l \text{ clicked in } i)}{\sum_i 1(l \text{ shown in } i)}

    An item that was not shown gets its query's clicks over items shown, the value towards which
    `smoothing` lists pull every item.

    Prefer it as a baseline alone: an item that stands low is taken for a bad one.

    Notes
    -----
    It takes being low on the list for being bad: under the cascade model the limit is
    :math:`p_l` times the chance that a user who is shown item l gets down to it, so that the
    order of the items depends on how they were presented.

    Examples
    --------
    >>> import rankbench
    >>> lists = {"query_id": ["q"] * 3, "session_id": ["1", "2", "3"],
    ...          "shown": [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]], "clicked": [[1], [2], [2]]}
    >>> rankbench.aggregate(lists, "click-through-rate").table.select("item", "score").rows()
    [('a', 0.6666...), ('c', 0.3333...), ('b', 0.0)]
    """

    name: ClassVar[str] = "click-through-rate"
    unit: ClassVar[str] = "clicks a list that shows it"
    source: ClassVar[str] = "Joachims, Granka, Pan, Hembrooke and Gay 2005 (position bias)"

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest score of any judgments."""
        return 0.0, 1.0

    def selection_kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.clicks import click_rate

        return Kernel(click_rate, np.array([self.smoothing, 0.0]))


class PositionCorrected(CompiledClicks):
    """An aggregator of clicks that learns nothing from positions without clicks."""

    def bounds(self) -> tuple[float, None]:
        """Return 0, and no largest score."""
        return 0.0, None

    def observed(self, selections: Selections) -> NDArray[np.bool_]:
        """Return whether a position has clicks in some list, shape (P,)."""
        positions = positions_of(selections)
        return np.isin(positions, positions[selections.clicked])


class COEC(PositionCorrected):
    r"""COEC: clicks over expected clicks, given the positions in which an item was shown.

    .. math:: s_l = \frac{\sum_i 1(l \text{ clicked in } i)}{\sum_i r_{\text{position of } l \text{ in } i}}

    with :math:`r_j` the share of the lists that reach position j in which it was clicked, over
    the selections of all queries. 1 is an average item. One without expected clicks gets
    its query's ratio, the value towards which `smoothing` expected clicks pull every item.

    Prefer it as a cheap correction for positions. It takes off too much where good items stand at the top.

    Notes
    -----
    Where good items stand at the top, :math:`r_j` holds their goodness as well as the
    attention that the position gets, so that too much is taken off.

    Examples
    --------
    >>> import rankbench
    >>> lists = {"query_id": ["q"] * 3, "session_id": ["1", "2", "3"],
    ...          "shown": [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]], "clicked": [[1], [2], [2]]}
    >>> rankbench.aggregate(lists, "coec").table.select("item", "score").rows()
    [('a', 1.5), ('c', 1.5), ('b', 0.0)]
    """

    name: ClassVar[str] = "coec"
    unit: ClassVar[str] = "clicks over expected clicks"
    source: ClassVar[str] = "[ZJ07]_"

    def selection_kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.clicks import coec

        return Kernel(coec, np.array([self.smoothing]))


class Cascade(CompiledClicks):
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

    Prefer it where users scan a list from the top and stop at what they select: items below are not counted as
    seen.

    Notes
    -----
    Limit under the model: :math:`p_l`, for every item that has a chance to be looked at. With
    scores in that order the expected ERR loss (16) is least, [DMJ13]_ Lemma 1.

    Examples
    --------
    >>> import rankbench
    >>> lists = {"query_id": ["q"] * 3, "session_id": ["1", "2", "3"],
    ...          "shown": [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]], "clicked": [[1], [2], [2]]}
    >>> rankbench.aggregate(lists, "cascade").table.select("item", "score").rows()
    [('c', 1.0), ('a', 0.6666...), ('b', 0.0)]
    """

    name: ClassVar[str] = "cascade"
    unit: ClassVar[str] = "chance of a click"
    source: ClassVar[str] = "[DMJ13]_ section 5.2; Chapelle, Metzler, Zhang and Grinspan 2009"
    stops: ClassVar[bool] = True

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest score of any judgments."""
        return 0.0, 1.0

    def selection_kernel(self) -> Kernel:
        """Return the compiled form."""
        from rankbench.aggregators.kernels.clicks import click_rate

        return Kernel(click_rate, np.array([self.smoothing, 1.0]))


class PositionDebiased(PositionCorrected):
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

    Prefer it where the chance to look at an item depends on its position, not on the items above it.

    Examples
    --------
    >>> import rankbench
    >>> lists = {"query_id": ["q"] * 3, "session_id": ["1", "2", "3"],
    ...          "shown": [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]], "clicked": [[1], [2], [2]]}
    >>> rankbench.aggregate(lists, "position-debiased").table.select("item", "score").rows()
    [('a', 1.0), ('c', 1.0), ('b', 0.0)]
    """

    name: ClassVar[str] = "position-debiased"
    unit: ClassVar[str] = "clicks, corrected for position"
    source: ClassVar[str] = "[RDR07]_; [CMR15]_ sections 3.3 and 4.2"

    iterations: int = Field(default=200, ge=1, le=1_000_000, strict=True, description="Steps at most.")
    tolerance: float = Field(default=1e-6, ge=0, lt=1, description="Largest change at which it stops.")

    def selection_kernel(self) -> Kernel:
        """Return the compiled form; its memory is two numbers for each item and position."""
        from rankbench.aggregators.kernels.clicks import position_debiased

        return Kernel(position_debiased, np.array([self.smoothing, float(self.iterations), self.tolerance]))
