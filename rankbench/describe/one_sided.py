r"""Judges who favor a side: each against the others, who are not all alike either.

Honest judges differ in how often they say left, if only because they saw other pairs. So a judge's share is
compared with what the *others* say of it: their share, and how much shares of judges vary. The share of votes for
the left of a judge with n votes is taken for one of mean p and variance

.. math:: p (1 - p) \, \frac{1 + (n - 1) \rho}{n}

(beta-binomial) and :math:`\rho` is estimated from the others by moments. Few judges tell little of it: it is
shrunk towards `_RHO`, a spread of judges' shares of 0.11 around one half, as if `_PRIOR` more degrees of freedom
had said so. The distribution is a beta of these moments, and in its far tails the beta-binomial itself where votes
are few, with Student's tails for the estimate; and a judge is never more suspicious than by the exact binomial test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.stats.holm import holm

__all__ = ["one_sided"]

_RHO = 0.05
_PRIOR = 8.0
_MOST = 0.25
"""Share of the judges that may be accused: one-sided are those who differ from most."""
_AT_ONCE = 200
_FAR, _MANY = 0.01, 2000
_LOOKS = 2
"""What p-values are multiplied by, since the log is looked at again after each judge is put aside."""


@dataclass(frozen=True)
class _Sums:
    """Sums over judges: how many, votes, votes for the left, squares of both; scalars or one for each judge."""

    judges: float | NDArray[np.float64]
    votes: float | NDArray[np.float64]
    left: float | NDArray[np.float64]
    shares: float | NDArray[np.float64]
    squares: float | NDArray[np.float64]

    @classmethod
    def from_votes(cls, votes: NDArray[np.float64], left: NDArray[np.float64]) -> _Sums:
        return cls(
            len(votes), float(votes.sum()), float(left.sum()), float((left**2 / votes).sum()), float((votes**2).sum())
        )

    def without(self, votes: NDArray[np.float64], left: NDArray[np.float64]) -> _Sums:
        """Return the sums over all but each one of some judges."""
        return _Sums(
            self.judges - 1.0,
            self.votes - votes,
            self.left - left,
            self.shares - left**2 / votes,
            self.squares - votes**2,
        )


def one_sided(votes: NDArray[np.float64], left: NDArray[np.float64], level: float = 0.05) -> NDArray[np.float64]:
    """Return each judge's p-value, adjusted for all judges by Holm's method, shape (J,); 1 for those not suspected.

    The most suspicious judges are put aside one after the other, each judged by those that are left without
    him, until a quarter is: so several one-sided judges do not hide one another. Those put aside up to the last
    one whose p-value, times the number of judges then left, is below the level are suspected, and judged once
    more by all who are not.

    Parameters
    ----------
    votes, left : ndarray of float64, shape (J,)
        Decisive votes of each judge, one at least, and those for the left.
    level : float
    """
    count = len(votes)
    remaining = np.ones(count, np.bool_)
    aside: list[NDArray[np.int64]] = []
    suspected = 0
    while remaining.sum() - 1 >= (1 - _MOST) * count:
        rows = np.flatnonzero(remaining)
        p = _p(votes[rows], left[rows], _Sums.from_votes(votes[rows], left[rows]).without(votes[rows], left[rows]))
        # Of very many judges some at a time.
        few = min(-(-len(rows) // _AT_ONCE), int(len(rows) - (1 - _MOST) * count))
        worst = np.argsort(p, kind="stable")[:few]
        aside.append(rows[worst])
        remaining[rows[worst]] = False
        if _LOOKS * p.min() * len(rows) < level:
            suspected = len(aside)
    values = np.ones(count)
    if suspected:
        accused = np.concatenate(aside[:suspected])
        rest = np.ones(count, np.bool_)
        rest[accused] = False
        values[accused] = np.minimum(
            1, _LOOKS * _p(votes[accused], left[accused], _Sums.from_votes(votes[rest], left[rest]))
        )
    return holm(values)


def _p(votes: NDArray[np.float64], left: NDArray[np.float64], others: _Sums) -> NDArray[np.float64]:
    """Return the two-sided p-value of each judge by what the others say."""
    from scipy.special import bdtr, betainc, ndtri, stdtr

    p = np.clip((others.left + 0.5) / (others.votes + 1.0), 1e-12, 1 - 1e-12)
    apart = p * (1 - p)
    freedom = np.maximum(others.votes**2 / others.squares - 1, 0)
    # Expected of sum n (x - p)^2 / (p (1 - p)): J - 1 without spread, and `room` more for all of it.
    room = np.maximum(others.votes - others.squares / others.votes - (others.judges - 1), 1e-9)
    found = ((others.shares - others.left**2 / others.votes) / apart - (others.judges - 1)) / room
    rho = (_PRIOR * _RHO + freedom * np.clip(found, 0, 1)) / (_PRIOR + freedom)
    own = (1 + (votes - 1) * rho) / votes
    of_others = (others.votes + rho * (others.squares - others.votes)) / others.votes**2
    size = np.maximum(1 / (own + of_others) - 1, 1e-9)
    low = betainc(p * size, (1 - p) * size, np.minimum(1, (left + 0.5) / votes))
    high = betainc((1 - p) * size, p * size, np.minimum(1, (votes - left + 0.5) / votes))
    tail = np.minimum(0.5, np.minimum(low, high))
    # Few votes are steps, whose far tails a beta misses; only suspicious judges have theirs summed up.
    alpha, other = np.broadcast_to(p * size, votes.shape), np.broadcast_to((1 - p) * size, votes.shape)
    for j in np.flatnonzero((tail < _FAR) & (votes <= _MANY)):
        n, k, right = int(votes[j]), math.ceil(left[j]), math.ceil(votes[j] - left[j])
        inflated = votes[j] * (own + of_others)[j]
        if inflated <= 1 + 1e-9:
            continue
        weight = (n - 1) / (inflated - 1) - 1
        mean = float(alpha[j] / (alpha[j] + other[j]))
        a, b = weight * mean, weight * (1 - mean)
        tail[j] = max(tail[j], min(_betabinomial(k, n, a, b), _betabinomial(right, n, b, a)))
    spread = 2 * stdtr(_PRIOR + freedom, ndtri(tail))
    whole = votes.astype(np.int64)
    below, above = bdtr(np.ceil(left), whole, p), bdtr(np.ceil(votes - left), whole, 1 - p)
    exact = np.minimum(1.0, 2 * np.minimum(below, above))
    result: NDArray[np.float64] = np.maximum(spread, exact)
    return result


def _betabinomial(k: int, n: int, a: float, b: float) -> float:
    """Return the chance of at most k of n, of a share that is beta(a, b)."""
    from scipy.special import betaln, gammaln

    x = np.arange(k + 1)
    terms = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1) + betaln(x + a, n - x + b) - betaln(a, b)
    return float(np.exp(terms).sum())
