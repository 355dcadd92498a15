"""Votes in the forms that other libraries take: sums by pair, and one row a vote."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from numpy.typing import NDArray

import rankbench
from rankbench.errors import InputError

__all__ = ["MOST", "common_unit", "listed", "one_by_one", "repeated", "runs", "wins"]

MOST = 2_000_000
"""Rows that `listed` and `repeated` make at most."""

_EQUAL = 1e-9


def wins(
    winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
) -> NDArray[np.float64]:
    """Return the total weight of the votes for i over j, shape (m, m)."""
    pairs = winners.astype(np.int64) * m + losers
    return np.bincount(pairs, weights, m * m).reshape(m, m).astype(np.float64, copy=False)


def common_unit(weights: NDArray[np.float64]) -> float:
    """Return the largest number that divides all weights, shape (k,), k >= 1.

    Raises
    ------
    InputError
        There is none, up to rounding.
    """

    def divisor(a: float, b: float) -> float:
        while b > _EQUAL * a:
            a, b = b, math.fmod(a, b)
            if b > a * (1 - 1e-6):  # a remainder that rounding made
                b = 0.0
        return a

    values = np.unique(weights)
    unit = reduce(divisor, values[::-1].tolist())
    counts = values / unit
    if (np.abs(counts - np.round(counts)) > 1e-6 * counts).any() or (counts < 0.5).any():
        raise InputError("this library takes votes one by one, and the weights are not multiples of one number")
    return float(unit)


def listed(wins: NDArray[np.float64]) -> tuple[list[tuple[int, int]], float]:
    """Return votes one by one, as (winner, loser), and the weight of each.

    Half a win each way, as of a tie, makes every whole win two votes of weight 1/2.

    Parameters
    ----------
    wins : ndarray of float64, shape (m, m)
        Total weight of the votes for i over j.

    Raises
    ------
    InputError
        The weights are not multiples of one number, or there would be more than 2,000,000 votes.
    """
    first, second = np.nonzero(wins)
    unit = common_unit(wins[first, second])
    counts = np.round(wins[first, second] / unit).astype(np.int64)
    if counts.sum() > MOST:
        raise InputError(f"this library takes single votes, and there would be {counts.sum():,}; {MOST:,} at most")
    pairs = np.column_stack([np.repeat(first, counts), np.repeat(second, counts)])
    return [(int(a), int(b)) for a, b in pairs], unit


def repeated(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the index of each vote as often as its weight says, for libraries that go vote by vote.

    Raises
    ------
    InputError
        A weight is no whole number, or there would be more than 2,000,000 votes.
    """
    broken = np.flatnonzero(weights != np.floor(weights))
    if len(broken):
        raise InputError(
            f"this library takes votes one by one, and a weight of {weights[broken[0]]:g} is no number of votes; take "
            "whole numbers, or rankbench's elo"
        )
    if weights.sum() > MOST:
        raise InputError(f"this library takes single votes, and there would be {weights.sum():,.0f}; {MOST:,} at most")
    return np.repeat(np.arange(len(weights)), weights.astype(np.int64))


def one_by_one(comparisons: rankbench.Comparisons) -> rankbench.Comparisons:
    """Return each vote as often as its weight says, of weight 1, ties marked; see `repeated`."""
    rows = repeated(comparisons.weights)
    ties = np.zeros(len(rows), np.bool_) if comparisons.ties is None else comparisons.ties[rows]
    winners, losers = comparisons.winners[rows], comparisons.losers[rows]
    return rankbench.Comparisons(np.array([0, len(rows)]), winners, losers, np.ones(len(rows)), ties)


def runs(comparisons: rankbench.Comparisons) -> NDArray[np.int64]:
    """Return where each run of equal votes begins, and the number of votes, shape (R + 1,).

    Ties of the same two items are equal, whichever is named first.
    """
    ties = np.zeros(len(comparisons), np.bool_) if comparisons.ties is None else comparisons.ties
    first = np.where(ties, np.minimum(comparisons.winners, comparisons.losers), comparisons.winners)
    second = np.where(ties, np.maximum(comparisons.winners, comparisons.losers), comparisons.losers)
    votes = np.column_stack([first, second, ties])
    begins = np.flatnonzero((votes[1:] != votes[:-1]).any(axis=1)) + 1
    return np.concatenate([[0], begins, [len(votes)]]).astype(np.int64)
