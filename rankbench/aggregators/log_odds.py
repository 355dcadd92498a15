"""Log-odds aggregators score items by the smoothed log-odds of their pairs, or by what these converge to."""

from __future__ import annotations

from typing import ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.core.component import Property
from rankbench.interfaces.aggregator import CountAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.kernels import Kernel, table_size


def item_sums(counts: PairCounts, of_pair: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of a number of each pair, (P,), over an item's pairs, minus it where the item is `high`, (m,)."""
    added, taken = np.bincount(counts.low, of_pair, counts.m), np.bincount(counts.high, of_pair, counts.m)
    return np.subtract(added, taken, dtype=np.float64)  # of no pairs at all they are whole numbers


def log_odds(counts: PairCounts, smoothing: float, *, joint: bool = False) -> NDArray[np.float64]:
    r"""Return the smoothed log-odds of each pair, shape (P,), positive if `low` is preferred.

    .. math:: A_{ij} = \log \frac{w_{ij} + c}{w_{ji} + c}

    Parameters
    ----------
    counts : PairCounts
    smoothing : float
        c > 0.
    joint : bool
        Whether c is added to frequencies among all judgments, w / W, instead of to weights.
    """
    forward, backward = counts.wins()
    c = smoothing * float((forward + backward).sum()) if joint else smoothing
    return np.log((forward + c) / (backward + c))


class LogOddsAggregator(CountAggregator):
    """An aggregator of the smoothed log-odds of pairs; see `log_odds`."""

    smoothing: float = Field(default=0.5, gt=0, allow_inf_nan=False, description="The constant c, added to both sides.")
    frequencies: Literal["counts", "joint"] = Field(
        default="counts", description="Add c to counts, or to frequencies among the k judgments."
    )

    def pair_log_odds(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the smoothed log-odds of each pair, shape (P,)."""
        return log_odds(counts, self.smoothing, joint=self.frequencies == "joint")


class MeanLogOdds(LogOddsAggregator):
    r"""Mean log-odds of being preferred to the other items, smoothed.

    .. math:: s(i) = \frac{1}{m-1} \sum_{j \ne i} \log \frac{w_{ij} + c}{w_{ji} + c}

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. A pair that
    was not observed contributes 0. The scores sum to zero.

    With ``frequencies=joint`` the weights are divided by the total weight W of the k
    judgments before c is added, as in section 5.1. With c fixed, that is smoothing by c W
    counts, which never fades.

    Prefer it for regression surrogates as in the paper, with many judgments of each pair: with few it is close to
    Borda's count.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: the limit scores (27) for
    ``counts``. For ``joint`` it is *not* (27) but
    :math:`\frac{1}{m-1} \sum_{j \ne i} \log \frac{p_{ij} / M + c}{p_{ji} / M + c}` with
    M = m (m - 1) / 2, close to linear in the win margin as soon as c M is not small.

    Multiplying all weights by a constant leaves ``joint`` as it is; for ``counts`` it makes
    the smoothing count for less.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "mean-log-odds").table.select("item", "score").rows()
    [('ada', 0.8047...), ('bob', 0.2938...), ('cy', -1.0986...)]
    """

    name: ClassVar[str] = "mean-log-odds"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[DMJ13]_ section 6.2, eq. (27); smoothing: section 5.1"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the mean log-odds, shape (m,)."""
        return item_sums(counts, self.pair_log_odds(counts)) / (counts.m - 1)

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is a table of m x m counts."""
        from rankbench.aggregators.kernels.rates import mean_log_odds, parameters

        return Kernel(mean_log_odds, parameters(self.smoothing, joint=self.frequencies == "joint"), table_size)


PairMatrix: TypeAlias = Literal["log-odds", "shares", "probit", "margins"]


class ThurstoneMosteller(CountAggregator):
    r"""Least-squares scores of a skew-symmetric matrix of preferences, by default of smoothed log-odds.

    .. math:: s = (D_\Omega - \Omega)^\dagger (\Omega \circ A) \mathbf{1}, \quad
       A_{ij} = \log \frac{w_{ij} + c}{w_{ji} + c}

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j, and
    :math:`\Omega` the mask of the pairs with at least one judgment. Other choices of `matrix`, with the smoothed share
    :math:`p_{ij} = (w_{ij} + c) / (w_{ij} + w_{ji} + 2 c)`:

    ``shares``
        :math:`A_{ij} = 2 p_{ij} - 1`, the difference of both shares. Where all pairs are observed, scores without
        smoothing are those of `budgeted`, times 2 (m - 1) / m.
    ``probit``
        :math:`A_{ij} = \Phi^{-1}(p_{ij})`, Thurstone's model of equal variances.
    ``margins``
        :math:`A_{ij} = (w_{ij} - w_{ji}) / k` over k judgments, without smoothing. Where all pairs are observed,
        scores are those of `net-weights`, divided by m.

    The observed pairs need not connect the items. By the pseudo-inverse the scores of each
    connected component sum to zero, so the scores of different components are on no common
    scale: their order says nothing. An item without judgments scores 0.

    Prefer it where pairs have similar numbers of votes: a pair seen once weighs as much as one seen a hundred
    times.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: :math:`r_i - \bar r`, which is
    (m - 1) / m times the limit scores (27), for log-odds. Multiplying all weights by a constant makes the
    smoothing count for less.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "thurstone-mosteller").table.select("item", "score").rows()
    [('ada', 0.5364...), ('bob', 0.1959...), ('cy', -0.7324...)]
    """

    name: ClassVar[str] = "thurstone-mosteller"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[DMJ13]_ eq. (22)"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    smoothing: float = Field(default=0.5, gt=0, allow_inf_nan=False, description="Added to both counts, c.")
    matrix: PairMatrix = Field(default="log-odds", description="Preference A of each pair.")

    @model_validator(mode="after")
    def _smoothed(self) -> Self:
        if self.matrix == "margins" and self.smoothing != type(self).model_fields["smoothing"].default:
            raise ValueError(f"smoothing goes with {', '.join(get_args(PairMatrix)[:-1])}; margins take none")
        return self

    def score_unit(self) -> str:
        """Return the unit of the scores with this matrix."""
        units = {"shares": "difference of shares", "probit": "standard deviations", "margins": "lead, a judgment"}
        return units.get(self.matrix, self.unit)

    def preferences(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return A of each pair, shape (P,), positive if `low` is preferred."""
        if self.matrix == "log-odds":
            return log_odds(counts, self.smoothing)
        forward, backward = counts.wins()
        if self.matrix == "margins":
            return (forward - backward) / counts.judgments
        lead = (forward - backward) / (forward + backward + 2 * self.smoothing)
        if self.matrix == "shares":
            return lead
        from scipy.special import ndtri

        return np.asarray(ndtri((1 + lead) / 2))

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the least-squares scores, shape (m,), by linear systems in the graph of the observed pairs."""
        preferences = self.preferences(counts)
        rhs = item_sums(counts, preferences)
        graph = Laplacian(counts.starts, counts.high, 0.0, self.scales(counts))
        return graph.solve(np.ones(len(preferences)), graph.balanced(rhs), 1e-14 * float(np.linalg.norm(rhs)))

    def kernel(self) -> Kernel | None:
        """Return the compiled form for log-odds, O(k + m) memory: conjugate gradients on the Laplacian."""
        if self.matrix != "log-odds":
            return None
        from rankbench.aggregators.kernels.pair_graphs import thurstone_mosteller

        return Kernel(thurstone_mosteller, np.array([self.smoothing]))
