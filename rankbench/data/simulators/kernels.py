"""Kernels draw for all simulators."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Flags, Index, Matrix, Rows, Vector, declared
from rankbench.kernels.random import SeedState, below, uniform

settle_runtime()

Lists = Annotated[NDArray[np.int32], types.int32[:, ::1]]


@declared()
def draw_judgments(offsets: Rows, labels: Vector, state: SeedState, query: Index, winner: Index, loser: Index) -> None:
    """Fill `query`, `winner` and `loser`, shape (n,), with independent judgments, (26).

    Each takes its random numbers in the same order: query, first item, second item, winner.
    So the first n judgments of a longer draw are the draw of length n.
    """
    for t in range(len(query)):
        q = below(state, len(offsets) - 1)
        start = offsets[q]
        m = offsets[q + 1] - start
        i = below(state, m)
        j = below(state, m - 1)
        if j >= i:
            j += 1
        # exp may overflow to inf, which is the right probability 0.
        p = 1.0 / (1.0 + math.exp(labels[start + j] - labels[start + i]))
        if uniform(state) >= p:
            i, j = j, i
        query[t], winner[t], loser[t] = q, i, j


@declared()
def group_judgments(query: Index, winner: Index, loser: Index, starts: Rows, winners: Index, losers: Index) -> None:
    """Sort judgments by query, keeping their order within a query: a counting sort.

    Fills `starts`, shape (Q + 1,) and zero on entry, and `winners` and `losers`, shape (n,).
    """
    for t in range(len(query)):
        starts[query[t] + 1] += 1
    for q in range(1, len(starts)):
        starts[q] += starts[q - 1]
    place = starts[:-1].copy()
    for t in range(len(query)):
        row = place[query[t]]
        winners[row], losers[row] = winner[t], loser[t]
        place[query[t]] = row + 1


@declared()
def draw_sessions(
    weights: Matrix, satisfaction: Vector, looks: Vector, state: SeedState, query: Index, lists: Lists, click: Index
) -> None:
    """Fill `query`, `lists`, shape (n, L), and `click` (L: no click) with independent sessions.

    Lists are drawn item by item without replacement, with probabilities in proportion to
    the `weights` of the query, shape (Q, m). Sessions take their random numbers one after
    the other, so the first n of a longer draw are the draw of length n.
    """
    m, length = weights.shape[1], lists.shape[1]
    left = np.empty(m)
    for t in range(len(query)):
        q = below(state, len(weights))
        query[t] = q
        for item in range(m):
            left[item] = weights[q, item]
        click[t] = length
        for position in range(length):
            # Summed anew each time: taking drawn weights off a sum would leave rounding errors.
            total = 0.0
            for item in range(m):
                total += left[item]
            at = uniform(state) * total
            found = -1
            for item in range(m):
                if left[item] > 0.0:
                    found = item
                    at -= left[item]
                    if at < 0.0:
                        break
            left[found] = 0.0
            lists[t, position] = found
        for position in range(length):
            chance = looks[position] * satisfaction[q * m + lists[t, position]]
            if uniform(state) < chance and click[t] == length:
                click[t] = position


@declared()
def draw_votes_between(
    upto: Vector, wins: Matrix, scores: Vector, nu: float, state: SeedState, winners: Index, losers: Index, ties: Flags
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


@declared()
def draw_ballots(scores: Vector, length: int, state: SeedState, ballots: Lists) -> None:
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
