"""The lockstep loop: all stochastic contenders of a block advance on the same draws.

The features of the drawn query are read once; scores and gradients of sixteen contenders
are one matrix product each. BLAS rounds differently for different numbers of columns, so
products always have the full tile, padded with contenders that do nothing: what a
contender gets does not depend on how many run beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.kernels import AGGREGATE, EDGES, GRADIENT, PHI, STEP, TARGET
from rankbench.runner.kernels.sampling import Judged
from rankbench.runner.kernels.targets import Scratch, TargetTable, add_targets, draw_sample, fill_targets

__all__ = [
    "EDGE",
    "IDLE",
    "SCORE",
    "TILE",
    "WINDOW",
    "Columns",
    "Path",
    "advance",
    "evaluate_fresh",
    "idle_aggregate",
    "idle_edges",
    "idle_gradient",
    "idle_phi",
    "idle_step",
    "idle_target",
]

TILE = 16
"""Contenders in one matrix product."""

WINDOW = 100
"""Sampled losses in the paper's moving average (figure 2)."""

IDLE, SCORE, EDGE = 0, 1, 2
"""Kinds of columns: padding, score surrogate, pairwise surrogate."""


class Columns(NamedTuple):
    """The contenders, padded to whole tiles: C is a multiple of sixteen.

    Attributes
    ----------
    kinds : ndarray of int64, shape (C,)
    targets : ndarray of int64, shape (C,)
        Row of the target table (score columns).
    orders : ndarray of int64, shape (C,)
        k of the edge structure (pairwise columns).
    gradients, edges, phis, dphis, steps : typed lists of C kernels
    gradient_params, ... : ndarray of float64 with bounds of shape (C + 1,)
    l2 : ndarray of float64, shape (C,)
    """

    kinds: Any
    targets: Any
    orders: Any
    gradients: Any
    gradient_params: Any
    gradient_bounds: Any
    edges: Any
    edge_params: Any
    edge_bounds: Any
    phis: Any
    dphis: Any
    phi_params: Any
    phi_bounds: Any
    steps: Any
    step_params: Any
    step_bounds: Any
    l2: Any


class Path(NamedTuple):
    """Where the contenders are, and where they were at the recorded steps.

    Attributes
    ----------
    theta, total : ndarray of float64, shape (C, d)
        Current iterate, and the sum of the iterates so far.
    state : ndarray of float64, shape (C, s)
        Memory of the optimizers.
    window : ndarray of float64, shape (C, 100)
        Last sampled losses.
    record : ndarray of int64, shape (P,)
        Steps after which to record, increasing.
    estimates : ndarray of float64, shape (C, P)
        Moving average of the sampled losses plus the penalty, the paper's estimator.
    last, averaged : ndarray of float64, shape (P, C, d)
    alpha, residual : ndarray of float64, shape (16 * max m_q,)
        Scores of one tile and gradients in them.
    gradient : ndarray of float64, shape (16, d)
    tails, heads : ndarray of int32, shape (longest,)
    edge_weights : ndarray of float64, shape (longest,)
    edge_work : ndarray of float64
    """

    theta: Any
    total: Any
    state: Any
    window: Any
    record: Any
    estimates: Any
    last: Any
    averaged: Any
    alpha: Any
    residual: Any
    gradient: Any
    tails: Any
    heads: Any
    edge_weights: Any
    edge_work: Any


@njit(AGGREGATE, cache=True, nogil=True)
def idle_aggregate(winners, losers, weights, m, params, work, out):  # type: ignore[no-untyped-def]
    """Aggregate nothing: stands for structures that are made from labels."""


@njit(TARGET, cache=True, nogil=True)
def idle_target(scores, params, work, target):  # type: ignore[no-untyped-def]
    """Make no target."""


@njit(GRADIENT, cache=True, nogil=True)
def idle_gradient(alpha, target, params, gradient):  # type: ignore[no-untyped-def]
    """Be worth zero everywhere."""
    return 0.0


@njit(EDGES, cache=True, nogil=True)
def idle_edges(winners, losers, weights, m, params, work, tails, heads, edge_weights):  # type: ignore[no-untyped-def]
    """Make no edge."""
    return 0


@njit(PHI, cache=True, nogil=True)
def idle_phi(margin, params):  # type: ignore[no-untyped-def]
    """Be worth zero everywhere."""
    return 0.0


@njit(STEP, cache=True, nogil=True)
def idle_step(theta, gradient, t, params, state):  # type: ignore[no-untyped-def]
    """Stay."""


@njit(cache=True, nogil=True)
def _scores(x: NDArray[np.float64], low: int, m: int, tile: int, path: Path) -> NDArray[np.float64]:
    """Return alpha, shape (16, m): one matrix product for the whole tile."""
    alpha = path.alpha[: TILE * m].reshape(TILE, m)
    np.dot(path.theta[tile : tile + TILE], x[low : low + m].T, alpha)
    return alpha


