r"""How uncertain effects of covariates are, and scores beside them: the sandwich of all unknowns together.

As in `rankbench.aggregators.likelihood.covariance`: clustered, corrected for the pull of votes (of clusters) on the
fit, and with Firth's pseudo-votes among the votes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.controlled import Penalties, fitted_rows
from rankbench.aggregators.likelihood.covariance import ENOUGH_TERMS, TERMS
from rankbench.aggregators.likelihood.vote_rows import RowParts, RowSums, VoteRows
from rankbench.errors import InputError
from rankbench.kinds.aggregator import MOST_DENSE
from rankbench.kinds.controlled_aggregator import ControlledFit
from rankbench.kinds.covariates import CovariateVotes

__all__ = ["controlled_sandwich", "refuse_unidentified"]

_NUMBERS = 4_000_000
"""Numbers that are held of clusters at a time."""


def controlled_sandwich(
    votes: CovariateVotes, fit: ControlledFit, penalties: Penalties, *, ties: bool = False
) -> NDArray[np.float64]:
    """Return the sandwich covariance of scores and effects, shape (m + p, m + p).

    Parameters
    ----------
    votes : CovariateVotes
        That were fitted; with `clusters`, these are what is independent, else single votes are.
    fit : ControlledFit
    penalties : Penalties
    ties : bool
        As they were fitted.

    Raises
    ------
    InputError
        One vote, one cluster, or more than 4000 items.
    """
    if votes.m > MOST_DENSE:
        raise InputError(f"the covariance of {votes.m} items is too large a matrix (at most {MOST_DENSE} items)")
    rows = fitted_rows(votes, penalties, ties=ties)
    clusters = rows.votes.clusters
    units = len(np.unique(clusters)) if clusters is not None else float(rows.votes.outcomes.sum())
    if units < 2:
        raise InputError("a sandwich needs two clusters at least")
    beside = np.concatenate([fit.effects, fit.extra])
    inverse = rows.inverse(rows.sums(fit.scores, beside, None, padded=False), penalties.ridge)
    bread = inverse
    if penalties.firth:
        bread = rows.inverse(rows.sums(fit.scores, beside, inverse, padded=True), 0.0)
    meat = _middle(rows, fit.scores, beside, inverse, bread, penalties.firth)
    if clusters is not None:
        meat += _clustered(rows, clusters, fit.scores, beside, bread)
    whole: NDArray[np.float64] = bread @ meat @ bread
    known = votes.m + len(fit.effects)
    return whole[:known, :known]


def _middle(
    rows: VoteRows,
    scores: NDArray[np.float64],
    beside: NDArray[np.float64],
    inverse: NDArray[np.float64],
    bread: NDArray[np.float64],
    firth: bool,
) -> NDArray[np.float64]:
    """Return the sum of products of what single votes and pseudo-votes say; of clustered votes pseudo-votes alone."""
    from rankbench.aggregators.kernels.covariate_votes import middle_rows

    first, second, outcomes, values = rows.arrays
    effects, eta = rows.parted(beside)
    sigma, own = rows.blocks(inverse), rows.blocks(bread)
    clustered = rows.votes.clusters is not None

    def learn(begin: int, end: int, _: RowSums, last: NDArray[np.float64], of_rows: RowParts) -> None:
        middle_rows(
            first, second, outcomes, values, scores, effects, eta, rows.tied, *sigma, *own, clustered,
            rows.votes.weighted, firth, begin, end, last, of_rows.weight, of_rows.beside,
        )  # fmt: skip

    sums, m, graph = rows.each_block(learn), rows.votes.m, rows.graph
    whole = np.zeros_like(bread)
    whole[graph.low, graph.high] = whole[graph.high, graph.low] = -sums.edge
    items = np.arange(m)
    whole[items, items] = np.bincount(graph.low, sums.edge, m) + np.bincount(graph.high, sums.edge, m)
    whole[:m, m:] = sums.cross
    whole[m:, :m] = sums.cross.T
    whole[m:, m:] = sums.table
    return whole


def _clustered(
    rows: VoteRows,
    clusters: NDArray[np.int32],
    scores: NDArray[np.float64],
    beside: NDArray[np.float64],
    bread: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the sum over clusters of corrected u u^T: the series of `rankbench...covariance`, of many at a time."""
    from rankbench.aggregators.kernels.covariate_clusters import add_information, add_slopes

    first, second, outcomes, values = rows.arrays
    effects, eta = rows.parted(beside)
    order = np.argsort(clusters, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(clusters))])
    starts = starts[np.concatenate([[True], np.diff(starts) > 0])].astype(np.int64)
    given = first, second, outcomes, values, scores, effects, eta, rows.tied, order, starts
    at_once, d = max(1, _NUMBERS // len(bread)), len(bread)
    meat = np.zeros_like(bread)
    for begin in range(0, len(starts) - 1, at_once):
        end = min(begin + at_once, len(starts) - 1)
        term = np.zeros((end - begin, d))
        add_slopes(*given, begin, end, term)
        said, share = term.copy(), 1.0
        enough = ENOUGH_TERMS * float(np.abs(said).max(initial=0.0))
        for number in range(1, TERMS + 1):
            along = np.ascontiguousarray(term @ bread)
            term = np.zeros_like(term)
            add_information(*given, begin, end, along, term)
            share *= (2 * number - 1) / (2 * number)
            said += share * term
            if share * float(np.abs(term).max(initial=0.0)) <= enough:
                break
        meat += said.T @ said
    return meat


def refuse_unidentified(votes: CovariateVotes) -> None:
    """Refuse covariates whose effects cannot be told from those of items, or of covariates before them.

    Where all items are equal: of each covariate what items and the others do not explain of it, by least squares.

    Raises
    ------
    InputError
        With the name of the first.
    """
    rows = fitted_rows(
        votes, Penalties(firth=votes.m <= MOST_DENSE, ridge=0.0 if votes.m <= MOST_DENSE else 1e-9), ties=False
    )
    sums = rows.sums(np.zeros(votes.m), np.zeros(rows.q), None, padded=False)
    least = 1e-6 if votes.covariates.values.dtype == np.float32 else 1e-9
    solved = rows.graph.solve_each(sums.edge, rows.graph.balanced(sums.cross.T))
    left = sums.table - sums.cross.T @ solved.T
    names, whole = votes.covariates.names, np.diag(sums.table)
    for k, name in enumerate(names):
        if left[k, k] <= least * whole[k]:
            raise InputError(
                f"control {name!r}: it follows from the items alone, as what never changes of an item does: its effect "
                "cannot be told from their scores; leave it out",
                column=name,
            )
        before = np.linalg.lstsq(left[:k, :k], left[:k, k], rcond=None)[0] if k else np.zeros(0)
        rest = left[k, k] - left[:k, k] @ before
        if rest <= least * left[k, k]:
            parts = np.abs(before) * np.sqrt(np.diag(left)[:k])
            others = [other for other, part in zip(names, parts, strict=False) if part > 1e-3 * parts.max(initial=0.0)]
            raise InputError(
                f"control {name!r}: it follows from {', '.join(map(repr, others))} and the items: its effect cannot be "
                "told from theirs; leave one of them out",
                column=name,
            )
