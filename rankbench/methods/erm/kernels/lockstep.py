"""The lockstep kernel advances all stochastic contenders of a block on the same draws.

The features of the drawn query are read once. Score surrogates need all items' scores:
scores and gradients of sixteen contenders are one matrix product each. BLAS rounds
differently for different numbers of columns, so these products always have the full
tile, padded with contenders that do nothing: a contender's result does not depend on
how many run beside it. Pairwise surrogates of few edges need only the difference of two
items' features for each edge, read once for all contenders that share the edges.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from rankbench.kernels.declared import Matrix, Rows, Vector, declared
from rankbench.kernels.random import SeedState
from rankbench.kernels.signatures import AGGREGATE, GRADIENT, TARGET, WEIGH
from rankbench.methods.erm.kernels.memory import uncounted
from rankbench.methods.erm.kernels.sampling import TILE, WINDOW, ContenderColumns, ContenderPath, Judged, steps_by_query
from rankbench.methods.erm.kernels.targets import (
    Scratch,
    Sums,
    TargetTable,
    add_targets,
    draw_sample,
    fetch_sums,
    fill_targets,
)


@declared(AGGREGATE)
def idle_aggregate(winners, losers, weights, m, params, work, out):  # type: ignore[no-untyped-def]
    """Aggregate nothing, in place of an aggregator for structures made from labels."""


@declared(TARGET)
def idle_target(scores, params, work, target):  # type: ignore[no-untyped-def]
    """Make no target."""


@declared(GRADIENT)
def idle_gradient(alpha, target, params, gradient):  # type: ignore[no-untyped-def]
    """Return zero."""
    return 0.0


@declared(WEIGH)
def idle_weigh(weights, params, offsets):  # type: ignore[no-untyped-def]
    """Leave weights unchanged."""


# Sums may be reordered into vector lanes, in the same way for every contender.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(a: Vector, b: Vector) -> float:
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True, inline="always")
def _score(features: Matrix, columns: ContenderColumns, path: ContenderPath) -> None:
    """Write the scores of a query's items by all score surrogates' iterates to ``path.alpha``."""
    m = features.shape[0]
    alpha = path.alpha[: columns.tiled * m].reshape(columns.tiled, m)
    for first in range(0, columns.tiled, TILE):
        # BLAS is fastest with neither factor transposed; turning the small ones costs less.
        for i in range(TILE):
            for j in range(path.turned.shape[0]):
                path.turned[j, i] = path.theta[first + i, j]
        np.dot(features, path.turned, path.by_item[:m])
        for i in range(TILE):
            for j in range(m):
                alpha[first + i, j] = path.by_item[j, i]


@njit(cache=True, nogil=True)
def _weigh(columns: ContenderColumns, path: ContenderPath, g: int, count: int, margins: Vector) -> None:
    """Turn the weights of group g's edges into factors, and take the offsets off their margins."""
    weights, offsets = path.edge_weights[:count], path.edge_offsets[:count]
    params = columns.weigh_params[columns.weigh_bounds[g] : columns.weigh_bounds[g + 1]]
    columns.weighs[g](weights, params, offsets)
    rows = columns.groups[g + 1] - columns.groups[g]
    for e in range(count):
        for r in range(rows):
            margins[e * rows + r] -= offsets[e]


@njit(cache=True, nogil=True, inline="always")
def _group(
    features: Matrix,
    g: int,
    n_q: int,
    columns: ContenderColumns,
    path: ContenderPath,
    scratch: Scratch,
    values: Vector,
    move: bool,
) -> None:
    """Value or, if `move`, gradient of the pairwise surrogates of group g."""
    first, last = columns.groups[g], columns.groups[g + 1]
    rows = last - first
    k = min(columns.orders[g], n_q)
    m = features.shape[0]
    count = columns.edges[g](
        scratch.winners[:k],
        scratch.losers[:k],
        scratch.weights[:k],
        m,
        columns.edge_params[columns.edge_bounds[g] : columns.edge_bounds[g + 1]],
        path.edge_work,
        path.tails,
        path.heads,
        path.edge_weights,
    )
    params = columns.phi_params[columns.phi_bounds[g] : columns.phi_bounds[g + 1]]
    margins, slopes = path.margins[: count * rows], path.slopes[: count * rows]
    for e in range(count):
        a, b = features[path.tails[e]], features[path.heads[e]]
        for j in range(a.shape[0]):
            path.difference[j] = a[j] - b[j]
        for r in range(rows):
            margins[e * rows + r] = _dot(path.theta[first + r], path.difference)
    if columns.weighed[g]:
        _weigh(columns, path, g, count, margins)
    if path.watched:
        columns.phis[g](margins, params, slopes)
        for r in range(rows):
            values[first + r] = 0.0
            for e in range(count):
                values[first + r] += path.edge_weights[e] * slopes[e * rows + r]
    if not move:
        return
    if count == 0:
        path.gradient[first:last] = 0.0
    columns.dphis[g](margins, params, slopes)
    for e in range(count):
        # Of a single edge the difference is still there.
        if count > 1:
            a, b = features[path.tails[e]], features[path.heads[e]]
            for j in range(a.shape[0]):
                path.difference[j] = a[j] - b[j]
        for r in range(rows):
            slope = path.edge_weights[e] * slopes[e * rows + r]
            gradient = path.gradient[first + r]
            if e == 0:
                for j in range(gradient.shape[0]):
                    gradient[j] = slope * path.difference[j]
            else:
                for j in range(gradient.shape[0]):
                    gradient[j] += slope * path.difference[j]