@njit(cache=True, nogil=True)
def _surrogate(
    judged: Judged,
    columns: Columns,
    c: int,
    q: int,
    alpha: NDArray[np.float64],
    residual: NDArray[np.float64],
    scratch: Scratch,
    path: Path,
) -> float:
    """Write the gradient of column c's surrogate in its scores; return the value."""
    m = alpha.shape[0]
    if columns.kinds[c] == SCORE:
        value: float = columns.gradients[c](
            alpha,
            scratch.targets[columns.targets[c]][:m],
            columns.gradient_params[columns.gradient_bounds[c] : columns.gradient_bounds[c + 1]],
            residual,
        )
        return value
    residual[:] = 0.0
    k = min(columns.orders[c], judged.offsets[q + 1] - judged.offsets[q])
    count = columns.edges[c](
        scratch.winners[:k],
        scratch.losers[:k],
        scratch.weights[:k],
        m,
        columns.edge_params[columns.edge_bounds[c] : columns.edge_bounds[c + 1]],
        path.edge_work,
        path.tails,
        path.heads,
        path.edge_weights,
    )
    params = columns.phi_params[columns.phi_bounds[c] : columns.phi_bounds[c + 1]]
    total = 0.0
    for e in range(count):
        i, j, weight = path.tails[e], path.heads[e], path.edge_weights[e]
        margin = alpha[i] - alpha[j]
        total += weight * columns.phis[c](margin, params)
        slope = weight * columns.dphis[c](margin, params)
        residual[i] += slope
        residual[j] -= slope
    return total


@njit(cache=True, nogil=True)
def advance(
    x: NDArray[np.float64],
    judged: Judged,
    table: TargetTable,
    columns: Columns,
    path: Path,
    seed: NDArray[np.uint64],
    first: int,
    last: int,
    longest: int,
    scratch: Scratch,
    sums: NDArray[np.float64],
    draws: NDArray[np.int64],
) -> None:
    """Run steps `first` to `last` of the stream for all contenders (there may be none).

    Parameters
    ----------
    x : ndarray of float64, shape (N, d)
        Features of all items.
    judged, table : Judged, TargetTable
    columns, path : Columns, Path
    seed : ndarray of uint64, shape (4,)
    first, last : int
        Steps, from 1.
    longest : int
        Largest finite order of any contender.
    scratch : Scratch
    sums, draws : ndarray
        Targets are summed on the way, see `add_targets`.
    """
    for t in range(first, last + 1):
        q = draw_sample(judged, seed, t, longest, scratch, -1)
        fill_targets(judged, table, q, scratch)
        add_targets(judged, q, scratch, sums, draws)
        low = judged.items[q]
        m = judged.items[q + 1] - low
        for tile in range(0, columns.kinds.shape[0], TILE):
            alpha = _scores(x, low, m, tile, path)
            residual = path.residual[: TILE * m].reshape(TILE, m)
            for i in range(TILE):
                c = tile + i
                if columns.kinds[c] != IDLE:
                    path.window[c, t % WINDOW] = _surrogate(
                        judged, columns, c, q, alpha[i], residual[i], scratch, path
                    )
            np.dot(residual, x[low : low + m], path.gradient)
            for i in range(TILE):
                c = tile + i
                if columns.kinds[c] != IDLE:
                    columns.steps[c](
                        path.theta[c],
                        path.gradient[i],
                        t,
                        columns.step_params[columns.step_bounds[c] : columns.step_bounds[c + 1]],
                        path.state[c],
                    )
                    for j in range(path.theta.shape[1]):
                        path.total[c, j] += path.theta[c, j]
        _record(columns, path, t)


@njit(cache=True, nogil=True)
def _record(columns: Columns, path: Path, t: int) -> None:
    """Note estimate, last and averaged iterate if t is one of the recorded steps."""
    at = np.searchsorted(path.record, t)
    if at == path.record.shape[0] or path.record[at] != t:
        return
    seen = min(t, WINDOW)
    for c in range(columns.kinds.shape[0]):
        if columns.kinds[c] == IDLE:
            continue
        total, square = 0.0, 0.0
        for back in range(seen):
            total += path.window[c, (t - back) % WINDOW]
        for j in range(path.theta.shape[1]):
            square += path.theta[c, j] * path.theta[c, j]
            path.last[at, c, j] = path.theta[c, j]
            path.averaged[at, c, j] = path.total[c, j] / t
        path.estimates[c, at] = total / seen + 0.5 * columns.l2[c] * square


@njit(cache=True, nogil=True)
def evaluate_fresh(
    x: NDArray[np.float64],
    judged: Judged,
    table: TargetTable,
    columns: Columns,
    path: Path,
    seed: NDArray[np.uint64],
    first: int,
    last: int,
    longest: int,
    scratch: Scratch,
    means: NDArray[np.float64],
) -> None:
    """Average the sampled surrogates of the present ``theta`` over fresh steps of the stream.

    Parameters
    ----------
    means : ndarray of float64, shape (C,)
        Set to the mean over steps `first` to `last`, without the penalty.
    """
    means[:] = 0.0
    for t in range(first, last + 1):
        q = draw_sample(judged, seed, t, longest, scratch, -1)
        fill_targets(judged, table, q, scratch)
        low = judged.items[q]
        m = judged.items[q + 1] - low
        for tile in range(0, columns.kinds.shape[0], TILE):
            alpha = _scores(x, low, m, tile, path)
            residual = path.residual[: TILE * m].reshape(TILE, m)
            for i in range(TILE):
                c = tile + i
                if columns.kinds[c] != IDLE:
                    means[c] += _surrogate(judged, columns, c, q, alpha[i], residual[i], scratch, path)
    means /= last - first + 1
