r"""What votes with covariates say near a fit: sums over rows of slopes and curvatures of their likelihood.

A row's margin is :math:`d = s_i - s_j + x^T \beta`. It says :math:`z = (e_i - e_j, x)` times its slope, and in
Davidson's model something of :math:`\eta = \log \nu`. Information is a sum of :math:`w z z^T`: by pair for two items
(`edge`), by item for an item and a covariate (`cross`); of two covariates it is a dense product, for which the
caller gets the weight w of each row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["add_information", "add_slopes", "learn_rows", "middle_rows"]

_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_CELLS = types.Array(types.float64, 2, "C", readonly=True)
_READ = types.Array(types.float64, 1, "C", readonly=True)
_TABLE = types.float64[:, ::1]
_OUT = types.float64[::1]
_VALUES = [types.Array(dtype, 2, "C", readonly=True) for dtype in (types.float32, types.float64)]

_PAIR: Any = types.Tuple((types.float64, types.float64))  # type: ignore[no-untyped-call]

_TERMS = 24
_ENOUGH = 1e-6


@declared("UniTuple(float64, 4)(float64, float64, boolean)")
def outcome_chances(d: float, eta: float, tied: bool) -> tuple[float, float, float, float]:
    """Return the chances of a win, of a loss and of a tie at a margin, and the log of their common denominator."""
    half = d / 2
    top = abs(half)
    if tied and eta > top:
        top = eta
    up, down = math.exp(half - top), math.exp(-half - top)
    even = math.exp(eta - top) if tied else 0.0
    total = up + down + even
    return up / total, down / total, even / total, top + math.log(total)


@declared(*[types.float64(values, types.int64, _READ) for values in _VALUES])
def product_of_row(x: NDArray[np.floating], r: int, effects: NDArray[np.float64]) -> float:
    """Return the product of a row with effects, in four sums that do not wait for one another."""
    p = len(effects)
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    whole = p - p % 4
    for a in range(0, whole, 4):
        one += x[r, a] * effects[a]
        two += x[r, a + 1] * effects[a + 1]
        three += x[r, a + 2] * effects[a + 2]
        four += x[r, a + 3] * effects[a + 3]
    for a in range(whole, p):
        one += x[r, a] * effects[a]
    return (one + two) + (three + four)


@declared(*[_PAIR(types.int64, types.int64, types.int64, values, _CELLS, _CELLS, _CELLS, _OUT) for values in _VALUES])
def spread_of_row(
    i: int,
    j: int,
    r: int,
    x: NDArray[np.floating],
    sigma: NDArray[np.float64],
    across: NDArray[np.float64],
    inner: NDArray[np.float64],
    work: NDArray[np.float64],
) -> tuple[float, float]:
    """Return the variance of a row's margin under a covariance, and its covariance with what comes behind."""
    p = x.shape[1]
    spread = sigma[i, i] + sigma[j, j] - 2 * sigma[i, j]
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