@njit(cache=True, nogil=True, inline="always")
def _surrogates(
    features: Matrix,
    n_q: int,
    columns: ContenderColumns,
    path: ContenderPath,
    scratch: Scratch,
    values: Vector,
    move: bool,
) -> None:
    """Write all contenders' sampled surrogates and, if `move`, their gradients in theta; scores are in ``path.alpha``.

    Those of scores are taken sixteen at a time.
    """
    m = features.shape[0]
    alpha = path.alpha[: columns.tiled * m].reshape(columns.tiled, m)
    residual = path.residual[: TILE * m].reshape(TILE, m)
    for first in range(0, columns.tiled, TILE):
        for i in range(TILE):
            c = first + i
            if columns.active[c]:
                values[c] = columns.gradients[c](
                    alpha[c],
                    scratch.targets[columns.targets[c]][:m],
                    columns.gradient_params[columns.gradient_bounds[c] : columns.gradient_bounds[c + 1]],
                    residual[i],
                )
        if move:
            np.dot(residual, features, path.gradient[first : first + TILE])
    for g in range(columns.orders.shape[0]):
        _group(features, g, n_q, columns, path, scratch, values, move)


@njit(cache=True, nogil=True, inline="always")
def _average(path: ContenderPath, t: int) -> None:
    """Add the iterates after step t to the totals of the contenders that average them."""
    for c in range(path.unaveraged.shape[0]):
        if t > path.unaveraged[c]:
            for j in range(path.theta.shape[1]):
                path.total[c, j] += path.theta[c, j]


@njit(cache=True, nogil=True)
def _record(columns: ContenderColumns, path: ContenderPath, t: int, at: int) -> None:
    """Note estimate, last and averaged iterate after step t, the recorded one number `at`."""
    seen = min(t, WINDOW)
    for c in range(columns.active.shape[0]):
        if not columns.active[c]:
            continue
        total, square, length = 0.0, 0.0, 0.0
        for back in range(seen):
            total += path.window[(t - back) % WINDOW, c]
        count = t - path.unaveraged[c]
        for j in range(path.theta.shape[1]):
            square += path.theta[c, j] * path.theta[c, j]
            length += abs(path.theta[c, j])
            path.last[at, c, j] = path.theta[c, j]
            path.averaged[at, c, j] = path.total[c, j] / count if count > 0 else path.theta[c, j]
        path.estimates[c, at] = total / seen + 0.5 * columns.l2[c] * square + columns.l1[c] * length


@njit(cache=True, nogil=True)
def advance(
    x: Matrix,
    judged: Judged,
    table: TargetTable,
    columns: ContenderColumns,
    path: ContenderPath,
    seed: SeedState,
    first: int,
    last: int,
    longest: Rows,
    scratch: Scratch,
    sums: Sums,
) -> None:
    """Run steps `first` to `last` of the stream for all contenders (there may be none).

    Parameters
    ----------
    x : ndarray of float64, shape (N, d)
        Features of all items.
    judged, table : Judged, TargetTable
    columns, path : ContenderColumns, Path
    seed : ndarray of uint64, shape (4,)
    first, last : int
        Steps, from 1; none of `path.record` is before `first`.
    longest : ndarray of int64, shape (Q,)
        Judgments that a sample of each query needs.
    scratch : Scratch
    sums : Sums
        Targets are summed on the way.
    """
    judged, table, columns, path = uncounted(judged), uncounted(table), uncounted(columns), uncounted(path)
    scratch, sums = uncounted(scratch), uncounted(sums)
    (x,) = uncounted((x,))
    at = 0
    for t in range(first, last + 1):
        q = draw_sample(judged, seed, t, longest, scratch, -1)
        fetch_sums(judged, q, sums)
        fill_targets(judged, table, q, scratch, x)
        add_targets(judged, q, scratch, sums)
        features = x[judged.items[q] : judged.items[q + 1]]
        _score(features, columns, path)
        n_q = judged.offsets[q + 1] - judged.offsets[q]
        _surrogates(features, n_q, columns, path, scratch, path.window[t % WINDOW], True)
        for run in range(columns.runs.shape[0]):
            low, high = columns.runs[run]
            columns.steps[run](
                path.theta[low:high], path.gradient[low:high], t, columns.step_params[low:high], path.state[low:high]
            )
        _average(path, t)
        if at < path.record.shape[0] and path.record[at] == t:
            _record(columns, path, t, at)
            at += 1


@njit(cache=True, nogil=True)
def evaluate_fresh(
    x: Matrix,
    judged: Judged,
    table: TargetTable,
    columns: ContenderColumns,
    path: ContenderPath,
    seed: SeedState,
    first: int,
    last: int,
    longest: Rows,
    scratch: Scratch,
    means: Vector,
) -> None:
    """Average the sampled surrogates of the present ``theta`` over fresh steps of the stream.

    Parameters
    ----------
    means : ndarray of float64, shape (C,)
        Set to the mean over steps `first` to `last`, without the penalty.
    """
    judged, table, columns, path = uncounted(judged), uncounted(table), uncounted(columns), uncounted(path)
    scratch = uncounted(scratch)
    (x,) = uncounted((x,))
    means[:] = 0.0
    values = np.zeros(means.shape[0])
    # No iterate moves: a query's items are scored once for all its steps, which follow one another.
    scored = -1
    for t in steps_by_query(judged.offsets, seed, first, last):
        q = draw_sample(judged, seed, t, longest, scratch, -1)
        fill_targets(judged, table, q, scratch, x[:0])
        features = x[judged.items[q] : judged.items[q + 1]]
        if q != scored:
            _score(features, columns, path)
            scored = q
        n_q = judged.offsets[q + 1] - judged.offsets[q]
        _surrogates(features, n_q, columns, path, scratch, values, False)
        for c in range(values.shape[0]):
            means[c] += values[c]
    means /= last - first + 1
