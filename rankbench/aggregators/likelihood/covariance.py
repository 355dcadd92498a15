"""How uncertain Bradley-Terry scores are: the inverse information, and the sandwich.

References
----------
.. [W82] H. White. Maximum likelihood estimation of misspecified models. Econometrica 50(1), 1982.
.. [LZ86] K.-Y. Liang and S. L. Zeger. Longitudinal data analysis using generalized linear
   models. Biometrika 73(1), 1986.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.bradley_terry import BradleyTerryFit
from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.errors import InputError
from rankbench.kinds.aggregator import MOST_DENSE
from rankbench.kinds.counts import ClusterCounts, PairCounts
from rankbench.kinds.scales import within

__all__ = ["covariance", "sandwich"]


def covariance(fit: BradleyTerryFit, counts: PairCounts) -> NDArray[np.float64]:
    r"""Return the inverse of the information at the fitted scores, shape (m, m).

    .. math:: \Sigma = \Big( \sum_{i<j} n_{ij} p_{ij} (1 - p_{ij}) (e_i - e_j)(e_i - e_j)^T + \rho I \Big)^{-1}

    Without a ridge it is the pseudo-inverse: scores sum to zero on every scale, and so do the
    rows. Entries between scales are 0. With a ridge it is the posterior covariance
    (Laplace's approximation) under the normal prior that the ridge stands for. It takes the
    judgments for independent; see `sandwich` where they are not.

    Raises
    ------
    InputError
        More than 4000 items.
    """
    if counts.m > MOST_DENSE:
        raise InputError(f"the covariance of {counts.m} items is too large a matrix (at most {MOST_DENSE} items)")
    inside = within(counts, fit.scales, fit.ridge)
    graph = Laplacian(inside.starts, inside.high, fit.ridge, fit.scales)
    forward, backward = inside.wins(fit.ties)
    p = _chances(fit, inside)
    information = graph.dense((forward + backward) * p * (1 - p))
    free = graph.free()
    inverse = np.zeros_like(information)
    if len(free):
        from scipy.linalg import inv

        inverse[np.ix_(free, free)] = inv(information[np.ix_(free, free)])
    return inverse if fit.ridge > 0 else fit.scales.centered(fit.scales.centered(inverse).T)


def sandwich(fit: BradleyTerryFit, data: PairCounts | ClusterCounts) -> NDArray[np.float64]:
    r"""Return the sandwich covariance ([W82]_), clustered ([LZ86]_) if `data` is by cluster, shape (m, m).

    .. math:: \Sigma \Big( \frac{G}{G - 1} \sum_g u_g u_g^T \Big) \Sigma, \qquad
              u_g = \sum_{t \in g} w_t (y_t - p_{ij}) (e_i - e_j)

    with y 1, 1/2 or 0 for a win of i, a tie, a win of j. It stays right where the model is
    not, or where judgments of one cluster depend on each other; with few clusters it is too small.

    Parameters
    ----------
    fit : BradleyTerryFit
    data : PairCounts or ClusterCounts
        Of the judgments that were fitted. From `PairCounts` every judgment is a cluster of
        its own, of weight 1.

    Raises
    ------
    InputError
        `PairCounts` of weighted judgments, whose squares are not known any more; one
        cluster; more than 4000 items.
    """
    counts = data.counts if isinstance(data, ClusterCounts) else data
    bread = covariance(fit, counts)
    inside = fit.scales.of[counts.low] == fit.scales.of[counts.high]
    p = _chances(fit, counts)
    tie = 0.5 if fit.ties == "half" else p
    surprise = np.column_stack([1 - p, -p, tie - p]) * (inside[:, None] if fit.ridge == 0 else 1.0)
    if isinstance(data, ClusterCounts):
        groups = len(data)
        meat = _clustered(data, surprise)
    elif counts.weighted:
        raise InputError("weighted judgments are summed up: count them by cluster (each its own, if need be)")
    else:
        groups = counts.judgments
        squares = np.column_stack([counts.forward, counts.backward, counts.ties]) * surprise**2
        meat = np.zeros((counts.m, counts.m))
        weight = squares.sum(axis=1)
        meat[counts.low, counts.high] = meat[counts.high, counts.low] = -weight
        np.fill_diagonal(meat, -meat.sum(axis=1))
    if groups < 2:
        raise InputError("a sandwich needs two clusters at least")
    result: NDArray[np.float64] = bread @ (meat * (groups / (groups - 1))) @ bread
    return result


def _clustered(data: ClusterCounts, surprise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of u_g u_g^T, shape (m, m)."""
    from scipy.sparse import coo_array

    counts = data.counts
    cluster, pair = np.repeat(np.arange(len(data)), np.diff(data.starts)), data.cells // 3
    u = data.weights * surprise.ravel()[data.cells]
    rows = np.concatenate([cluster, cluster])
    columns = np.concatenate([counts.low[pair], counts.high[pair]])
    scores = coo_array((np.concatenate([u, -u]), (rows, columns)), shape=(len(data), counts.m)).tocsr()
    return np.asarray((scores.T @ scores).todense())


def _chances(fit: BradleyTerryFit, counts: PairCounts) -> NDArray[np.float64]:
    """Return the fitted chance of `low`, shape (P,)."""
    from scipy.special import expit

    chances: NDArray[np.float64] = expit(fit.scores[counts.low] - fit.scores[counts.high])
    return chances
