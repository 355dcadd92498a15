"""Expected risks of U-statistics, their bounds, and suprema of quadratic risks over a ball."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import SpecError

MOST = 4_000_000
"""Chances of win counts in memory at once, queries times order; at order k, expected risks take time k^2 a query."""

Vector = NDArray[np.float64]


def order_moments(chance: Vector, k: int, smoothing: float) -> tuple[Vector, Vector]:
    """Return the expectations of s and of s^2 for samples of k votes of each query, shape (Q,) each.

    Parameters
    ----------
    chance : ndarray of float64, shape (Q,)
        That the first item wins a vote.
    k : int
        Its wins are binomial.
    smoothing : float
        c of the log-odds.

    Raises
    ------
    SpecError
        There are more than `MOST` chances.
    """
    from scipy.stats import binom

    size = k * len(chance)
    if size > MOST:
        raise SpecError(f"order {k:,} takes {size:,} chances of win counts, more than {MOST:,}: lower the exponent")
    pmf, s = binom.pmf(np.arange(k + 1), k, chance[:, None]), _log_odds(k, smoothing)
    return pmf @ s, pmf @ s**2


def expected_moments(chance: Vector, p: Vector, n: int, k: int, smoothing: float) -> tuple[Vector, Vector]:
    r"""Return the expectations of s and of s^2 in (20), shape (Q,) each.

    [DMJ13]_ eq. (20), divided by n as (19) is, has query q with weight

    .. math:: \frac{1}{n} \sum_{l=1}^n l\, P(n_q = l)\, E[\varphi(f, s(Y_{1:\min(l, k)}))]
              = p_q\, E[\varphi(f, s(Y_{1:\min(1 + N, k)}))]

    where N, the other votes on the query of a vote, is binomial with n - 1 trials.

    Parameters
    ----------
    chance, p : ndarray of float64, shape (Q,)
        That the first item wins a vote; that a vote is on the query.
    n, k : int
        Votes in all, and the order.
    smoothing : float

    Raises
    ------
    SpecError
        See `order_moments`.
    """
    from scipy.stats import binom

    complete = order_moments(chance, k, smoothing)
    fewer = binom.pmf(np.arange(k - 1), n - 1, p[:, None])
    mean, square = (binom.sf(k - 2, n - 1, p) * moment for moment in complete)
    wins = np.ones((len(chance), 1))
    for votes in range(1, k):
        more = np.zeros((len(chance), votes + 1))
        more[:, 1:] = wins * chance[:, None]
        more[:, :-1] += wins * (1.0 - chance[:, None])
        wins, s = more, _log_odds(votes, smoothing)
        mean += fewer[:, votes - 1] * (wins @ s)
        square += fewer[:, votes - 1] * (wins @ s**2)
    return mean, square


def _log_odds(votes: int, smoothing: float) -> Vector:
    share = np.arange(votes + 1) / votes
    return np.asarray(np.log((share + smoothing) / (1.0 - share + smoothing)))


def supremum(matrix: Vector, slope: Vector, constant: float, radius: float) -> float:
    r"""Return the largest ``|theta' A theta / 2 - b' theta + c|`` over the ball ``|theta| <= radius``.

    Each sign is a trust-region problem. Its value is that of its dual, also where A is indefinite: for the least value

    .. math:: \max_{\mu \ge \max(0, -w_1)} -\frac12 \sum_i \frac{g_i^2}{w_i + \mu} - \frac{\mu r^2}{2}

    with eigenvalues ``w_1 <= w_2 ...`` of A and g the slope in its eigenvectors (J. J. More and D. C. Sorensen, SIAM
    Journal on Scientific and Statistical Computing 4, 1983).

    Parameters
    ----------
    matrix : ndarray of float64, shape (d, d)
        A, symmetric.
    slope : ndarray of float64, shape (d,)
        b.
    constant, radius : float
    """
    values, vectors = np.linalg.eigh(matrix)
    pull = vectors.T @ slope
    least, most = constant + _least(values, pull, radius), constant - _least(-values, pull, radius)
    return max(abs(least), abs(most))


def _least(values: Vector, pull: Vector, radius: float) -> float:
    from scipy.optimize import brentq

    def ratios(mu: float) -> Vector:
        # Terms of 0/0 are 0, the terms of the hard case.
        return np.divide(pull, values + mu, out=np.zeros_like(pull), where=(pull != 0) & (values + mu > 0))

    first = max(0.0, -float(values.min()))
    low = first + float(np.abs(pull[values + first <= 0]).max(initial=0.0)) / radius
    high = first + 2.0 * float(np.linalg.norm(pull)) / radius

    def beyond(mu: float) -> float:
        return float(np.linalg.norm(ratios(mu))) - radius

    if beyond(low) > 0:
        low = brentq(beyond, low, high, xtol=1e-300, rtol=1e-12)
    return -0.5 * float(pull @ ratios(low)) - 0.5 * low * radius**2


def sampling_bound(p: Vector, n: int, k: int, bound: float) -> float:
    r"""Return a bound on the distance of (20) from order k: [DMJ13]_ Lemma 7, from inequality (7) of its proof.

    .. math:: B \Big(\sum_{q > q_0} p_q + \max(n^{-2}, q_0 n^{-3})\Big), \quad
              q_0 = |\{q : n p_q > 2 (k + \log k + 2 \log n)\}|

    It is below the rate that the lemma states, whose constant stands for the sum over rare queries.

    Parameters
    ----------
    p : ndarray of float64, shape (Q,)
    n, k : int
    bound : float
        B, the largest surrogate loss (Assumption E).
    """
    often = n * p > 2.0 * (k + np.log(k) + 2.0 * np.log(n))
    return float(bound * (p[~often].sum() + max(n**-2.0, often.sum() * n**-3.0)))


def squared_constants(x: Vector, radius: float, smoothing: float) -> tuple[float, float]:
    r"""Return B and L of [DMJ13]_ Assumption E, for the squared surrogate of smoothed log-odds.

    With scores f = x theta, ``|theta| <= r``, and ``|s| <= S = log((1 + c) / c)``

    .. math:: B = \frac12 (r \max_q |x_q| + S)^2, \qquad L = \max_q |x_q| \, (r \max_q |x_q| + S)

    Parameters
    ----------
    x : ndarray of float64, shape (Q, d)
    radius, smoothing : float
        r and c.

    Returns
    -------
    bound : float
        No loss is larger.
    lipschitz : float
        The loss of theta changes by at most this times the distance of theta.
    """
    longest = float(np.linalg.norm(x, axis=1).max())
    reach = radius * longest + float(np.log((1.0 + smoothing) / smoothing))
    return reach * reach / 2.0, longest * reach


def condition_ii(
    n: int, k: int, beta: float, constants: tuple[float, float], radius: float, dimension: int, eps: float
) -> tuple[float, float]:
    r"""Return the two ratios that [DMJ13]_ Condition II sends to 0 as n grows.

    .. math:: \frac{k B^{(1 + \beta) / \beta}}{n}, \qquad
              \frac{k B}{\sqrt n} \Big(\log N\Big(\frac{\epsilon}{4 L}, n\Big)\Big)^{1/2}

    A ball of radius r in d dimensions has a cover with ``log N(delta) = d log(1 + 2 r / delta)`` (Assumption F).

    Parameters
    ----------
    n, k : int
        Votes in all, and the order.
    beta : float
        Of Assumption D.
    constants : (float, float)
        B and L: see `squared_constants`.
    radius : float
    dimension : int
    eps : float
        Any number above 0.
    """
    bound, lipschitz = constants
    cover = dimension * np.log1p(8.0 * radius * lipschitz / eps)
    return k * bound ** ((1.0 + beta) / beta) / n, float(k * bound * np.sqrt(cover / n))
