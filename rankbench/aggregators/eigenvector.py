"""Spectral aggregators score items by eigenvectors, geometric means, rank centrality or PageRank.

References
----------
.. [PBMW99] L. Page, S. Brin, R. Motwani and T. Winograd. The PageRank citation ranking:
   bringing order to the web. Stanford InfoLab, 1999.

References
----------
.. [NOS17] S. Negahban, S. Oh and D. Shah. Rank centrality: ranking from pairwise
   comparisons. Operations Research 65(1), 2017.

References
----------
.. [S77] T. L. Saaty. A scaling method for priorities in hierarchical structures. Journal of
   Mathematical Psychology 15(3), 1977.
.. [S03] T. L. Saaty. Decision-making with the AHP: why is the principal eigenvector
   necessary. European Journal of Operational Research 145, 2003.

References
----------
.. [CW85] G. Crawford and C. Williams. A note on the analysis of subjective judgment
   matrices. Journal of Mathematical Psychology 29(4), 1985.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.log_odds import LogOddsAggregator, item_sums
from rankbench.core.component import Property
from rankbench.interfaces.aggregator import MOST_DENSE, CountAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.kernels import Kernel, table_size


class PageRank(CountAggregator):
    r"""PageRank: each item passes its score on to those who beat it.

    .. math:: s_i = (1 - d) + d \Bigl( \sum_{j : L_j > 0} s_j \frac{w_{ij}}{L_j}
       + \frac1m \sum_{j : L_j = 0} s_j \Bigr), \quad L_j = \sum_i w_{ij}

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j: a walker goes from an
    item to one that beat it, in proportion to how often it did, or with probability 1 - d
    anywhere. From an item that never lost it goes anywhere too. The scores are positive, with
    mean 1 (the usual sum to 1: divide by m). Items without judgments all score the same, and
    never more than anybody else.

    Prefer it for comparison alone: a single loss costs an item as much as many.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: the PageRank of the matrix
    :math:`p_{ij}`. As d goes to 1 that is proportional to
    :math:`\sum_{j \ne i} e^{r_i} p_{ji}`, which orders the items as their relevance does but is on
    neither scale of `rank-centrality`: a walker leaves an item at the same pace whether it
    lost once or always. Multiplying all weights by a constant changes nothing.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "pagerank").table["score"].round(3).to_list()
    [1.425, 1.425, 0.15]
    """

    name: ClassVar[str] = "pagerank"
    source: ClassVar[str] = "[PBMW99]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    damping: float = Field(default=0.85, ge=0, le=0.999, description="Probability to follow a loss, d.")

    def bounds(self) -> tuple[float, None]:
        """Return 1 - d, the share of an item that random jumps alone reach, and no largest score."""
        return 1 - self.damping, None

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,), from the linear system."""
        m = counts.m
        self.check_size(m)
        walk = np.zeros((m, m))
        walk[counts.low, counts.high], walk[counts.high, counts.low] = counts.wins()
        lost = walk.sum(axis=0)
        walk = np.where(lost > 0, walk / np.where(lost > 0, lost, 1.0), 1.0 / m)
        return np.linalg.solve(np.eye(m) - self.damping * walk, np.full(m, 1 - self.damping))

    def kernel(self) -> Kernel:
        """Return the compiled form, by power iteration."""
        from rankbench.aggregators.kernels.pair_graphs import pagerank, parameters

        return Kernel(pagerank, parameters(self.damping), lambda m: 2 * m)


Scale = Literal["ratio", "log"]
"""``ratio``: positive scores with mean 1. ``log``: their logarithms, which sum to zero."""


def on_scale(
    logs: NDArray[np.float64], scale: Scale, component: NDArray[np.int64] | NDArray[np.int32] | None = None
) -> NDArray[np.float64]:
    """Normalize scores that are unique up to a factor.

    Parameters
    ----------
    logs : ndarray of float64, shape (m,)
        Logarithms of the scores, up to a constant.
    scale : Scale
    component : ndarray of int, shape (m,), optional
        Labels 0, 1, ... of the sets of items that have a factor of their own each; one
        set by default.

    Returns
    -------
    ndarray of float64, shape (m,)
        On every set with mean 1 (``ratio``) or mean 0 (``log``).
    """
    of = np.zeros(len(logs), dtype=np.int64) if component is None else component
    sizes = np.bincount(of)
    if scale == "log":
        means = np.bincount(of, logs) / sizes
        return logs - means[of]
    highest = np.full(len(sizes), -np.inf)
    np.maximum.at(highest, of, logs)
    ratios = np.exp(logs - highest[of])
    return np.asarray(ratios / (np.bincount(of, ratios) / sizes)[of], np.float64)