@declared(
    *[
        types.float64(
            _INDEX, _INDEX, _INDEX, _CELLS, values, _READ, _READ, types.float64, types.boolean, _CELLS, _CELLS, _CELLS,
            types.boolean, types.int64, types.int64, _OUT, _OUT, _OUT, _TABLE, _OUT, _OUT,
        )
        for values in _VALUES
    ]
)  # fmt: skip
def learn_rows(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    pair: NDArray[np.int32],
    outcomes: NDArray[np.float64],
    x: NDArray[np.floating],
    scores: NDArray[np.float64],
    effects: NDArray[np.float64],
    eta: float,
    tied: bool,
    sigma: NDArray[np.float64],
    across: NDArray[np.float64],
    inner: NDArray[np.float64],
    padded: bool,
    begin: int,
    end: int,
    edge: NDArray[np.float64],
    item_slope: NDArray[np.float64],
    slope: NDArray[np.float64],
    cross: NDArray[np.float64],
    last: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> float:
    """Add slopes and information of rows ``begin:end``, and return their log-likelihood.

    Parameters
    ----------
    first, second, pair, outcomes, x
        Rows: see `rankbench.kinds.covariates.CovariateVotes`; number of each one's pair.
    scores, effects, eta, tied
        The fit; `tied` in Davidson's model.
    sigma, across, inner : ndarray of float64, shapes (m, m), (m, q), (q, q)
        Inverse information, of which Firth's pseudo-votes are made; of shape (0, 0): none.
    padded : bool
        Whether pseudo-votes count as information.
    edge, item_slope, slope, cross, last : ndarray of float64, shapes (P,), (m,), (q,), (m, q), (q,)
        Sums; `last` is the row of eta, if there is one.
    weight : ndarray of float64, shape (end - begin,)
        Written: each row's part of the information.
    """
    p, value = x.shape[1], 0.0
    work = np.empty(max(p, 1))
    for r in range(begin, end):
        i, j = first[r], second[r]
        d = scores[i] - scores[j]
        d += product_of_row(x, r, effects)
        won, lost, even = outcomes[r, 0], outcomes[r, 1], outcomes[r, 2]
        if not tied:
            won, lost, even = won + even / 2, lost + even / 2, 0.0
        n = won + lost + even
        up, down, level, log_total = outcome_chances(d, eta, tied)
        value += (won - lost) * d / 2 - n * log_total
        mean = (up - down) / 2
        bend = up * down if not tied else (up + down - (up - down) * (up - down)) / 4
        # Of what was decided both ways: where one side always wins, a difference would lose all digits.
        g = won * down - lost * up + even * (down - up) / 2 + level * (won - lost) / 2
        more = 0.0
        if len(sigma):
            spread, gap = spread_of_row(i, j, r, x, sigma, across, inner, work)
            if not tied:
                more = n * bend * spread
                g += more * (down - up) / 2
            else:
                rest = inner[p, p]
                for c in range(3):
                    by_lead = (0.5 if c == 0 else -0.5 if c == 1 else 0.0) - mean
                    by_tie = (1.0 if c == 2 else 0.0) - level
                    chance = up if c == 0 else down if c == 1 else level
                    form = by_lead * by_lead * spread + 2 * by_lead * by_tie * gap + by_tie * by_tie * rest
                    pseudo = n * chance * form / 2
                    more += pseudo
                    g += pseudo * by_lead
                    slope[p] += pseudo * by_tie
        count = n + more if padded else n
        w = count * bend
        weight[r - begin] = w
        edge[pair[r]] += w
        item_slope[i] += g
        item_slope[j] -= g
        for a in range(p):
            v = x[r, a]
            slope[a] += g * v
            cross[i, a] += w * v
            cross[j, a] -= w * v
        if tied:
            value += even * eta
            slope[p] += even * (up + down) - (won + lost) * level
            beside = -count * level * mean
            cross[i, p] += beside
            cross[j, p] -= beside
            for a in range(p):
                last[a] += beside * x[r, a]
            last[p] += count * level * (up + down)
    return value


@declared(
    *[
        types.void(
            _INDEX, _INDEX, _INDEX, _CELLS, values, _READ, _READ, types.float64, types.boolean, _CELLS, _CELLS, _CELLS,
            _CELLS, _CELLS, _CELLS, types.boolean, types.boolean, types.boolean, types.int64, types.int64,
            _OUT, _TABLE, _OUT, _OUT,
        )
        for values in _VALUES
    ]
)  # fmt: skip
def middle_rows(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    pair: NDArray[np.int32],
    outcomes: NDArray[np.float64],
    x: NDArray[np.floating],
    scores: NDArray[np.float64],
    effects: NDArray[np.float64],
    eta: float,
    tied: bool,
    sigma: NDArray[np.float64],
    across: NDArray[np.float64],
    inner: NDArray[np.float64],
    bread: NDArray[np.float64],
    bread_across: NDArray[np.float64],
    bread_inner: NDArray[np.float64],
    pseudo_alone: bool,
    squared: bool,
    firth: bool,
    begin: int,
    end: int,
    edge: NDArray[np.float64],
    cross: NDArray[np.float64],
    last: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> None:
    """Add the products of what single votes say, corrected for their pull on the fit, and of what pseudo-votes say.

    Parameters
    ----------
    pseudo_alone : bool
        Whether votes are left out.
    squared : bool
        Whether a row is a vote of any weight.
    firth : bool
        Whether there are pseudo-votes, those of `sigma`.

    The others are those of `learn_rows`; `bread` is the covariance that votes pull at.
    """
    p = x.shape[1]
    work = np.empty(max(p, 1))
    for r in range(begin, end):
        i, j = first[r], second[r]
        d = scores[i] - scores[j]
        for a in range(p):
            d += x[r, a] * effects[a]
        n = outcomes[r, 0] + outcomes[r, 1] + outcomes[r, 2]
        up, down, level, _ = outcome_chances(d, eta, tied)
        mean = (up - down) / 2
        bend = up * down if not tied else (up + down - (up - down) * (up - down)) / 4
        beside, bend_eta = -level * mean, level * (up + down)
        spread = gap = rest = own = own_gap = own_rest = 0.0
        if firth:
            spread, gap = spread_of_row(i, j, r, x, sigma, across, inner, work)
            rest = float(inner[p, p]) if tied else 0.0
        if not pseudo_alone:
            own, own_gap = spread_of_row(i, j, r, x, bread, bread_across, bread_inner, work)
            own_rest = float(bread_inner[p, p]) if tied else 0.0
        one = n if squared else 1.0
        w = both = of_eta = 0.0
        for c in range(3):
            by_lead = (0.5 if c == 0 else -0.5 if c == 1 else 0.0) - mean
            by_tie = (1.0 if c == 2 else 0.0) - level if tied else 0.0
            if firth:
                if tied:
                    chance = up if c == 0 else down if c == 1 else level
                    form = by_lead * by_lead * spread + 2 * by_lead * by_tie * gap + by_tie * by_tie * rest
                    pseudo = n * chance * form / 2
                else:
                    pseudo = n * bend * spread / 2 if c < 2 else 0.0
                w += pseudo * by_lead * by_lead
                both += pseudo * by_lead * by_tie
                of_eta += pseudo * by_tie * by_tie
            if pseudo_alone or outcomes[r, c] == 0:
                continue
            u, v, au, av, share = by_lead, by_tie, by_lead, by_tie, 1.0
            for term in range(1, _TERMS + 1):
                y, z = own * au + own_gap * av, own_gap * au + own_rest * av
                au, av = one * (bend * y + beside * z), one * (beside * y + bend_eta * z)
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
        edge[pair[r]] += w
        for a in range(p):
            along = w * x[r, a]
            cross[i, a] += along
            cross[j, a] -= along
        if tied:
            cross[i, p] += both
            cross[j, p] -= both
            for a in range(p):
                last[a] += both * x[r, a]
            last[p] += of_eta


_CLUSTERED = (_INDEX, _INDEX, _CELLS)


@declared(
    *[
        types.void(
            _INDEX, _INDEX, _CELLS, values, _READ, _READ, types.float64, types.boolean, _ROWS, _ROWS, types.int64,
            types.int64, _TABLE,
        )
        for values in _VALUES
    ]
)  # fmt: skip
def add_slopes(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    outcomes: NDArray[np.float64],
    x: NDArray[np.floating],
    scores: NDArray[np.float64],
    effects: NDArray[np.float64],
    eta: float,
    tied: bool,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    begin: int,
    end: int,
    out: NDArray[np.float64],
) -> None:
    """Add to row g of `out` what cluster ``begin + g`` says, of rows ``rows[starts[g]:starts[g + 1]]``."""
    p, m = x.shape[1], len(scores)
    for g in range(begin, end):
        said = out[g - begin]
        for at in range(starts[g], starts[g + 1]):
            r = rows[at]
            i, j = first[r], second[r]
            d = scores[i] - scores[j]
            for a in range(p):
                d += x[r, a] * effects[a]
            won, lost, even = outcomes[r, 0], outcomes[r, 1], outcomes[r, 2]
            up, down, level, _ = outcome_chances(d, eta, tied)
            s = won * down - lost * up + even * (down - up) / 2 + level * (won - lost) / 2
            said[i] += s
            said[j] -= s
            for a in range(p):
                said[m + a] += s * x[r, a]
            if tied:
                said[m + p] += even * (up + down) - (won + lost) * level


@declared(
    *[
        types.void(
            _INDEX, _INDEX, _CELLS, values, _READ, _READ, types.float64, types.boolean, _ROWS, _ROWS, types.int64,
            types.int64, _CELLS, _TABLE,
        )
        for values in _VALUES
    ]
)  # fmt: skip
def add_information(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    outcomes: NDArray[np.float64],
    x: NDArray[np.floating],
    scores: NDArray[np.float64],
    effects: NDArray[np.float64],
    eta: float,
    tied: bool,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    begin: int,
    end: int,
    along: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add to row g of `out` the information of cluster ``begin + g`` times row g of `along`."""
    p, m = x.shape[1], len(scores)
    for g in range(begin, end):
        found, given = out[g - begin], along[g - begin]
        for at in range(starts[g], starts[g + 1]):
            r = rows[at]
            i, j = first[r], second[r]
            d, y = scores[i] - scores[j], given[i] - given[j]
            for a in range(p):
                d += x[r, a] * effects[a]
                y += x[r, a] * given[m + a]
            n = outcomes[r, 0] + outcomes[r, 1] + outcomes[r, 2]
            up, down, level, _ = outcome_chances(d, eta, tied)
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
