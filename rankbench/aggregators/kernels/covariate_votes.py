r"""Kernels compute the likelihood of votes with covariates and its derivatives.

A row's margin is :math:`d = s_i - s_j + x^T \beta`. It says :math:`z = (e_i - e_j, x)` times its slope, and in
Davidson's model something of :math:`\eta = \log \nu`. Information is a sum of :math:`w z z^T`: by pair for two items
(`edge`), by item for an item and a covariate (`cross`). What is a product with covariates is left to
`rankbench.aggregators.kernels.covariate_votes`, which gets the slope and the weight w of each row.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import Matrix, ReadIndex, ReadMatrix, ReadVector, Vector, declared

_TYPES = [types.Array(dtype, 2, "C") for dtype in (types.float32, types.float64)]
_READ_TYPES = [each.copy(readonly=True) for each in _TYPES]
Products = Annotated[NDArray[np.floating], *_TYPES]
CovariateValues = Annotated[NDArray[np.floating], *_READ_TYPES]
RowNumber = Annotated[int, types.uint64]


class RowFit(NamedTuple):
    """Rows of votes, and the fit that gives them margins; arrays are read-only.

    Attributes
    ----------
    first, second, outcomes, x
        See `rankbench.interfaces.covariate_aggregator.CovariateVotes`.
    scores, effects : ndarray of float64, shapes (m,), (p,)
    eta : float
        Of Davidson's model.
    tied : bool
        Whether the model is Davidson's.
    """

    first: ReadIndex
    second: ReadIndex
    outcomes: ReadMatrix
    x: CovariateValues
    scores: ReadVector
    effects: ReadVector
    eta: float
    tied: bool


class MatrixBlocks(NamedTuple):
    """A matrix of all unknowns, read-only: of items, of items and others, of others; of shapes (0, 0): none."""

    items: ReadMatrix
    across: ReadMatrix
    others: ReadMatrix


class RowParts(NamedTuple):
    """Slopes and information of each row of a block by itself.

    Attributes
    ----------
    pull, weight, beside : ndarray of float64, shape (rows,)
        By the row's margin: slope, information, and information with log nu, of Davidson's model.
    """

    pull: Vector
    weight: Vector
    beside: Vector


# A sum of products in any order is one of many numbers at a time.
@declared(fastmath={"reassoc", "contract"})
def product_of_row(x: CovariateValues, r: RowNumber, effects: ReadVector) -> float:
    """Return the product of a row with effects."""
    product = 0.0
    for a in range(np.uint64(len(effects))):
        product += x[r, a] * effects[a]
    return product


@declared()
def add_products(x: CovariateValues, begin: int, end: int, factor: ReadVector, out: Vector) -> None:
    """Add the sum of rows ``begin:end`` times their factors, (end - begin,), to the first p numbers of `out`."""
    p, fours = np.uint64(x.shape[1]), begin + (end - begin) // 4 * 4
    for row in range(begin, fours, 4):
        r, k = np.uint64(row), np.uint64(row - begin)
        one, two, three, four = factor[k], factor[k + np.uint64(1)], factor[k + np.uint64(2)], factor[k + np.uint64(3)]
        for a in range(p):
            out[a] += (one * x[r, a] + two * x[r + np.uint64(1), a]) + (
                three * x[r + np.uint64(2), a] + four * x[r + np.uint64(3), a]
            )
    for row in range(fours, end):
        for a in range(p):
            out[a] += factor[row - begin] * x[row, a]


@declared()
def add_across(
    first: ReadIndex,
    second: ReadIndex,
    pair: ReadIndex,
    x: CovariateValues,
    begin: int,
    end: int,
    weight: ReadVector,
    beside: ReadVector,
    edge: Vector,
    cross: Matrix,
    scaled: Products,
) -> None:
    """Add weights of rows ``begin:end`` to pairs, weighted rows to first items, and subtract them from second ones.

    Parameters
    ----------
    pair : ndarray of int32, shape (R,)
        Number of each row's pair.
    weight, beside : ndarray of float64, shape (end - begin,)
        0 or more; the weight of eta, where it is the last unknown.
    edge, cross : ndarray of float64, shapes (P,), (m, q)
    scaled : ndarray of float32 or float64, shape (end - begin, p)
        Written: rows times the roots of their weights, whose products are the information on two covariates.
    """
    # Numbers without a sign are no places from the end, of which there would be a check each.
    p = np.uint64(x.shape[1])
    for row in range(begin, end):
        edge[np.uint64(pair[np.uint64(row)])] += weight[np.uint64(row - begin)]
    if cross.shape[1] > x.shape[1]:
        for row in range(begin, end):
            cross[first[row], p] += beside[row - begin]
            cross[second[row], p] -= beside[row - begin]
    for row in range(begin, end):
        r, k = np.uint64(row), np.uint64(row - begin)
        i, j = np.uint64(first[r]), np.uint64(second[r])
        w = weight[k]
        root = math.sqrt(w)
        for a in range(p):
            along = w * x[r, a]
            cross[i, a] += along
            cross[j, a] -= along
            scaled[k, a] = root * x[r, a]


_PRODUCT = 1e300

_TERMS = 24
_ENOUGH = 1e-6


@declared()
def outcome_chances(d: float, eta: float, tied: bool) -> tuple[float, float, float, float, float]:
    """Return the chances of a win, of a loss and of a tie at a margin, and t and u: their denominator is u exp(t)."""
    half = abs(d) / 2
    if not tied:
        less = math.exp(-2 * half)
        total = 1 + less
        # Not by an `if`: every other guess of it would be wrong, which takes as long as all else.
        first = np.float64(d > 0)
        less /= total
        apart = 1 / total - less
        return less + first * apart, less + (1 - first) * apart, 0.0, half, total
    top = max(half, eta)
    up, down, even = math.exp(d / 2 - top), math.exp(-d / 2 - top), math.exp(eta - top)
    total = up + down + even
    return up / total, down / total, even / total, top, total


@declared()
def spread_of_row(i: int, j: int, r: int, x: CovariateValues, sigma: MatrixBlocks, work: Vector) -> tuple[float, float]:
    """Return the variance of a row's margin under a covariance, and its covariance with eta."""
    items, across, inner = sigma
    p = x.shape[1]
    spread = items[i, i] + items[j, j] - 2 * items[i, j]
    # Sums along rows of `inner`, not dot products with them: those are not vectorized.
    for b in range(p):
        work[b] = 2 * (across[i, b] - across[j, b])
    for a in range(p):
        value = np.float64(x[r, a])
        for b in range(p):
            work[b] += inner[a, b] * value
    for b in range(p):
        spread += work[b] * x[r, b]
    gap = 0.0
    if across.shape[1] > p:
        gap = across[i, p] - across[j, p]
        for a in range(p):
            gap += inner[a, p] * x[r, a]
    return max(spread, 0.0), gap


