"""p-values of scores, the decision at level alpha, and what Theorem 3 promises of it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankbench_rankad.margins import Floats

__all__ = ["conformal_p_values", "false_alarm_bound", "flagged", "p_values"]


def p_values(scores: Floats, nominal: Floats) -> Floats:
    """Return the share of nominal scores that are not above each score, eq. (3), shape (N,).

    Parameters
    ----------
    scores : ndarray of float64, shape (N,)
        Higher is denser.
    nominal : ndarray of float64, shape (n,)
        In increasing order: scores g(x_i) of the points that g was learned from. It fits
        them a little better than new ones, so these p-values run small.
    """
    return np.searchsorted(nominal, scores, side="right") / len(nominal)


def conformal_p_values(scores: Floats, nominal: Floats) -> Floats:
    """Return ``(1 + #{nominal <= score}) / (1 + n)``, shape (N,).

    With nominal points that g was *not* learned from, ``P(p <= alpha) <= alpha`` for a
    new nominal point, whatever the sample size [VGS05]_.

    References
    ----------
    .. [VGS05] V. Vovk, A. Gammerman and G. Shafer. Algorithmic learning in a random
       world. Springer, 2005. Proposition 2.8.
    """
    below = np.searchsorted(nominal, scores, side="right").astype(np.float64)
    return (1.0 + below) / (1.0 + len(nominal))


def false_alarm_bound(m: int, n: int, dimension: int, radius: float, gamma: float, delta: float) -> float:
    r"""Return Theorem 3's bound on the mass of nominal points scored far below the m-th score.

    With probability 1 - delta over the n training points, for every g of the class

    .. math:: P\{g(x) < g^{(m)} - 2\gamma\} \le \frac{m - 1}{n} + \frac{2}{n}\left(k + \log_2 \frac{n}{\delta}\right),

    where k bounds the logarithm (base 2) of the class's covering number at gamma. The
    class here is the ball of this radius in a `dimension`-dimensional span of features of
    norm at most 1, as `RbfMap` has: ``k = ceil(dimension log2(1 + 2 radius / gamma))``.

    Parameters
    ----------
    m : int
        In [1, n]: the m-th smallest training score is the threshold.
    n : int
        Number of training points.
    dimension : int
    radius : float
        A minimizer of (2) has ``|g| <= sqrt(L(0) / lambda)``.
    gamma, delta : float
        Positive margin; chance in (0, 1).
    """
    k = math.ceil(dimension * math.log2(1.0 + 2.0 * radius / gamma))
    return (m - 1) / n + 2.0 / n * (k + math.log2(n / delta))


def flagged(p: Floats, alpha: float) -> NDArray[np.bool_]:
    """Return which points are declared anomalies: those with ``p <= alpha``, shape (N,)."""
    return p <= alpha
