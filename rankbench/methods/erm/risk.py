"""The empirical risk (19) of the regression surrogate is a least-squares problem.

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

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import label_structure, sample_structure
from rankbench.interfaces.method import Block
from rankbench.interfaces.queries import Comparisons, Queries
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.methods.erm.kernels.targets import Sums

_TILE = 16

FEWEST_ITEMS = 20
"""Items that a query must have for control coefficients of its own."""

FEWEST_DRAWS = 50
"""Draws that a query must have for control variates to be worth it."""


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


def complete_graphs(block: Block, aggregator: Aggregator) -> tuple[Comparisons, NDArray[np.float64]]:
    """Return the graphs of all judgments (or the labels) of each query, and their edges' weights in the risk.

    Returns
    -------
    Comparisons
        The edges of every query, tail as winner and head as loser, with their weights.
    ndarray of float64, shape (edges,)
        ``n_q / n`` of each edge's query (19).
    """
    tails, heads, weights = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], [np.zeros(0)]
    comparisons = block.comparisons
    for q, (first, last) in enumerate(zip(comparisons.offsets[:-1], comparisons.offsets[1:], strict=True)):
        part, items = slice(first, last), slice(*block.design.offsets[q : q + 2])
        winners, losers, said = comparisons.winners[part], comparisons.losers[part], comparisons.weights[part]
        if last == first:
            graph = np.zeros((0, 0))
        elif aggregator.needs_truth:
            graph = label_structure(aggregator, block.design.labels[items])
        else:
            graph = sample_structure(aggregator, winners, losers, said, items.stop - items.start)
        i, j = np.nonzero(graph)
        tails.append(i.astype(np.int32))
        heads.append(j.astype(np.int32))
        weights.append(graph[i, j])
    edges = np.array([len(w) for w in weights])
    graphs = Comparisons(np.cumsum(edges), np.concatenate(tails), np.concatenate(heads), np.concatenate(weights))
    return graphs, np.repeat(comparisons.counts / max(len(comparisons), 1), edges[1:])


def row_weights(block: Block) -> NDArray[np.float64]:
    """Return n_q / (n m_q) for each item, shape (N,): the weights of (19) and (28)."""
    sizes, comparisons = block.design.sizes, block.comparisons
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
    block: Block,
    k: float,
    complete: NDArray[np.float64],
    sums: Sums,
    row: int,
    weights: tuple[NDArray[np.float64], NDArray[np.float64]],
    controlled: bool = True,
) -> MeanTarget:
    """Return the mean target over k-subsets, from complete targets and summed draws.

    An item's wins and losses in a sample of k judgments explain most of its target,
    and the means of both over all k-subsets are known: k times its wins and losses over
    n_q. So they serve as control variates, with coefficients of each query's own (queries
    with few items share theirs) fitted to the differences of the two halves. A half
    difference is uncorrelated with the mean of the halves, so that the fit's bias is of
    smaller order than the error that it removes; it is left out where draws are few.

    Parameters
    ----------
    block : Block
    k : float
        Order.
    complete : ndarray of float64, shape (N,)
        Targets from all judgments, used where n_q <= k.
    sums : Sums
    row : int
        The contender's row in the sums.
    weights : tuple of ndarray of float64, shape (N,)
        As `won_and_lost` returns them.
    controlled : bool
        Whether to use control variates. Without them the mean is that of targets that
        occurred, and so within their range: weights stay nonnegative.
    """
    queries, comparisons = block.design, block.comparisons
    sizes, counts = queries.sizes, comparisons.counts
    if not (counts > k).any():
        return MeanTarget(complete, None)
    each = np.maximum(np.repeat(sums.draws, sizes, axis=1), 1)
    order = int(np.searchsorted(sums.orders, int(k)))
    share = np.repeat(k / np.maximum(counts, 1), sizes)
    means, spreads = [], []
    for halves, expected in (
        (sums.targets[:, row], 0.0),
        (sums.wins[:, order], share * weights[0]),
        (sums.losses[:, order], share * weights[1]),
    ):
        means.append(halves.sum(axis=0) / each.sum(axis=0) - expected)
        spreads.append(0.5 * (halves[0] / each[0] - halves[1] / each[1]))
    groups = _groups(queries, sums.draws) if controlled else np.full(len(complete), -1)
    first, second, size = _slopes(groups, spreads[0], spreads[1], spreads[2])
    mean = means[0] - first * means[1] - second * means[2]
    # Two fitted coefficients make residuals too small by m / (m - 2), and add their own
    # variance to the mean, 2 / (m - 3) of it.
    m = np.maximum(size, FEWEST_ITEMS)
    grown = np.where((first != 0) | (second != 0), np.sqrt(m / (m - 2) * (1 + 2 / (m - 3))), 1.0)
    error = (spreads[0] - first * spreads[1] - second * spreads[2]) * grown
    sampled = np.repeat(counts > k, sizes)
    return MeanTarget(np.where(sampled, mean, complete), np.where(sampled, error, 0.0))


def _groups(queries: Queries, draws: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which items share their control coefficients, shape (N,); -1: none are fitted.

    A query with enough items is a group of its own, all others together are another one.
    Queries with too few draws have none: their coefficients would follow the noise.
    """
    group = np.where(queries.sizes >= FEWEST_ITEMS, np.arange(len(queries)), len(queries))
    return np.repeat(np.where(draws.sum(axis=0) >= FEWEST_DRAWS, group, -1), queries.sizes)