@declared()
def pseudo_votes(
    c: int, n: float, chances: tuple[float, float, float], tied: bool, spread: float, gap: float, rest: float
) -> tuple[float, float, float]:
    r"""Return the pseudo-votes of Firth's penalty for outcome c of n votes, and its slopes by margin and by eta.

    They are half of :math:`n P_c u_c^T \Sigma u_c`, with :math:`\Sigma` the covariance of margin and eta; without ties
    both outcomes have as many.
    """
    up, down, level = chances
    by_lead = (0.5 if c == 0 else -0.5 if c == 1 else 0.0) - (up - down) / 2
    if not tied:
        return (n * up * down * spread / 2 if c < 2 else 0.0), by_lead, 0.0
    by_tie = (1.0 if c == 2 else 0.0) - level
    chance = up if c == 0 else down if c == 1 else level
    form = by_lead * by_lead * spread + 2 * by_lead * by_tie * gap + by_tie * by_tie * rest
    return n * chance * form / 2, by_lead, by_tie


@declared()
def learn_rows(
    fit: RowFit,
    sigma: MatrixBlocks,
    padded: bool,
    begin: int,
    end: int,
    item_slope: Vector,
    slope: Vector,
    last: Vector,
    out: RowParts,
) -> float:
    """Add slopes of rows ``begin:end`` by items and by eta; return their log-likelihood.

    Parameters
    ----------
    fit : RowFit
    sigma : MatrixBlocks
        Inverse information, for Firth's pseudo-votes.
    padded : bool
        Whether pseudo-votes count as information.
    item_slope, slope, last : ndarray of float64, shapes (m,), (q,), (q,)
        Sums; `last` is the information on eta, if there is one.
    out : RowParts
        Written: see `add_products` and `add_across`.
    """
    first, second, outcomes, x, scores, effects, eta, tied = fit
    pull, weight, beside = out
    p, value, product = x.shape[1], 0.0, 1.0
    work = np.empty(max(p, 1))
    # Three loops: in a single one, random reads wait for mispredicted branches.
    for r in range(begin, end):
        pull[r - begin] = scores[first[r]] - scores[second[r]] + product_of_row(x, r, effects)
    for r in range(begin, end):
        d = pull[r - begin]
        won, lost, even = outcomes[r, 0], outcomes[r, 1], outcomes[r, 2]
        if not tied:
            won, lost, even = won + even / 2, lost + even / 2, 0.0
        n = won + lost + even
        up, down, level, top, total = outcome_chances(d, eta, tied)
        value += (won - lost) * d / 2 - n * top
        if n == 1.0:
            # One logarithm of the product of many, each 3 at most.
            product *= total
            if product > _PRODUCT:
                value -= math.log(product)
                product = 1.0
        else:
            value -= n * math.log(total)
        mean = (up - down) / 2
        bend = up * down if not tied else (up + down - (up - down) * (up - down)) / 4
        # Of outcomes both ways: where one side always wins, a difference would lose all digits.
        g = won * down - lost * up + even * (down - up) / 2 + level * (won - lost) / 2
        more = 0.0
        if len(sigma.items):
            spread, gap = spread_of_row(first[r], second[r], r, x, sigma, work)
            rest = float(sigma.others[p, p]) if tied else 0.0
            for c in range(3 if tied else 2):
                pseudo, by_lead, by_tie = pseudo_votes(c, n, (up, down, level), tied, spread, gap, rest)
                more += pseudo
                g += pseudo * by_lead
                if tied:
                    slope[p] += pseudo * by_tie
        count = n + more if padded else n
        pull[r - begin], weight[r - begin] = g, count * bend
        if tied:
            value += even * eta
            slope[p] += even * (up + down) - (won + lost) * level
            beside[r - begin] = -count * level * mean
            last[p] += count * level * (up + down)
    # Numbers without a sign are no places from the end, of which there would be a check each.
    for row in range(begin, end):
        at, k = np.uint64(row), np.uint64(row - begin)
        item_slope[np.uint64(first[at])] += pull[k]
        item_slope[np.uint64(second[at])] -= pull[k]
    return value - math.log(product)


