"""Relevance aggregators turn ordered lists and preference graphs into grades for losses of scores.

[DMJ13]_ section 3.3 applies a transformation r to lists and acyclic graphs: r(s) takes the place of the relevance
scores in the losses (14) and (16). There are finitely many lists and graphs, so that Theorem 1 applies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Property
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import CountAggregator, OrderAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Orders

LEVEL = 1e-12
"""Lead as a share of a pair's weight that rounding of sums may make."""


class OrderRelevance(OrderAggregator):
    r"""Relevance from lists: the number of items below an item on its list, averaged over ballots.

    .. math:: r(i) = \frac{1}{\sum_b w_b} \sum_b w_b \Bigl[\#\{j : j \text{ below } i \text{ on } b\}
       + \tfrac12 \#\{j \neq i : j \text{ tied with } i \text{ on } b\}\Bigr]

    where w_b voters cast ballot b. A complete list of m items gives the grades m - 1 to 0, and tied items get the mean
    of the grades that they share. An item that a ballot leaves out has grade 0 there.

    Prefer it to train or judge by NDCG or ERR where judgments are lists. On incomplete ballots prefer `plackett-luce`
    for a ranking: grades of short ballots are small.

    Notes
    -----
    Limit, many voters: the mean grade. Multiplying all weights by a constant changes nothing.

    Examples
    --------
    >>> import rankbench
    >>> ballots = {"ranking": [["ada", "bob", "cy"], ["bob", "ada"], ["ada", "cy", "bob"]]}
    >>> rankbench.aggregate(ballots, "order-relevance").table.select("item", "score").rows()
    [('ada', 1.3333...), ('bob', 0.6666...), ('cy', 0.3333...)]
    """

    name: ClassVar[str] = "order-relevance"
    unit: ClassVar[str] = "items below, a ballot"
    source: ClassVar[str] = "[DMJ13]_ section 3.3, r(s) of lists"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_orders(self, orders: Orders, m: int) -> NDArray[np.float64]:
        """Return the mean grades, shape (m,).

        Raises
        ------
        InputError
            The ballots say nothing: none of them ranks two items.
        """
        lengths = np.diff(orders.starts)
        if not (lengths > 1).any():
            raise InputError("the ballots say nothing: none of them ranks two items; leave such queries out")
        ballot = np.repeat(np.arange(len(lengths)), lengths)
        row = np.arange(len(orders.items)) - np.repeat(orders.starts[:-1], lengths)
        # Rows of one place of one ballot follow one another: their grades are averaged.
        new = np.diff(ballot, prepend=-1).astype(bool) | np.diff(orders.places, prepend=-1).astype(bool)
        tie = np.cumsum(new) - 1
        grades = (lengths[ballot] - 1 - row).astype(np.float64)
        grades = (np.bincount(tie, grades) / np.bincount(tie))[tie]
        return np.asarray(np.bincount(orders.items, grades * orders.weights[ballot], m) / orders.weights.sum())


class GraphRelevance(CountAggregator):
    r"""Relevance from a preference graph: the length of the longest path below an item.

    .. math:: r(i) = \max_{j : s_{ij} > 0} (1 + r(j)), \quad s_{ij} = [w_{ij} - w_{ji}]_+

    and 0 where no edge leaves i: grades are the smallest whole numbers that obey every edge of the difference graph.
    Items of one cycle get the same grade, as one node.

    Prefer it to train or judge by NDCG or ERR where judgments are partial orders without strengths. Counts of votes
    change grades only where they turn a majority, so `borda` tells more of many noisy votes.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: the number of items of less relevance, if relevance labels are
    distinct; items of equal relevance stay in random order. Multiplying all weights by a constant changes nothing.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "dan"], "loser": ["bob", "cy", "cy", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "graph-relevance").table.select("item", "score").rows()
    [('ada', 2.0), ('bob', 1.0), ('dan', 1.0), ('cy', 0.0)]
    """

    name: ClassVar[str] = "graph-relevance"
    unit: ClassVar[str] = "preferences in a row below"
    source: ClassVar[str] = "[DMJ13]_ section 3.3, r(s) of directed acyclic graphs"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the lengths of the longest paths, shape (m,)."""
        forward, backward = counts.wins()
        lead = forward - backward
        lead[np.abs(lead) <= LEVEL * (forward + backward)] = 0.0
        ahead, behind = np.maximum(lead, 0.0), np.maximum(-lead, 0.0)
        cycles = replace(counts, forward=ahead, backward=behind, ties=np.zeros_like(lead)).strongly_connected
        nodes, node = len(cycles.sizes), cycles.scale_of
        above = np.concatenate([counts.low[ahead > 0], counts.high[behind > 0]])
        below = np.concatenate([counts.high[ahead > 0], counts.low[behind > 0]])
        between = node[above] != node[below]
        above, below = node[above][between], node[below][between]
        # Nodes leave from the bottom, a layer at a time, and every edge is read once.
        order = np.argsort(below, kind="stable")
        ends = np.searchsorted(below[order], np.arange(nodes + 1))
        left = np.bincount(above, minlength=nodes)
        height: NDArray[np.float64] = np.zeros(nodes)
        grade, layer = 0, np.flatnonzero(left == 0)
        while len(layer):
            height[layer] = grade
            edges = [order[ends[one] : ends[one + 1]] for one in layer.tolist()]
            over = above[np.concatenate(edges)]
            np.subtract.at(left, over, 1)
            layer, grade = np.unique(over[left[over] == 0]), grade + 1
        return np.asarray(height[node])
