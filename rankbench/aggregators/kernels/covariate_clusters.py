r"""Kernels compute the score of each cluster of votes with covariates near a fit.

A row is :math:`\sum g z` over the votes of a cluster, or its information times a vector, with z and g those of
`rankbench.aggregators.kernels.covariate_votes`.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.aggregators.kernels.covariate_votes import (
    CELLS,
    INDEX,
    READ,
    TABLE,
    VALUES,
    outcome_chances,
    product_of_row,
)
from rankbench.kernels.declared import declared

_ROWS = types.Array(types.int64, 1, "C", readonly=True)


@declared(
    *[
        types.void(
            INDEX, INDEX, CELLS, values, READ, READ, types.float64, types.boolean, _ROWS, _ROWS, types.int64,
            types.int64, TABLE,
        )
        for values in VALUES
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


@declared(
    *[
        types.void(
            INDEX, INDEX, CELLS, values, READ, READ, types.float64, types.boolean, _ROWS, _ROWS, types.int64,
            types.int64, CELLS, TABLE,
        )
        for values in VALUES
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
