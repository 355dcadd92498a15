"""Drawing comparisons and ballots of a population, compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared
from rankbench.kernels.random import STATE, below, uniform

__all__ = ["draw_ballots", "draw_votes_between"]

_INDEX = types.int32[::1]
_VECTOR = types.float64[::1]
_SQUARE = types.float64[:, ::1]
_FLAGS = types.boolean[::1]


@declared(types.void(_VECTOR, _SQUARE, _VECTOR, types.float64, STATE, _INDEX, _INDEX, _FLAGS))
def draw_votes_between(
    upto: NDArray[np.float64],
    wins: NDArray[np.float64],
    scores: NDArray[np.float64],
    nu: float,
    state: NDArray[np.uint64],
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    ties: NDArray[np.bool_],
) -> None:
    """Fill `winners`, `losers` and `ties`, shape (n,); the first n of a longer draw are a draw of n.

    Parameters
    ----------
    upto : ndarray of float64, shape (m (m - 1) / 2,)
        Cumulative probabilities of the pairs (0, 1), (0, 2), ..., (m - 2, m - 1).
    wins : ndarray of float64, shape (m, m)
        Probability that i is preferred to j, given that one is.
    scores : ndarray of float64, shape (m,)
    nu : float
        Davidson's parameter of ties for these scores; 0: there are none.
    state : ndarray of uint64, shape (4,)
    winners, losers : ndarray of int32, shape (n,)
    ties : ndarray of bool, shape (n,)
    """
    m = len(scores)
    pairs = len(upto)
    low, high = np.empty(pairs, dtype=np.int64), np.empty(pairs, dtype=np.int64)
    pair = 0
    for i in range(m):
        for j in range(i + 1, m):
            low[pair], high[pair] = i, j
            pair += 1
    for t in range(len(winners)):
        pair = min(int(np.searchsorted(upto, uniform(state), side="right")), pairs - 1)
        i, j = low[pair], high[pair]
        tie = nu / (nu + 2.0 * math.cosh((scores[i] - scores[j]) / 2.0))
        ties[t] = uniform(state) < tie
        if uniform(state) >= wins[i, j]:
            i, j = j, i
        winners[t], losers[t] = i, j


@declared(types.void(_VECTOR, types.int64, STATE, types.int32[:, ::1]))
def draw_ballots(
    scores: NDArray[np.float64], length: int, state: NDArray[np.uint64], ballots: NDArray[np.int32]
) -> None:
    """Fill `ballots`, shape (n, length), with Plackett-Luce orders of uniform sets of items.

    The first rows of a longer draw are a shorter draw. Items in the order of their scores plus
    independent Gumbel noise are a Plackett-Luce order.
    """
    m = len(scores)
    deck = np.arange(m)
    noisy = np.empty(length)
    for b in range(len(ballots)):
        for r in range(length):
            at = r + below(state, m - r)
            deck[r], deck[at] = deck[at], deck[r]
            # A uniform in (0, 1]; the noise is finite unless it is 1.
            u = 1.0 - uniform(state)
            noisy[r] = scores[deck[r]] - math.log(max(-math.log(u), 1e-300))
        order = np.argsort(-noisy)
        for r in range(length):
            ballots[b, r] = deck[order[r]]