def won_and_lost(block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight that each item won, and that it lost, in all judgments, shape (N,) each."""
    said, items = block.comparisons, block.design.offsets
    of = np.repeat(items[:-1], said.counts)
    won, lost = (np.bincount(of + side, said.weights, int(items[-1])) for side in (said.winners, said.losers))
    return won.astype(np.float64), lost.astype(np.float64)


def _slopes(
    groups: NDArray[np.int64], y: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return each group's least-squares coefficients of y on a and b, and its size, for every item.

    Zeros where they are not worth fitting: with few items they would add more variance
    than they remove. Products of four weights are compared: a and b are brought near 1 by a
    power of two, which changes no digit.
    """
    power = int(np.frexp(max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0)))[1])
    a, b = np.ldexp(a, -power), np.ldexp(b, -power)
    own = groups + 1  # bincount wants no negative group; group -1 is dropped below

    def total(product: NDArray[np.float64] | None) -> NDArray[np.float64]:
        return np.bincount(own, product).astype(np.float64)

    aa, bb, ab, ay, by = total(a * a), total(b * b), total(a * b), total(a * y), total(b * y)
    size = np.bincount(own)
    determinant = aa * bb - ab * ab
    worth = (size >= FEWEST_ITEMS) & (determinant > 1e-6 * aa * bb)
    worth[0] = False
    scale = np.divide(1.0, determinant, out=np.zeros_like(determinant), where=worth)
    first, second = (bb * ay - ab * by) * scale, (aa * by - ab * ay) * scale
    return np.ldexp(first, -power)[own], np.ldexp(second, -power)[own], size[own]


def single_target(block: Block, aggregator: Aggregator, surrogate: ScoreSurrogate) -> MeanTarget | None:
    """Return the exact mean target of order k = 1, or None without a closed form.

    An equivariant aggregator turns every single judgment of one weight into the same
    structure up to a relabelling: one value for the winner, one for the loser, one for
    everybody else. So win and loss counts determine the mean.
    """
    queries, comparisons = block.design, block.comparisons
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
    structure = sample_structure(aggregator, zero, one, np.full(1, weight), m)
    target = surrogate.checked_numbers("target", surrogate.target(structure))
    return float(target[0]), float(target[1]), float(target[2]) if m > 2 else math.nan if m < 2 else 0.0
