r"""Moderation pools variances: a few clusters show the variance of one estimate badly, and that of all together well.

A covariance by cluster has as many degrees of freedom as clusters, less one. A model has one unknown number for all
estimates: single judgments have the covariance V, and tastes of clusters, independent over estimates, add
:math:`\tau^2 D`, with D diagonal and :math:`D_{ii}` one over the effective number of clusters behind estimate i. The
covariance by cluster is shrunken toward :math:`V + \tau^2 D`, as far as variances agree with it [Smy04]_.

References
----------
.. [Smy04] G. K. Smyth. Linear models and empirical Bayes methods for assessing differential expression in microarray
   experiments. Statistical Applications in Genetics and Molecular Biology 3(1), 2004.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 3
"""Least-squares fits of tau^2, each weighted by the variances of the one before."""

_LARGE = 1e7
"""Degrees of freedom of a variance that is known."""


class RangeErrors(NamedTuple):
    """Errors of m estimates, which ranges of ranks rest on.

    Attributes
    ----------
    covariance : ndarray of float64, shape (m, m)
    freedom : ndarray of float64, shape (m,)
        Degrees of freedom of each variance; inf where it is known.
    """

    covariance: NDArray[np.float64]
    freedom: NDArray[np.float64]


def moderated(
    covariance: NDArray[np.float64],
    single: NDArray[np.float64],
    clusters: NDArray[np.float64],
    freedom: NDArray[np.float64],
    chosen: NDArray[np.bool_],
) -> RangeErrors:
    r"""Return a covariance by cluster that is shrunken toward a model of tastes.

    .. math:: \Sigma = \frac{d_0 (V + \tau^2 D) + d \, \hat\Sigma}{d_0 + d}, \qquad d = \min_i d_i

    by [Smy04]_ eq. (5), for the whole matrix. Degrees of freedom are :math:`d_0 + d_i`. With
    :math:`e = \log (\hat v / v) - \psi(d / 2) + \log (d / 2)` of the variances of estimates, or of their differences,
    by cluster and by the model, the variance of e exceeds the mean of :math:`\psi'(d / 2)` by
    :math:`\psi'(d_0 / 2)` (section 6.2 there). rankbench takes the larger excess, of estimates or of differences, and a
    standard error more: few estimates are alike by chance, too. :math:`d_0 + d` is at most the number of degrees of
    freedom that all estimates have together.

    Parameters
    ----------
    covariance : ndarray of float64, shape (m, m)
        By cluster.
    single : ndarray of float64, shape (m, m)
        V: as if judgments were independent.
    clusters : ndarray of float64, shape (m,)
        Effective number of clusters behind each estimate.
    freedom : ndarray of float64, shape (m,)
        d_i, 1 at least.
    chosen : ndarray of bool, shape (m,)
        Estimates that are compared; the others, and those without variance, stay as they are.
    """
    at = np.flatnonzero(chosen & (np.diag(covariance) > 0) & (np.diag(single) > 0))
    if len(at) < 3:
        return RangeErrors(covariance, freedom)
    block = np.ix_(at, at)
    own, known, d = covariance[block], single[block], freedom[at]
    model = known + _tastes(own, known, clusters[at])
    first, second = np.triu_indices(len(at), 1)
    fewer = np.minimum(d[first], d[second])
    excess = max(
        _excess(np.diag(own), np.diag(model), d, len(at)),
        _excess(_of_differences(own, first, second), _of_differences(model, first, second), fewer, len(at)),
    )
    prior, least = _freedom(excess, float(np.median(d)) * (len(at) - 2)), float(d.min())
    shrunken, more = covariance.copy(), freedom.copy()
    shrunken[block] = (prior * model + least * own) / (prior + least)
    more[at] += prior
    return RangeErrors(shrunken, more)


def _tastes(
    own: NDArray[np.float64], single: NDArray[np.float64], clusters: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the covariance that tastes add, (k, k), of estimates that sum to zero: least squares of the variances."""
    centered = np.eye(len(own)) - 1 / len(own)
    shape = (centered / clusters) @ centered
    added = np.zeros_like(shape)
    for _ in range(_ROUNDS):
        weight = 1 / np.diag(single + added) ** 2
        size = float(weight @ np.diag(own - single)) / float(weight @ np.diag(shape))
        added = max(size, 0.0) * shape
    return added


def _of_differences(
    covariance: NDArray[np.float64], first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.float64]:
    variance = np.diag(covariance)
    return np.asarray(variance[first] + variance[second] - 2 * covariance[first, second], np.float64)


def _excess(
    own: NDArray[np.float64], model: NDArray[np.float64], freedom: NDArray[np.float64], estimates: int
) -> float:
    """Return the excess variance of log variances over chance, plus one standard error."""
    from scipy.special import digamma, polygamma

    kept = own > 0
    half = freedom[kept] / 2
    logs = np.log(own[kept] / model[kept]) - digamma(half) + np.log(half)
    by_chance = float(polygamma(1, half).mean())
    return float(logs.var(ddof=1)) - by_chance * (1 - float(np.sqrt(2 / (estimates - 1))))


def _freedom(excess: float, most: float) -> float:
    """Return d0 with psi'(d0 / 2) equal to `excess`, from 0 to `most`."""
    from scipy.optimize import brentq
    from scipy.special import polygamma

    if excess <= polygamma(1, min(most, _LARGE) / 2):
        return most
    return float(brentq(lambda d: float(polygamma(1, d / 2)) - excess, 1e-6, most))
