r"""The information of votes, and a sandwich, estimate the covariance of scores.

The sandwich has two corrections for small samples. Votes of one cluster pull the fit towards themselves, so that
their residuals are too small: each cluster's are multiplied by :math:`(I - I_g \Sigma)^{-1/2}`, the bias-reduced
linearization of [BM02]_ with the model's own variances for working ones (CR2). And with Firth's penalty its
pseudo-votes are votes: they stand in the information, and each is a cluster of its own in the middle of the sandwich.
Where one side won every time, all residuals are close to zero, and the uncertainty is in the pseudo-votes alone.

References
----------
.. [W82] H. White. Maximum likelihood estimation of misspecified models. Econometrica 50(1), 1982.
.. [LZ86] K.-Y. Liang and S. L. Zeger. Longitudinal data analysis using generalized linear
   models. Biometrika 73(1), 1986.
.. [Liu88] R. Y. Liu. Bootstrap procedures under some non-i.i.d. models. Annals of Statistics 16(4), 1988.
.. [BM02] R. M. Bell and D. F. McCaffrey. Bias reduction in standard errors for linear regression with
   multi-stage samples. Survey Methodology 28(2), 2002.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.bradley_terry import PairFit
from rankbench.aggregators.likelihood.davidson_firth import tie_chances
from rankbench.aggregators.likelihood.laplacian_system import TOGETHER, Laplacian
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import MOST_DENSE
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts


@dataclass(frozen=True, eq=False)
class ScoreContributions:
    """Derivatives of the log-likelihood of one vote on each of P pairs, at a fit.

    A model has scores alone, or one more parameter, on which all pairs depend: Davidson's log nu. Derivatives
    by it are 0 where there is none.

    Attributes
    ----------
    slope, extra : ndarray of float64, shape (3, P)
        By the difference of the pair's scores, and by the parameter: of a win of `low`, of `high`, of a tie.
    bend, cross, bend_extra : ndarray of float64, shape (P,)
        Information: of the difference, of both, of the parameter.
    pseudo : ndarray of float64, shape (3, P)
        Weight of pseudo-votes that stand for a penalty, by outcome.
    more : bool
        Whether there is one more parameter.
    """

    slope: NDArray[np.float64]
    extra: NDArray[np.float64]
    bend: NDArray[np.float64]
    cross: NDArray[np.float64]
    bend_extra: NDArray[np.float64]
    pseudo: NDArray[np.float64]
    more: bool

    def judged(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the weight of votes on each pair, pseudo-votes among them, shape (P,)."""
        cells = np.stack([counts.forward, counts.backward, counts.ties]) + self.pseudo
        return np.ones(3) @ cells

    def inverse(self, graph: Laplacian, judged: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the inverse information of `judged` votes, (d, d): of m scores, and of the parameter if any.

        Scores sum to zero on every scale.

        Raises
        ------
        ContenderDiverged
            The information is singular.
        """
        found = graph.inverse(judged * self.bend)
        if graph.ridge == 0:
            found = np.ascontiguousarray(graph.balanced(graph.balanced(found).T))
        if not self.more:
            return found
        cross = graph.item_sums(judged * self.cross)
        ahead = found @ cross
        left = float(judged @ self.bend_extra) - float(cross @ ahead)
        if not left > 0:
            raise ContenderDiverged("the log does not say how likely ties are")
        whole = np.empty((graph.m + 1, graph.m + 1))
        whole[:-1, :-1] = found + np.outer(ahead, ahead) / left
        whole[-1, :-1] = whole[:-1, -1] = -ahead / left
        whole[-1, -1] = 1 / left
        return whole

    def middle(
        self, graph: Laplacian, weights: NDArray[np.float64], slope: NDArray[np.float64], extra: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the sum over single votes of outer products of their score contributions, (d, d).

        Parameters
        ----------
        weights, slope, extra : ndarray of float64, shape (3, P)
            Numbers of votes, and the slope and the extra term of each.
        """
        m = graph.m
        whole = np.zeros((m + self.more, m + self.more))
        squares = (weights * slope**2).sum(axis=0)
        scores = whole[:m, :m]
        scores[graph.low, graph.high] = scores[graph.high, graph.low] = -squares
        np.fill_diagonal(scores, np.bincount(graph.low, squares, m) + np.bincount(graph.high, squares, m))
        if self.more:
            whole[m, :m] = whole[:m, m] = graph.item_sums((weights * slope * extra).sum(axis=0))
            whole[m, m] = (weights * extra**2).sum()
        return whole


def score_contributions(counts: PairCounts, fit: PairFit, pseudo: NDArray[np.float64] | None) -> ScoreContributions:
    """Return the votes' score contributions in the Bradley-Terry model, and by log nu in Davidson's.

    Parameters
    ----------
    counts : PairCounts
    fit : PairFit
    pseudo : ndarray of float64, shape (3, P), or None
        Pseudo-votes of Firth's penalty.
    """
    from scipy.special import expit

    low, high, scores = counts.low, counts.high, fit.scores
    if fit.nu == 0:
        p, q = expit(scores[low] - scores[high]), expit(scores[high] - scores[low])
        slope, bend = np.stack([q, -p, (q - p) / 2]), p * q
        extra, cross, bend_extra = np.zeros_like(slope), np.zeros(len(p)), np.zeros(len(p))
    else:
        graph = Laplacian(counts.starts, counts.high, fit.ridge, fit.scales)
        p, q, r = tie_chances(graph, scores, float(np.log(fit.nu)))
        mean = (p - q) / 2
        slope, extra = np.stack([0.5 - mean, -0.5 - mean, -mean]), np.stack([-r, -r, p + q])
        bend, cross, bend_extra = (p + q - (p - q) ** 2) / 4, -r * mean, r * (p + q)
    if fit.ridge == 0:
        # Without a penalty votes between scales say nothing; with Firth's there are none.
        inside = fit.scales.scale_of[low] == fit.scales.scale_of[high]
        slope, extra, bend, cross, bend_extra = (one * inside for one in (slope, extra, bend, cross, bend_extra))
    none = np.zeros_like(slope)
    return ScoreContributions(slope, extra, bend, cross, bend_extra, none if pseudo is None else pseudo, fit.nu > 0)


TERMS = 24
"""Most terms of the series of a cluster's correction: a cluster that is all of a score counts some five times."""

ENOUGH_TERMS = 1e-6
"""Relative size of the last term of it."""

_ROWS = 4_000_000
"""Numbers that are held of clusters which judged many items."""


def sandwich(
    fit: PairFit, data: PairCounts | ClusterCounts, pseudo: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    r"""Return the sandwich covariance ([W82]_), clustered ([LZ86]_) if `data` is by cluster, shape (m, m).

    .. math:: \Sigma \Big( \sum_g \tilde u_g \tilde u_g^T \Big) \Sigma, \qquad
              \tilde u_g = (I - I_g \Sigma)^{-1/2} \sum_{t \in g} w_t (y_t - p_{ij}) (e_i - e_j)

    with y 1, 1/2 or 0 for a win of i, a tie, a win of j, and :math:`I_g` the part of the information that is
    the cluster's. It stays right where the model is not, or where judgments of one cluster depend on each other.

    Parameters
    ----------
    fit : PairFit
    data : PairCounts or ClusterCounts
        Of the judgments that were fitted. From `PairCounts` every judgment is a cluster of
        its own, of weight 1.
    pseudo : ndarray of float64, shape (3, P), optional
        Pseudo-votes of Firth's penalty in the fit.

    Raises
    ------
    InputError
        `PairCounts` of weighted judgments, whose squares are not known any more; one
        cluster; more than 4000 items.
    """
    counts = data.counts if isinstance(data, ClusterCounts) else data
    if counts.m > MOST_DENSE:
        raise InputError(f"the covariance of {counts.m} items is too large a matrix (at most {MOST_DENSE} items)")
    if fit.nu == np.inf:
        return np.zeros((counts.m, counts.m))
    groups = len(data.clusters) if isinstance(data, ClusterCounts) else counts.judgments
    if groups < 2:
        raise InputError("a sandwich needs two clusters at least")
    if counts.weighted and not isinstance(data, ClusterCounts):
        raise InputError("weighted judgments are summed up: count them by cluster (each its own, if need be)")
    graph, said = Laplacian(counts.starts, counts.high, fit.ridge, fit.scales), score_contributions(counts, fit, pseudo)
    bread = said.inverse(graph, said.judged(counts))
    meat = said.middle(graph, said.pseudo, said.slope, said.extra)
    if isinstance(data, ClusterCounts):
        meat += _clustered(said, data, bread)
    else:
        cells = np.stack([counts.forward, counts.backward, counts.ties])
        spread, m = graph.distances(bread[: graph.m, : graph.m]), graph.m
        gap = rest = np.zeros(len(spread))
        if said.more:
            gap, rest = bread[graph.low, m] - bread[graph.high, m], np.full(len(spread), bread[m, m])
        meat += said.middle(graph, cells, *_reduced_votes(said, spread, gap, rest))
    result: NDArray[np.float64] = bread @ meat @ bread
    return result[: counts.m, : counts.m]


DRAWS = 512
"""Draws that stand for the covariance of many scores: a standard error of 3% on a standard error."""


def sandwich_draws(
    fit: PairFit, data: PairCounts | ClusterCounts, pseudo: NDArray[np.float64] | None, seed: int
) -> Iterator[NDArray[np.float64]]:
    r"""Yield errors of Bradley-Terry scores, (K, m) at a time, whose covariance is that of `sandwich` ([Liu88]_).

    Each cluster's pull on the fit is given a random sign, :math:`\Sigma \sum_g \pm \tilde u_g`: nothing of size m x m
    is made. All votes of a pair have one sign. Where judgments are by cluster, each sum of a cluster on a pair is
    corrected for its own pull alone.

    Parameters
    ----------
    fit : PairFit
        Without ties of their own.
    data, pseudo
        As for `sandwich`.
    seed : int
    """
    from scipy.sparse import csr_array

    from rankbench.aggregators.kernels.right_sides import random_sides

    counts = data.counts if isinstance(data, ClusterCounts) else data
    said, inside = score_contributions(counts, fit, pseudo), np.ones(len(counts), np.bool_)
    if fit.ridge == 0:
        inside = fit.scales.scale_of[counts.low] == fit.scales.scale_of[counts.high]
    kept = counts if inside.all() else counts.select(inside)
    graph, edge = Laplacian(kept.starts, kept.high, fit.ridge, fit.scales), (said.judged(counts) * said.bend)[inside]
    solve, spread = graph.solver(edge), np.zeros(len(counts))
    spread[inside] = graph.resistances(edge)
    squares = (said.pseudo * said.slope**2).sum(axis=0)
    clustered = None
    if isinstance(data, ClusterCounts):
        pair, way = np.divmod(data.cells, 3)
        pull = data.weights * said.bend[pair] * spread[pair]
        of = data.weights * said.slope[way, pair] / np.sqrt(1 - np.minimum(pull, 0.9))
        items = np.stack([counts.low[pair], counts.high[pair]], axis=1).reshape(-1)
        rows = csr_array(
            (np.stack([of, -of], axis=1).reshape(-1), items, 2 * data.starts), shape=(len(data.clusters), counts.m)
        )
        clustered = rows.T.tocsr()
    else:
        slope, _ = _reduced_votes(said, spread, np.zeros_like(spread), np.zeros_like(spread))
        squares += (np.stack([counts.forward, counts.backward, counts.ties]) * slope**2).sum(axis=0)
    rng = np.random.default_rng([seed, 7])
    for first in range(0, DRAWS, 2 * TOGETHER):
        sides = np.zeros((counts.m, 2 * TOGETHER))
        random_sides(kept.starts, kept.high, squares[inside], first + (seed << 20), sides)
        if clustered is not None:
            sides += clustered @ rng.choice([-1.0, 1.0], size=(clustered.shape[1], 2 * TOGETHER))
        yield solve(graph.balanced(sides.T) if graph.ridge == 0 else np.ascontiguousarray(sides.T))


def _reduced_votes(
    said: ScoreContributions, spread: NDArray[np.float64], gap: NDArray[np.float64], rest: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return leverage-corrected contributions of votes by the difference and by the parameter, (3, P) each.

    `spread`, `gap` and `rest` are the variance of the difference, its covariance with the parameter, and the
    parameter's variance, shape (P,).
    """
    slope, extra = said.slope.copy(), said.extra.copy()
    a, b, share = said.slope, said.extra, 1.0
    for term in range(1, TERMS + 1):
        y, z = spread * a + gap * b, gap * a + rest * b
        a, b = said.bend * y + said.cross * z, said.cross * y + said.bend_extra * z
        share *= (2 * term - 1) / (2 * term)
        slope += share * a
        extra += share * b
        if share * float(np.abs(a).max(initial=0.0)) <= ENOUGH_TERMS * float(np.abs(said.slope).max(initial=0.0)):
            break
    return slope, extra


def _clustered(said: ScoreContributions, data: ClusterCounts, bread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of corrected u_g u_g^T, shape (d, d)."""
    from rankbench.aggregators.kernels.refits import add_clusters

    d, meat = len(bread), np.zeros_like(bread)
    low, high = data.counts.low, data.counts.high
    rows = np.zeros((max(1, min(len(data.clusters), _ROWS // d)), d))
    done = 0
    while done < len(data.clusters):
        done, filled = add_clusters(
            done, data.starts, data.cells, data.weights, low, high, said.slope, said.extra, said.bend, said.cross,
            said.bend_extra, bread, data.counts.m, TERMS, ENOUGH_TERMS, rows, meat,
        )  # fmt: skip
        meat += rows[:filled].T @ rows[:filled]
        rows[:filled] = 0.0
    return meat


def information_of_one(lead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the information of one vote about a pair's lead, p (1 - p), of any shape."""
    chance = 1 / (1 + np.exp(np.abs(lead)))  # of the weaker item: 1 less a chance near 1 loses its digits
    found: NDArray[np.float64] = chance * (1 - chance)
    return found


def inverse_information(counts: PairCounts, scores: NDArray[np.float64], ridge: float = 0.0) -> NDArray[np.float64]:
    """Return the inverse information of counted votes, shape (m, m): variances of differences are right.

    Parameters
    ----------
    counts : PairCounts
    scores : ndarray of float64, shape (m,)
        Log-odds.
    ridge : float
        Penalty of the scores.
    """
    low, high = counts.low, counts.high
    linked = np.zeros((counts.m, counts.m))
    forward, backward = counts.wins()
    linked[low, high] = (forward + backward) * information_of_one(scores[low] - scores[high])
    linked += linked.T
    own = linked.sum(axis=0)
    # Scores of a connected component are known but for a constant: ones in its block let the inverse exist.
    scale = counts.connected.scale_of
    block = (scale[:, None] == scale[None, :]) / np.bincount(scale)[scale]
    inverse: NDArray[np.float64] = np.linalg.inv(np.diag(own + ridge) - linked + max(float(own.mean()), 1.0) * block)
    return inverse


def lead_variances(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances of all differences, shape (m, m), of a covariance of the same shape."""
    own = np.diag(covariance)
    found: NDArray[np.float64] = np.add.outer(own, own)
    return found - 2 * covariance
