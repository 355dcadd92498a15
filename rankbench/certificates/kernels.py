"""Kernels draw votes from populations."""

from __future__ import annotations

import numpy as np

from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Flags, Index, Rows, Vector, declared
from rankbench.kernels.random import SeedState, below, uniform

settle_runtime()


@declared()
def draw_votes(upto: Vector, m: int, state: SeedState, winners: Index, losers: Index) -> None:
    """Fill `winners` and `losers`, shape (n,); the first n of a longer draw are a draw of n.

    Parameters
    ----------
    upto : ndarray of float64, shape (m * m,)
        Cumulative probabilities of "i over j", row by row; the last entry is 1.
    m : int
    state : ndarray of uint64, shape (4,)
    winners, losers : ndarray of int32, shape (n,)
    """
    for t in range(len(winners)):
        cell = np.searchsorted(upto, uniform(state), side="right")
        winners[t], losers[t] = cell // m, cell % m


settle_runtime()


@declared()
def draw_outcomes(upto: Vector, chance: Vector, state: SeedState, won: Flags, starts: Rows) -> None:
    """Draw n votes: a query by its frequency, then whether its first item wins; sorted by query, stably.

    The first n of a longer draw are a draw of n.

    Parameters
    ----------
    upto : ndarray of float64, shape (Q,)
        Cumulative frequencies; the last one is 1.
    chance : ndarray of float64, shape (Q,)
        That the first item wins.
    state : ndarray of uint64, shape (4,)
    won : ndarray of bool, shape (n,)
        Written to.
    starts : ndarray of int64, shape (Q + 1,)
        Written to: votes of query q are ``starts[q]:starts[q + 1]``.
    """
    n = len(won)
    query, outcome = np.empty(n, np.int64), np.empty(n, np.bool_)
    starts[:] = 0
    for t in range(n):
        drawn = np.searchsorted(upto, uniform(state), side="right")
        query[t], outcome[t] = drawn, uniform(state) < chance[drawn]
        starts[drawn + 1] += 1
    for q in range(len(upto)):
        starts[q + 1] += starts[q]
    place = starts[:-1].copy()
    for t in range(n):
        won[place[query[t]]] = outcome[t]
        place[query[t]] += 1


@declared()
def shuffle(won: Flags, starts: Rows, state: SeedState) -> None:
    """Put the votes of every query in a uniformly random order (Fisher and Yates), in place."""
    for q in range(len(starts) - 1):
        for t in range(starts[q + 1] - 1, starts[q], -1):
            other = starts[q] + below(state, t - starts[q] + 1)
            won[t], won[other] = won[other], won[t]


@declared()
def normal(state: SeedState, out: Vector) -> None:
    """Fill `out` with standard normal variables (Box and Muller)."""
    for i in range(len(out)):
        radius = np.sqrt(-2.0 * np.log1p(-uniform(state)))
        out[i] = radius * np.cos(2.0 * np.pi * uniform(state))
