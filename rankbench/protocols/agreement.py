"""How well a structure agrees with a population: pairs, expected disagreement, scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["directions", "misordered", "regret", "rmse"]

_LEVEL = 1e-12


def directions(structure: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return 1 where a structure puts i before j, -1 where after, 0 if it has them level, (m, m).

    Scores are compared; of a weighted graph, the two edges of a pair. Differences below 1e-12 of
    the largest value are none.
    """
    lead = structure[:, None] - structure[None, :] if structure.ndim == 1 else structure - structure.T
    lead = np.where(np.abs(lead) <= _LEVEL * np.abs(structure).max(initial=0.0), 0.0, lead)
    return np.sign(lead).astype(np.int8)


def misordered(structure: NDArray[np.float64], order: NDArray[np.int64]) -> float:
    """Return the share of pairs that are not as in `order`, best item first; level ones count half."""
    found = directions(structure)[np.ix_(order, order)][np.triu_indices(len(order), 1)]
    return float(((found < 0) + 0.5 * (found == 0)).mean())


def regret(structure: NDArray[np.float64], order: NDArray[np.int64], wins: NDArray[np.float64]) -> float:
    """Return the expected disagreement (10) with one preference on a random pair, less that of `order`.

    Pairs count alike, however often they are compared; a level one disagrees by half. Of a
    score vector it is never negative if `order` is the best. A weighted graph may have cycles
    as the population has, and then do better than any order.
    """
    rows = np.triu_indices(len(order), 1)
    ahead = wins[np.ix_(order, order)][rows]
    found = directions(structure)[np.ix_(order, order)][rows]
    return float(((1 - found) / 2 * (2 * ahead - 1)).mean())


def rmse(scores: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Return the root mean squared error after the best affine fit of `scores` to `truth`."""
    s, t = scores - scores.mean(), truth - truth.mean()
    size = float(s @ s)
    slope = float(s @ t) / size if size > 0 else 0.0
    return float(np.sqrt(np.mean((t - slope * s) ** 2)))
