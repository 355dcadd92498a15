r"""Kernels compute the score of each cluster of votes with covariates near a fit.

A row is :math:`\sum g z` over the votes of a cluster, or its information times a vector, with z and g those of
`rankbench.aggregators.kernels.covariate_votes`.
"""

from __future__ import annotations

from rankbench.aggregators.kernels.covariate_votes import Values, outcome_chances, product_of_row
from rankbench.kernels.declared import Matrix, ReadIndex, ReadMatrix, ReadRows, ReadVector, declared


@declared()
def add_slopes(
    first: ReadIndex,
    second: ReadIndex,
    outcomes: ReadMatrix,
    x: Values,
    scores: ReadVector,
    effects: ReadVector,
    eta: float,
    tied: bool,
    rows: ReadRows,
    starts: ReadRows,
    begin: int,
    end: int,
    out: Matrix,
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


@declared()
def add_information(
    first: ReadIndex,
    second: ReadIndex,
    outcomes: ReadMatrix,
    x: Values,
    scores: ReadVector,
    effects: ReadVector,
    eta: float,
    tied: bool,
    rows: ReadRows,
    starts: ReadRows,
    begin: int,
    end: int,
    along: ReadMatrix,
    out: Matrix,
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
