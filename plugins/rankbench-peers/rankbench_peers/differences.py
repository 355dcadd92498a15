"""Comparisons as a classification problem: differences of features, winner less loser."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import rankbench
from rankbench.errors import InputError

__all__ = ["Differences", "differences", "one_by_one", "rows_of"]


class Differences(NamedTuple):
    """Differences of features that a classifier learns from.

    Attributes
    ----------
    x : ndarray of float64, shape (r, d)
        Every other row is turned around, so that there are two classes.
    y : ndarray of int64, shape (r,)
        1: winner less loser, -1: loser less winner.
    weights : ndarray of float64, shape (r,)
    """

    x: NDArray[np.float64]
    y: NDArray[np.int64]
    weights: NDArray[np.float64]


def rows_of(block: rankbench.Block) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows of winners and losers among all items, and weights; a tie is half a win each way.

    Raises
    ------
    InputError
        There are no comparisons.
    """
    said = block.comparisons.without_ties()
    if not len(said):
        raise InputError("there are no comparisons to learn from")
    base = np.repeat(block.design.offsets[:-1], said.counts)
    return base + said.winners, base + said.losers, said.weights


def differences(block: rankbench.Block) -> Differences:
    """Return one row for each pair and winner, with the total weight of the comparisons that say so.

    The weighted risk of a loss that is the same for (z, 1) and (-z, -1) is that over all
    comparisons, at a fraction of the rows.
    """
    winner, loser, weights = rows_of(block)
    items = int(block.design.offsets[-1])
    pairs, at = np.unique(winner * items + loser, return_inverse=True)
    total = np.bincount(at.reshape(-1), weights).astype(np.float64, copy=False)
    return _turned(block, pairs // items, pairs % items, total)


def one_by_one(block: rankbench.Block) -> Differences:
    """Return one row for each comparison, for methods that take steps."""
    return _turned(block, *rows_of(block))


def _turned(
    block: rankbench.Block, winner: NDArray[np.int64], loser: NDArray[np.int64], weights: NDArray[np.float64]
) -> Differences:
    if len(winner) == 1:
        winner, loser, weights = np.repeat(winner, 2), np.repeat(loser, 2), np.repeat(weights / 2, 2)
    y = np.where(np.arange(len(winner)) % 2, -1, 1)
    x = block.design.x
    z = (x[winner].astype(np.float64) - x[loser]) * y[:, None]
    return Differences(z, y, weights)
