"""The empirical risk (19) of the regression surrogate as a least-squares problem.

With phi(alpha, s) = |alpha - t(s)|^2 / (2 m) the risk (19) is a quadratic form whose
matrix ``H = sum_q n_q/n X_q' X_q / m_q`` depends on neither aggregator, k nor lambda, and
whose right-hand side needs only the mean target of each query over its k-subsets. That
mean is exact for k = 1 (single judgments differ by a relabelling of the items), where
k >= n_q (one term), and for targets made from labels; otherwise it is averaged over the
block's stream of draws, in two halves whose difference measures the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.base import Aggregator
from rankbench.data.queries import Comparisons, Queries
from rankbench.surrogates.base import ScoreSurrogate

__all__ = [
    "MeanTarget",
    "complete_share",
    "gram_matrix",
    "mean_target",
    "row_weights",
    "single_target",
    "tiled_product",
]

_TILE = 16


@dataclass(frozen=True)
class MeanTarget:
    """The mean over subsets of a contender's targets.

    Attributes
    ----------
    mean : ndarray of float64, shape (N,)
    error : ndarray of float64 or None, shape (N,)
        Half the difference of two independent halves: as far from zero as the mean is
        from its limit, in mean square. None where the mean is exact.
    """

    mean: NDArray[np.float64]
    error: NDArray[np.float64] | None


def complete_share(comparisons: Comparisons, k: float) -> float:
    """Return the share of judgments whose query has n_q <= k: 1 means that k is infinity."""
    counts = comparisons.counts
    return float(counts[counts <= k].sum() / max(len(comparisons), 1))


def row_weights(queries: Queries, comparisons: Comparisons) -> NDArray[np.float64]:
    """Return n_q / (n m_q) for each item, shape (N,): the weights of (19) and (28)."""
    sizes = queries.sizes
    return np.repeat(comparisons.counts / (max(len(comparisons), 1) * np.maximum(sizes, 1)), sizes)


def gram_matrix(x: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``H = X' diag(weights) X``, shape (d, d), from x of shape (N, d)."""
    total = np.zeros((x.shape[1], x.shape[1]))
    for low in range(0, len(x), 8192):
        rows = x[low : low + 8192]
        total += (rows * weights[low : low + 8192, None]).T @ rows
    return total


def tiled_product(x: NDArray[np.float64], vectors: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Return ``X' v`` for each v, shape (N,), sixteen at a time.

    Always in full tiles padded with zeros, so that a product does not depend on how many
    others are asked for.
    """
    products: list[NDArray[np.float64]] = []
    for first in range(0, len(vectors), _TILE):
        part = vectors[first : first + _TILE]
        tile = np.zeros((len(x), _TILE))
        for column, vector in enumerate(part):
            tile[:, column] = vector
        product = x.T @ tile
        products += [np.ascontiguousarray(product[:, column]) for column in range(len(part))]
    return products


def mean_target(
    queries: Queries,
    comparisons: Comparisons,
    k: float,
    complete: NDArray[np.float64],
    sums: NDArray[np.float64],
    draws: NDArray[np.int64],
) -> MeanTarget:
    """Return the mean target over k-subsets, from complete targets and summed draws.

    Parameters
    ----------
    k : float
        Order.
    complete : ndarray of float64, shape (N,)
        Targets from all judgments, used where n_q <= k.
    sums : ndarray of float64, shape (2, N)
        Summed targets of the two halves of the draws.
    draws : ndarray of int64, shape (2, Q)
    """
    sizes, counts = queries.sizes, comparisons.counts
    sampled = counts > k
    if not sampled.any():
        return MeanTarget(complete, None)
    rows = np.repeat(sampled, sizes)
    each = np.repeat(draws, sizes, axis=1)
    with np.errstate(invalid="ignore"):
        mean = np.where(rows, sums.sum(axis=0) / each.sum(axis=0), complete)
        error = np.where(rows, 0.5 * (sums[0] / each[0] - sums[1] / each[1]), 0.0)
    return MeanTarget(mean, error)


def single_target(
    queries: Queries, comparisons: Comparisons, aggregator: Aggregator, surrogate: ScoreSurrogate
) -> MeanTarget | None:
    """Return the exact mean target of order k = 1, or None where it has no short form.

    An equivariant aggregator turns every single judgment of one weight into the same
    structure up to a relabelling: one value for the winner, one for the loser, one for
    everybody else. So win and loss counts determine the mean.
    """
    weights = comparisons.weights
    if "equivariant" not in aggregator.properties or "equivariant" not in surrogate.properties:
        return None
    if len(weights) == 0 or weights.min() != weights.max():
        return None
    sizes, counts = queries.sizes, comparisons.counts
    of = np.repeat(queries.offsets[:-1], counts)
    total = int(queries.offsets[-1])
    wins = np.bincount(of + comparisons.winners, minlength=total)
    losses = np.bincount(of + comparisons.losers, minlength=total)
    values = {int(m): _single_values(aggregator, surrogate, float(weights[0]), int(m)) for m in np.unique(sizes)}
    won, lost, other = (np.repeat([values[int(m)][i] for m in sizes], sizes) for i in range(3))
    n_q = np.repeat(np.maximum(counts, 1), sizes)
    mean = (wins * won + losses * lost + (np.repeat(counts, sizes) - wins - losses) * other) / n_q
    return MeanTarget(mean, None)


def _single_values(
    aggregator: Aggregator, surrogate: ScoreSurrogate, weight: float, m: int
) -> tuple[float, float, float]:
    zero, one = np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32)
    target = surrogate.target(aggregator.aggregate(zero, one, np.full(1, weight), m))
    return float(target[0]), float(target[1]), float(target[2]) if m > 2 else math.nan if m < 2 else 0.0
