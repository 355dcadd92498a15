"""Kernels fit Bradley-Terry scores again to resampled counts, and sum what votes say by cluster.

References
----------
.. [BM02] R. M. Bell and D. F. McCaffrey. Bias reduction in standard errors for linear regression with
   multi-stage samples. Survey Methodology 28(2), 2002.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.aggregators.kernels.covariate_votes import RowFit, outcome_chances, product_of_row
from rankbench.aggregators.kernels.likelihood import AT_MAXIMUM, NEWTON_WORK, item_sums, newton
from rankbench.kernels.declared import Matrix, ReadIndex, ReadMatrix, ReadRows, ReadVector, declared

ReadSums = Annotated[NDArray[np.float64], types.Array(types.float64, 3, "C", readonly=True)]


@declared()
def _one_scale_each(
    starts: ReadRows, high: ReadIndex, forward: ReadVector, backward: ReadVector, scale: ReadIndex, scales: int
) -> bool:
    """Return whether every scale is still strongly connected: from its first item there and back."""
    m = len(scale)
    for way in range(2):
        there, back = (forward, backward) if way == 0 else (backward, forward)
        reached = np.zeros(m, dtype=np.bool_)
        begun = np.zeros(scales, dtype=np.bool_)
        for i in range(m):
            if not begun[scale[i]]:
                begun[scale[i]] = True
                reached[i] = True
        changed = True
        while changed:
            changed = False
            for i in range(m):
                for e in range(starts[i], starts[i + 1]):
                    j = high[e]
                    if reached[i] and not reached[j] and there[e] > 0.0:
                        reached[j] = True
                        changed = True
                    elif reached[j] and not reached[i] and back[e] > 0.0:
                        reached[i] = True
                        changed = True
        # A loop: numba's form of `all` brings half of numba with it into every process, a sixth of a second.
        for i in range(m):
            if not reached[i]:
                return False
    return True


@declared()
def refit(
    sums: ReadSums,
    places: ReadRows,
    starts: ReadRows,
    high: ReadIndex,
    padding: ReadVector,
    ridge: float,
    scale: ReadIndex,
    sizes: ReadVector,
    center: ReadVector,
    tolerance: float,
    out: Matrix,
) -> None:
    """Write the scores of each resample, ``out[r]``, (m,); nan where they do not exist.

    Parameters
    ----------
    sums : ndarray of float64, shape (R, 3, P)
        See `rankbench.interfaces.resamples.Resamples.batches`.
    places : ndarray of int64, shape (P,)
        Index of each of their pairs in `high`; beyond the last one for pairs without votes.
    starts, high : ndarray
        The pairs to sum over.
    padding : ndarray of float64, shape (P,)
        Pseudo-votes that both items of each of these pairs have won besides.
    scale, sizes : ndarray
        Scale of every item, number of items of every scale.
    center : ndarray of float64, shape (m,)
        Where to start.
    """
    m, pairs = len(center), len(high)
    # One more than there are pairs, for what says nothing.
    forward, backward, judged = np.zeros(pairs + 1), np.zeros(pairs + 1), np.zeros(pairs + 1)
    won, lost, gradient, step, curvature = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(pairs)
    work = np.empty(NEWTON_WORK * m + pairs)
    for r in range(len(sums)):
        for p in range(len(places)):
            e = places[p]
            forward[e] = sums[r, 0, p] + 0.5 * sums[r, 2, p]
            backward[e] = sums[r, 1, p] + 0.5 * sums[r, 2, p]
            judged[e] = forward[e] + backward[e]
        for e in range(pairs):
            if padding[e] > 0.0:
                forward[e] += padding[e]
                backward[e] += padding[e]
                judged[e] = forward[e] + backward[e]
        for i in range(m):
            out[r, i] = center[i]
        if ridge > 0.0 or _one_scale_each(starts, high, forward, backward, scale, len(sizes)):
            won[:] = 0.0
            lost[:] = 0.0
            item_sums(starts, high, forward, backward, won, lost)
            status, _, _ = newton(
                starts, high, judged[:pairs], won, lost, ridge, scale, sizes, 10 * m, tolerance, False, out[r],
                gradient, curvature, step, work,
            )  # fmt: skip
            if status == AT_MAXIMUM:
                continue
        out[r] = np.nan


_FEW = 16
"""A cluster about fewer than a quarter of the items (1 / sqrt 16) is added to the table by itself."""


@declared()
def add_clusters(
    first: int,
    starts: ReadRows,
    cells: ReadIndex,
    weights: ReadVector,
    low: ReadIndex,
    high: ReadIndex,
    slope: ReadMatrix,
    extra: ReadMatrix,
    bend: ReadVector,
    cross: ReadVector,
    bend_extra: ReadVector,
    inverse: ReadMatrix,
    m: int,
    terms: int,
    enough: float,
    rows: Matrix,
    meat: Matrix,
) -> tuple[int, int]:
    """Add the clusters' terms to the middle of a sandwich, until rows run out for clusters on many items.

    With S the inverse and I_g the information of a cluster, ``(I - I_g S)^(-1/2) u_g`` is the sum of the terms
    ``c_t (I_g S)^t u_g`` with c_t = 1, 1/2, 3/8, ...: each takes the cluster's votes once, and the part of S that is
    about its items.

    Parameters
    ----------
    first : int
        Cluster to begin with.
    starts, cells, weights : ndarray
        As `rankbench.interfaces.pair_counts.ClusterCounts` has them.
    low, high : ndarray of int32, shape (P,)
    slope, extra : ndarray of float64, shape (3, P)
    bend, cross, bend_extra : ndarray of float64, shape (P,)
        As `rankbench.aggregators.likelihood.covariance.ScoreContributions` has them.
    inverse : ndarray of float64, shape (d, d)
        d = m, or m + 1 with one more parameter.
    m, terms : int
        Items; most terms.
    enough : float
        Relative size of the last term.
    rows : ndarray of float64, shape (R, d)
        Zeros on entry; on return a row for each cluster that was not added by itself.
    meat : ndarray of float64, shape (d, d)
        Added to.

    Returns
    -------
    next, filled : int
        Cluster to go on with; rows that were filled.
    """
    d, filled = len(inverse), 0
    place, items = np.full(d, -1, np.int64), np.empty(d, np.int64)
    u, power, ahead = np.empty(d), np.empty(d), np.empty(d)
    for g in range(first, len(starts) - 1):
        if filled == len(rows):
            return g, filled
        begin, end = starts[g], starts[g + 1]
        k = 0
        for e in range(begin, end):
            pair = cells[e] // 3
            for i in (low[pair], high[pair]):
                if place[i] < 0:
                    place[i] = k
                    items[k] = i
                    k += 1
        if d > m:
            items[k] = m
            k += 1
        for a in range(k):
            u[a] = 0.0
        for e in range(begin, end):
            pair, outcome = cells[e] // 3, cells[e] % 3
            said = weights[e] * slope[outcome, pair]
            u[place[low[pair]]] += said
            u[place[high[pair]]] -= said
            if d > m:
                u[k - 1] += weights[e] * extra[outcome, pair]
        size = 0.0
        for a in range(k):
            power[a] = u[a]
            size = max(size, abs(u[a]))
        share = 1.0
        for term in range(1, terms + 1):
            for a in range(k):
                total = 0.0
                for b in range(k):
                    total += inverse[items[a], items[b]] * power[b]
                ahead[a] = total
            for a in range(k):
                power[a] = 0.0
            for e in range(begin, end):
                pair, weight = cells[e] // 3, weights[e]
                i, j = place[low[pair]], place[high[pair]]
                lead = ahead[i] - ahead[j]
                more = bend[pair] * lead
                if d > m:
                    more += cross[pair] * ahead[k - 1]
                    power[k - 1] += weight * (cross[pair] * lead + bend_extra[pair] * ahead[k - 1])
                power[i] += weight * more
                power[j] -= weight * more
            share *= (2.0 * term - 1.0) / (2.0 * term)
            change = 0.0
            for a in range(k):
                u[a] += share * power[a]
                change = max(change, share * abs(power[a]))
            if change <= enough * size:
                break
        if _FEW * k * k < d * d:
            for a in range(k):
                for b in range(k):
                    meat[items[a], items[b]] += u[a] * u[b]
        else:
            for a in range(k):
                rows[filled, items[a]] = u[a]
            filled += 1
        for a in range(k):
            place[items[a]] = -1
    return len(starts) - 1, filled


@declared()
def add_slopes(fit: RowFit, rows: ReadRows, starts: ReadRows, begin: int, end: int, out: Matrix) -> None:
    """Add to row g of `out` the slopes of cluster ``begin + g``, of rows ``rows[starts[g]:starts[g + 1]]``."""
    first, second, outcomes, x, scores, effects, eta, tied = fit
    p, m = x.shape[1], len(scores)
    for g in range(begin, end):
        said = out[g - begin]
        for at in range(starts[g], starts[g + 1]):
            r = rows[at]
            i, j = first[r], second[r]
            d = scores[i] - scores[j] + product_of_row(x, r, effects)
            won, lost, even = outcomes[r, 0], outcomes[r, 1], outcomes[r, 2]
            up, down, level, _, _ = outcome_chances(d, eta, tied)
            s = won * down - lost * up + even * (down - up) / 2 + level * (won - lost) / 2
            said[i] += s
            said[j] -= s
            for a in range(p):
                said[m + a] += s * x[r, a]
            if tied:
                said[m + p] += even * (up + down) - (won + lost) * level


@declared()
def add_information(
    fit: RowFit, rows: ReadRows, starts: ReadRows, begin: int, end: int, along: ReadMatrix, out: Matrix
) -> None:
    """Add to row g of `out` the information of cluster ``begin + g`` times row g of `along`."""
    first, second, outcomes, x, scores, effects, eta, tied = fit
    p, m = x.shape[1], len(scores)
    for g in range(begin, end):
        found, given = out[g - begin], along[g - begin]
        for at in range(starts[g], starts[g + 1]):
            r = rows[at]
            i, j = first[r], second[r]
            d = scores[i] - scores[j] + product_of_row(x, r, effects)
            y = given[i] - given[j] + product_of_row(x, r, given[m : m + p])
            n = outcomes[r, 0] + outcomes[r, 1] + outcomes[r, 2]
            up, down, level, _, _ = outcome_chances(d, eta, tied)
            if tied:
                mean, z = (up - down) / 2, given[m + p]
                bend, beside = (up + down - (up - down) * (up - down)) / 4, -level * mean
                s = n * (bend * y + beside * z)
                found[m + p] += n * (beside * y + level * (up + down) * z)
            else:
                s = n * up * down * y
            found[i] += s
            found[j] -= s
            for a in range(p):
                found[m + a] += s * x[r, a]