class RatioAggregator(LogOddsAggregator):
    """An aggregator of ratios of strengths, whose logarithms are the log-odds."""

    scale: Scale = Field(default="ratio", description="Positive scores with mean 1, or their logarithms.")

    def score_unit(self) -> str:
        """Return the unit of the scores with this scale."""
        return "logarithms of strength" if self.scale == "log" else "strength, 1 on average"

    def only_differences(self) -> bool:
        """Return whether the scores are logarithms."""
        return self.scale == "log"

    def bounds(self) -> tuple[float | None, None]:
        """Return the smallest score, 0, and no largest one; logarithms have neither."""
        return None if self.scale == "log" else 0.0, None


_LEAST = 1e-300


class RankCentrality(CountAggregator):
    r"""Stationary distribution of the random walk that moves to i at the rate i beats you.

    .. math:: s_i \sum_j P_{ij} = \sum_j s_j P_{ji}, \quad
       P_{ij} = \frac{w_{ji} + c}{w_{ij} + w_{ji} + 2 c} \text{ for observed pairs}, \text{ else } 0

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. The division by
    the largest degree in [NOS17]_ makes the rates probabilities and does not change s.

    The smoothing c makes every observed pair a road in both directions, so that the
    distribution exists, is positive, and is unique on each connected component: with c = 0 an
    item that never won would get 0 and one that never lost all the rest. As with
    `thurstone-mosteller`, scores of different components have no common scale: each
    component has mean 1 (``scale=ratio``), or logarithms that sum to zero (``scale=log``). An
    item without judgments is its own component and scores 1, on the log scale 0. Reversing
    every judgment does not invert the scores in general, only in the limit.

    Prefer it where pairs have few votes and no penalty shall shrink scores: strength is shared between pairs.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: proportional to :math:`e^{r_i}`,
    because the walk is reversible; on the log scale :math:`r_i - \bar r`, which is
    (m - 1) / m times the limit scores (27). Multiplying all weights by a constant makes the
    smoothing count for less.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "rank-centrality").table.select("item", "score").rows()
    [('ada', 1.5428...), ('bob', 1.0285...), ('cy', 0.4285...)]
    """

    name: ClassVar[str] = "rank-centrality"
    source: ClassVar[str] = "[NOS17]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    smoothing: float = Field(
        default=0.5, gt=0, allow_inf_nan=False, description="Added to both sides of observed pairs, c."
    )
    scale: Scale = Field(default="ratio", description="Positive scores with mean 1, or their logarithms.")

    def score_unit(self) -> str:
        """Return the unit of the scores with this scale."""
        return "logarithms of strength" if self.scale == "log" else "strength, 1 on average"

    def only_differences(self) -> bool:
        """Return whether the scores are logarithms."""
        return self.scale == "log"

    def bounds(self) -> tuple[float | None, None]:
        """Return the smallest score, 0, and no largest one; logarithms have neither."""
        return None if self.scale == "log" else 0.0, None

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,), by dense state reduction; see the kernel for the method."""
        from scipy.sparse.csgraph import connected_components

        m, low, high = counts.m, counts.low, counts.high
        forward, backward = counts.wins()
        self.check_size(m)
        rates = np.zeros((m, m))
        both = forward + backward + 2 * self.smoothing
        rates[low, high], rates[high, low] = (backward + self.smoothing) / both, (forward + self.smoothing) / both
        _, component = connected_components(rates, directed=False)
        for n in range(m - 1, 0, -1):
            leaving = rates[n, :n].sum()
            if leaving > 0:
                detour = np.outer(rates[:n, n] / leaving, rates[n, :n])
                road = (rates[:n, n] > 0)[:, None] & (rates[n, :n] > 0)[None, :]
                rates[:n, :n] += np.where(road, np.maximum(detour, _LEAST), 0.0)
                np.fill_diagonal(rates, 0.0)
        logs = np.zeros(m)
        for n in range(1, m):
            back = np.flatnonzero(rates[n, :n])
            if len(back):
                arriving = np.logaddexp.reduce(logs[back] + np.log(rates[back, n]))
                logs[n] = arriving - np.log(rates[n, back].sum())
        return on_scale(logs, self.scale, component)

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is a table of m x m rates."""
        from rankbench.aggregators.kernels.pair_graphs import rank_centrality

        return Kernel(rank_centrality, np.array([self.smoothing, float(self.scale == "log")]), table_size)


_POLISH = 50