@declared()
def middle_rows(
    fit: RowFit,
    sigma: MatrixBlocks,
    bread: MatrixBlocks,
    pseudo_alone: bool,
    squared: bool,
    firth: bool,
    begin: int,
    end: int,
    last: Vector,
    out: RowParts,
) -> None:
    """Sum outer products of leverage-corrected score contributions of single votes, and of pseudo-votes.

    Parameters
    ----------
    pseudo_alone : bool
        Whether votes are left out.
    squared : bool
        Whether a row is a vote of any weight.
    firth : bool
        Whether there are pseudo-votes, by `sigma`.

    Other parameters as for `learn_rows`; `bread` is the covariance for the votes' leverage.
    """
    first, second, outcomes, x, scores, effects, eta, tied = fit
    _, weight, beside = out
    p = x.shape[1]
    work = np.empty(max(p, 1))
    for r in range(begin, end):
        i, j = first[r], second[r]
        d = scores[i] - scores[j] + product_of_row(x, r, effects)
        n = outcomes[r, 0] + outcomes[r, 1] + outcomes[r, 2]
        up, down, level, _, _ = outcome_chances(d, eta, tied)
        mean = (up - down) / 2
        bend = up * down if not tied else (up + down - (up - down) * (up - down)) / 4
        bend_both, bend_eta = -level * mean, level * (up + down)
        spread = gap = rest = own = own_gap = own_rest = 0.0
        if firth:
            spread, gap = spread_of_row(i, j, r, x, sigma, work)
            rest = float(sigma.others[p, p]) if tied else 0.0
        if not pseudo_alone:
            own, own_gap = spread_of_row(i, j, r, x, bread, work)
            own_rest = float(bread.others[p, p]) if tied else 0.0
        one = n if squared else 1.0
        w = both = of_eta = 0.0
        for c in range(3):
            pseudo, by_lead, by_tie = pseudo_votes(c, n, (up, down, level), tied, spread, gap, rest)
            w += pseudo * by_lead * by_lead
            both += pseudo * by_lead * by_tie
            of_eta += pseudo * by_tie * by_tie
            if pseudo_alone or outcomes[r, c] == 0:
                continue
            u, v, au, av, share = by_lead, by_tie, by_lead, by_tie, 1.0
            for term in range(1, _TERMS + 1):
                y, z = own * au + own_gap * av, own_gap * au + own_rest * av
                au, av = one * (bend * y + bend_both * z), one * (bend_both * y + bend_eta * z)
                share *= (2 * term - 1) / (2 * term)
                u += share * au
                v += share * av
                if share * abs(au) <= _ENOUGH * abs(by_lead):
                    break
            count = outcomes[r, c] * outcomes[r, c] if squared else outcomes[r, c]
            w += count * u * u
            both += count * u * v
            of_eta += count * v * v
        weight[r - begin] = w
        if tied:
            beside[r - begin] = both
            last[p] += of_eta
