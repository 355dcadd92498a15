"""Aggregators of what is given beside judgments: graded labels, grades from lists and graphs, predictions of votes.

[DMJ13]_ section 3.3 applies a transformation r to lists and acyclic graphs: r(s) takes the place of the relevance
scores in the losses (14) and (16). There are finitely many lists and graphs, so that Theorem 1 applies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import JudgmentKind, Property, StructureKind
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.aggregator import CountAggregator, LabelAggregator, OrderAggregator
from rankbench.interfaces.covariate_aggregator import PREDICTION, ControlledFit, CovariateAggregator, CovariateVotes
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Orders


class LimitScores(LabelAggregator):
    r"""Full information: the limit of the mean log-odds under BTL, from the labels.

    .. math:: s(i) = \frac{1}{m-1} \sum_{j \ne i}
       [\log(1 + e^{r_i - r_j}) - \log(1 + e^{r_j - r_i})]
       = \frac{1}{m-1} \sum_{j \ne i} (r_i - r_j) = \frac{m r_i - \sum_j r_j}{m - 1}

    since :math:`\log(1 + e^x) - \log(1 + e^{-x}) = x`. The scores sum to zero. No
    judgment is looked at: this is the reference that no method on judgments can have.

    Prefer it as the reference in simulations, where the truth is known.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> rankbench.get(rankbench.Aggregator, "limit-scores").from_labels(np.array([2.0, 1.0, 0.0]))
    array([ 1.5,  0. , -1.5])
    """

    name: ClassVar[str] = "limit-scores"
    source: ClassVar[str] = "[DMJ13]_ eq. (27)"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "shift-invariant"})

    def from_labels(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the limit scores of m items, shape (m,); 0 for one alone, the empty sum."""
        m = len(labels)
        above = labels - labels.min()  # any equal labels make zeros
        return np.asarray((m * above - above.sum()) / max(m - 1, 1), np.float64)


class LabelScores(LabelAggregator):
    """The labels themselves, as scores: one judgment of a query grades all its items.

    Prefer it where people graded items and methods learn from the grades, as under `graded`.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> rankbench.get(rankbench.Aggregator, "labels").from_labels(np.array([2.0, 1.0, 0.0]))
    array([2., 1., 0.])
    """

    name: ClassVar[str] = "labels"
    source: ClassVar[str] = "[DMJ13]_ section 2: a structure of one judgment"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_labels(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a copy of the labels, shape (m,)."""
        return np.array(labels, np.float64)


class LabelPairs(LabelAggregator):
    r"""The graph of all pairs with different labels, each with the same weight; the weights sum to one.

    .. math:: A_{ij} = \frac{[r_i > r_j]}{\sum_{k,l} [r_k > r_l]}

    A query with many items weighs no more than a query with few. Sizes of differences of labels do not matter.

    Prefer it to learn from grades with a pairwise surrogate.

    Examples
    --------
    >>> import numpy as np
    >>> import rankbench
    >>> rankbench.get(rankbench.Aggregator, "label-pairs").from_labels(np.array([2.0, 0.0, 0.0]))
    array([[0. , 0.5, 0.5],
           [0. , 0. , 0. ],
           [0. , 0. , 0. ]])
    """

    name: ClassVar[str] = "label-pairs"
    source: ClassVar[str] = "[DMJ13]_ section 2; R. Herbrich, T. Graepel and K. Obermayer 2000"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "shift-invariant"})
    structure: ClassVar[StructureKind] = "edges"

    def from_labels(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the adjacency matrix, shape (m, m); zeros for equal labels."""
        above = (labels[:, None] > labels).astype(np.float64)
        return above / max(float(above.sum()), 1.0)


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


class Predictions(CovariateAggregator):
    r"""The chances in a column of the log, as a published rating or a bookmaker gives them.

    It learns nothing and ranks no items. The margin of a vote is the log-odds of the chance p that its item wins:

    .. math:: \log \frac{p}{1 - p}, \qquad \text{or } \log \frac{p_i}{p_j} \text{ where both items have a column}

    Protocols fit no link to it, so that its log loss is that of the chances as they are. The loss of three outcomes
    needs the chance of a tie, which one column does not have: there Davidson's link is fitted, as for all.

    Prefer it to learn whether a method predicts better than those who publish chances: ``rankbench run --log LOG
    --predictions COLUMN`` reads the column and adds it.

    Examples
    --------
    >>> import rankbench
    >>> games = {"team1": ["ada", "bob"], "team2": ["bob", "cy"], "winner": ["ada", "cy"], "elo_prob1": [0.6, 0.75]}
    >>> rankbench.scan(games, columns="predictions=elo_prob1").collect()["prediction: elo_prob1"].to_list()
    [0.4054..., 1.0986...]
    """

    name: ClassVar[str] = "predictions"
    source: ClassVar[str] = "The log"
    unit: ClassVar[str] = "log-odds"
    judgments: ClassVar[JudgmentKind] = "predictions"
    stated: ClassVar[bool] = True

    column: str = Field(default="", description="The column of predictions by its name; empty: the only one.")

    def reads(self, covariate: str) -> bool:
        """Return whether it reads a covariate of this name: the log-odds of its column."""
        return covariate == f"{PREDICTION}{self.column}" if self.column else covariate.startswith(PREDICTION)

    def fit_controlled(self, votes: CovariateVotes) -> ControlledFit:
        """Return scores of 0, and the effect 1 of the log-odds."""
        if len(votes.covariates.names) > 1:
            raise SpecError(f"the log has {len(votes.covariates.names)} predictions: write predictions:column=NAME")
        scales = votes.counts().connected
        return ControlledFit(np.zeros(votes.m), np.ones(1), scales, np.zeros(0), 0.0, 0)