class Eigenvector(RatioAggregator):
    r"""Perron vector of the reciprocal matrix of smoothed ratios.

    .. math:: A s = \lambda_{\max} s, \quad s > 0, \quad
       A_{ij} = \frac{w_{ij} + c}{w_{ji} + c} = \frac{1}{A_{ji}}, \quad A_{ii} = 1

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. A pair that was
    not observed has ratio 1, as the formula says: it counts as undecided. So the matrix is
    positive, and the vector exists and is unique whatever was observed. If the ratios are
    consistent, :math:`A_{ij} A_{jl} = A_{il}`, then :math:`s_i / s_j = A_{ij}`.

    With ``scale=ratio`` the scores are positive, with mean 1 (Saaty's sum to 1: divide by m);
    with ``scale=log`` they are the logarithms, which sum to zero. An item without judgments
    scores as one that is tied with everybody, which is not exactly 1 in general.
    Reversing every judgment does *not* invert the scores beyond three items, a known flaw
    of the method that `geometric-mean` does not have.

    Prefer it to reproduce the analytic hierarchy process; it needs many judgments of each pair.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity, with ``counts``: proportional to
    :math:`e^{r_i}`; on the log scale :math:`r_i - \bar r`. With ``joint`` frequencies the
    smoothing never fades. Multiplying all weights by a constant leaves ``joint`` as it is; for
    ``counts`` it makes the smoothing count for less.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "eigenvector").table.select("item", "score").rows()
    [('ada', 1.5056...), ('bob', 1.0710...), ('cy', 0.4232...)]
    """

    name: ClassVar[str] = "eigenvector"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, principal eigenvector method; [S77]_, [S03]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    most_items: ClassVar[int | None] = MOST_DENSE

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,), by a dense eigenvalue decomposition."""
        m = counts.m
        self.check_size(m)
        odds = self.pair_log_odds(counts)
        ratios = np.ones((m, m))
        ratios[counts.low, counts.high], ratios[counts.high, counts.low] = np.exp(odds), np.exp(-odds)
        values, vectors = np.linalg.eig(ratios)
        vector = np.abs(vectors[:, np.argmax(values.real)])
        # The decomposition is accurate relative to the largest entry only. Sums of positive
        # terms make the small ones as accurate as the large.
        for _ in range(_POLISH):
            vector = ratios @ vector
            vector /= vector.max()
        return on_scale(np.log(vector), self.scale)

    def kernel(self) -> Kernel:
        """Return the compiled form, by power iteration; its scratch memory is the matrix."""
        from rankbench.aggregators.kernels.pair_graphs import eigenvector

        joint, log = float(self.frequencies == "joint"), float(self.scale == "log")
        return Kernel(eigenvector, np.array([self.smoothing, joint, log]), table_size)


class GeometricMean(RatioAggregator):
    r"""Row geometric means of the reciprocal matrix of smoothed ratios.

    .. math:: s(i) \propto \Bigl( \prod_j A_{ij} \Bigr)^{1/m}, \quad
       A_{ij} = \frac{w_{ij} + c}{w_{ji} + c} = \frac{1}{A_{ji}}

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. A pair that
    was not observed has ratio 1, as the formula says. It is the variant of `eigenvector`
    that has a closed form: the logarithms minimize
    :math:`\sum_{i<j} (\log A_{ij} - (x_i - x_j))^2` over *all* pairs, where
    `thurstone-mosteller` fits the observed ones alone. Up to three items the two variants agree.

    With ``scale=ratio`` the scores are positive, with mean 1; with ``scale=log`` they are
    the logarithms, which sum to zero and are (m - 1) / m times the `mean-log-odds`. An item
    without judgments scores 0 on the log scale.

    Prefer it to `eigenvector`: it is invariant to reversal, and on the log scale it is `mean-log-odds` times (m -
    1) / m.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity, with ``counts``: :math:`r_i - \bar r`
    on the log scale, (m - 1) / m times the limit scores (27), and so proportional to
    :math:`e^{r_i}` on the ratio scale. Multiplying all weights by a constant leaves ``joint``
    as it is; for ``counts`` it makes the smoothing count for less.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "geometric-mean").table.select("item", "score").rows()
    [('ada', 1.5056...), ('bob', 1.0710...), ('cy', 0.4232...)]
    """

    name: ClassVar[str] = "geometric-mean"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, principal eigenvector method; [CW85]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,)."""
        odds = self.pair_log_odds(counts)
        logs = item_sums(counts, odds) / counts.m
        # The logarithms sum to zero as they are, and centering would blur exact zeros.
        return logs if self.scale == "log" else on_scale(logs, self.scale)

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is a table of m x m counts."""
        from rankbench.aggregators.kernels.pair_graphs import geometric_mean
        from rankbench.aggregators.kernels.rates import parameters

        odds = parameters(self.smoothing, joint=self.frequencies == "joint")
        return Kernel(geometric_mean, np.concatenate([[float(self.scale == "log")], odds]), table_size)
