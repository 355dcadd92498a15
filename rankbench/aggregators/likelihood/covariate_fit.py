r"""Newton's method fits scores of items and effects of covariates together.

.. math:: d_t = s_{i_t} - s_{j_t} + x_t^T \beta, \qquad
   \max_{s, \beta} \; \sum_t \log P(y_t \mid d_t) - \frac{\rho}{2} |s|^2 - \frac{\lambda}{2} |\beta|^2

The penalties stand beside the *sum* over votes: a ridge of 1 weighs as much as some four votes of a covariate of 1,
however long the log is. Beside the mean over votes (as arena-rank has it) it would weigh as much as 4n.

With Firth's penalty half the log determinant of the information of all unknowns is added, as in
`rankbench.aggregators.likelihood.davidson_firth`: a first pass over the votes makes the inverse information, and a
second one the pseudo-votes and a step with them. Otherwise a step is one pass. Items are sparse: the Laplacian of pairs
is factorized, and effects are solved for in its Schur complement. Near the maximum both are kept, and slopes alone
summed.

As in `rankbench.aggregators.likelihood.covariance`: clustered, corrected for the pull of votes (of clusters) on the
fit, and with Firth's pseudo-votes among the votes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.covariance import ENOUGH_TERMS, TERMS
from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.aggregators.likelihood.vote_rows import SEPARATED, RowSums, VoteRows
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import MOST_DENSE
from rankbench.interfaces.covariate_aggregator import ControlledFit, CovariateVotes

if TYPE_CHECKING:
    from rankbench.aggregators.kernels.covariate_votes import RowFit, RowParts

_STEPS = 200
_LONGEST = 4.0
"""A step changes no number by more."""

_TOLERANCE = 1e-10
"""A step is the last one where the next, shorter by as much as this one was, would change no number by more."""

_CLOSE = 1e-6
"""Below such changes a step that is not shorter than the one before is rounding."""

_SHORT, _SHORTER = 0.1, 0.1
"""After a step that changes no number by more, and no more than this part of the one before, information is kept.

Of margins that change by .1 it changes by less than a tenth. Steps by its former value end at the same maximum.
"""

_LONG = 100_000
"""Of more rows the first step is from near the maximum, found of a part of them."""

_PART = 10
"""Every tenth row, if these are ten an item."""

_NEAR = 0.25
"""Tolerance for a start, in place of `_TOLERANCE`."""

_FAR = 30.0
"""Log-odds that a typical value of a covariate adds where it separates the votes."""


@dataclass(frozen=True)
class Penalties:
    """Penalties that are subtracted from the log-likelihood.

    Attributes
    ----------
    ridge : float
        On half the squared scores, and on half the squared effects.
    firth : bool
        Whether half the log determinant of the information is added.
    """

    ridge: float = 0.0
    firth: bool = False


_RIDGE = Penalties(ridge=1.0)
"""Of a start."""


def fitted_rows(votes: CovariateVotes, penalties: Penalties, *, ties: bool) -> VoteRows:
    """Return the rows of a fit, with their graph.

    Parameters
    ----------
    votes : CovariateVotes
    penalties : Penalties
        Without one, votes between strongly connected components are left out: they say nothing.
    ties : bool
        Whether ties are outcomes of their own, where there are any; else they are half wins.

    Raises
    ------
    InputError
        There are no votes.
    """
    if not len(votes):
        raise InputError("there are no comparisons to fit")
    if penalties.firth and votes.m > MOST_DENSE:
        raise InputError(f"Firth's penalty of {votes.m} items takes too large a matrix (at most {MOST_DENSE} items)")
    counts, pair = votes.numbered()
    penalized = penalties.firth or penalties.ridge > 0
    scales = counts.connected if penalized else counts.strongly_connected
    inside = votes
    if not penalized and len(scales.sizes) > 1:
        inside = votes.take(scales.scale_of[votes.first] == scales.scale_of[votes.second])
        if not len(inside):
            raise ContenderDiverged("without a penalty no two items are on one scale: one of any two won every time")
        counts, pair = inside.numbered()
    graph = Laplacian(counts.starts, counts.high, penalties.ridge, scales)
    tied = bool(ties and inside.outcomes[:, 2].any())
    if tied and not inside.outcomes[:, :2].any():
        raise ContenderDiverged("all votes are ties: nothing is said about effects")
    return VoteRows(inside, pair, graph, tied)


def fit_controlled(votes: CovariateVotes, penalties: Penalties, *, ties: bool = False) -> ControlledFit:
    r"""Maximize the penalized likelihood of votes with covariates, in scores and effects together.

    Parameters
    ----------
    votes : CovariateVotes
        Float32 covariates are read as they are: their products have 32 bits, and sums, slopes and margins 64, so that
        the maximum is that of 64 bits.
    penalties : Penalties
    ties : bool
        Davidson's model, whose :math:`\log \nu` is one more unknown; else ties are half wins.

    Returns
    -------
    ControlledFit

    Raises
    ------
    InputError
        There are no votes.
    ContenderDiverged
        There is no maximum: a covariate, or items, separate the votes; or the steps do not come to rest.
    """
    rows = fitted_rows(votes, penalties, ties=ties)
    start = _near(rows)
    if penalties.firth and start is not None:
        graph = rows.graph
        ridged = replace(rows, graph=Laplacian(graph.starts, graph.high, _RIDGE.ridge, graph.scales))
        start = _climbed(ridged, _RIDGE, start, _NEAR)
    return _climbed(rows, penalties, start)


def _near(rows: VoteRows) -> ControlledFit | None:
    """Return roughly the fit of one row in ten, itself begun at that of fewer: steps of few rows cost little.

    It is penalized, so that it exists. There is none of few rows, and where a part lacks what all have: then the first
    step is from zero.
    """
    if len(rows.votes) <= max(_LONG, _PART * _PART * rows.votes.m):
        return None
    part = rows.votes.take(np.arange(0, len(rows.votes), _PART))
    try:
        few = fitted_rows(part, _RIDGE, ties=rows.tied)
        return _climbed(few, _RIDGE, _near(few), _NEAR) if few.tied == rows.tied else None
    except ContenderDiverged:
        return None


def _climbed(
    rows: VoteRows, penalties: Penalties, start: ControlledFit | None, enough: float = _TOLERANCE
) -> ControlledFit:
    ridge, q = penalties.ridge, rows.q
    scores, beside = np.zeros(rows.votes.m), np.zeros(q)
    ridges = np.full(q, ridge)
    if rows.tied:
        decided = float(rows.votes.outcomes[:, :2].sum())
        beside[-1] = np.log(2 * float(rows.votes.outcomes[:, 2].sum()) / decided)
        ridges[-1] = 0.0
    if start is not None:
        scores, beside = rows.graph.balanced(start.scores), np.concatenate([start.effects, start.extra])
    best, before = -np.inf, np.inf
    step, system = (np.zeros(len(scores)), np.zeros(q)), None
    for iteration in range(1, _STEPS + 1):
        inverse = rows.inverse(rows.sums(scores, beside, None, padded=False), 0.0) if penalties.firth else None
        sums = rows.sums(scores, beside, inverse, padded=penalties.firth, informed=system is None)
        value = sums.value - ridge / 2 * float(scores @ scores) - float(ridges @ beside**2) / 2
        # Firth's penalty is not in the value; pseudo-votes keep it from running away.
        if not penalties.firth and value < best - 1e-9 * (1 + abs(best)):
            step, system = (step[0] / 2, step[1] / 2), None
            scores, beside = scores - step[0], beside - step[1]
            continue
        best = value
        item_slope = rows.graph.balanced(sums.item_slope - ridge * scores)
        system = system or rows.newton_step(sums, ridge)
        step = system(item_slope, sums.slope - ridges * beside)
        change = max(float(np.abs(one).max(initial=0.0)) for one in step)
        if not np.isfinite(change):
            raise ContenderDiverged(SEPARATED)
        length = min(1.0, _LONGEST / change) if change else 1.0
        step = step[0] * length, step[1] * length
        scores, beside = scores + step[0], beside + step[1]
        _refuse_far(rows, beside)
        shorter = min(1.0, change / before) if before < np.inf else 1.0
        if change * shorter <= enough or (change <= _CLOSE and change >= before):
            effects, _ = rows.parted(beside)
            extra = beside[len(effects) :]
            centered = rows.graph.balanced(scores)
            return ControlledFit(centered, effects, rows.graph.scales, extra, change, iteration)
        if change > min(_SHORT, _SHORTER * before):
            system = None
        before = change
    raise ContenderDiverged(f"covariates: not at the maximum after {_STEPS} steps (the last one of {before:.2g})")


def _refuse_far(rows: VoteRows, beside: NDArray[np.float64]) -> None:
    covariates = rows.votes.covariates
    for k, name in enumerate(covariates.names):
        if abs(beside[k]) > _FAR and abs(beside[k]) * _typical(covariates.values[:, k]) > _FAR:
            raise ContenderDiverged(
                f"control {name!r} separates the votes: the side with more of it always wins, or always loses. Without "
                "a penalty its effect has no bound; a ridge, or Firth's penalty, keeps it finite"
            )


def _typical(values: NDArray[np.floating]) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


_NUMBERS = 4_000_000
"""Numbers that are held of clusters at a time."""


def controlled_sandwich(
    votes: CovariateVotes, fit: ControlledFit, penalties: Penalties, *, ties: bool = False
) -> NDArray[np.float64]:
    """Return the sandwich covariance of scores and effects, shape (m + p, m + p).

    Parameters
    ----------
    votes : CovariateVotes
        That were fitted; with `clusters`, these are the independent units, else single votes are.
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
    fitted = rows.at(fit.scores, beside)
    meat = _middle(rows, fitted, inverse, bread, penalties.firth)
    if clusters is not None:
        meat += _clustered(fitted, clusters, bread)
    whole: NDArray[np.float64] = bread @ meat @ bread
    known = votes.m + len(fit.effects)
    return whole[:known, :known]


def _middle(
    rows: VoteRows, fit: RowFit, inverse: NDArray[np.float64], bread: NDArray[np.float64], firth: bool
) -> NDArray[np.float64]:
    """Return summed outer products of contributions of votes and pseudo-votes; if clustered, of the latter alone."""
    from rankbench.aggregators.kernels.covariate_votes import middle_rows

    sigma, own = rows.blocks(inverse), rows.blocks(bread)
    clustered = rows.votes.clusters is not None

    def learn(begin: int, end: int, _: RowSums, last: NDArray[np.float64], of_rows: RowParts) -> None:
        middle_rows(fit, sigma, own, clustered, rows.votes.weighted, firth, begin, end, last, of_rows)

    sums, m, graph = rows.each_block(learn), rows.votes.m, rows.graph
    whole = np.zeros_like(bread)
    whole[graph.low, graph.high] = whole[graph.high, graph.low] = -sums.edge
    items = np.arange(m)
    whole[items, items] = np.bincount(graph.low, sums.edge, m) + np.bincount(graph.high, sums.edge, m)
    whole[:m, m:] = sums.cross
    whole[m:, :m] = sums.cross.T
    whole[m:, m:] = sums.table
    return whole


def _clustered(fit: RowFit, clusters: NDArray[np.int32], bread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over clusters of corrected u u^T: the series of `rankbench...covariance`, of many at a time."""
    from rankbench.aggregators.kernels.refits import add_information, add_slopes

    order = np.argsort(clusters, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(clusters))])
    starts = starts[np.concatenate([[True], np.diff(starts) > 0])].astype(np.int64)
    given = fit, order, starts
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
    """Raise for covariates that are linear in items, or in the covariates before them.

    Least squares give the rest of each covariate that they do not explain, where all items are equal.

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
    solved = rows.graph.solver(sums.edge)(rows.graph.balanced(sums.cross.T))
    left = sums.table - sums.cross.T @ solved.T
    names, whole = votes.covariates.names, np.diag(sums.table)
    for k, name in enumerate(names):
        if left[k, k] <= least * whole[k]:
            raise InputError(
                f"control {name!r}: it follows from the items alone, as a property that never changes: no vote "
                "separates its effect from their scores; leave it out",
                column=name,
            )
        before = np.linalg.lstsq(left[:k, :k], left[:k, k], rcond=None)[0] if k else np.zeros(0)
        rest = left[k, k] - left[:k, k] @ before
        if rest <= least * left[k, k]:
            parts = np.abs(before) * np.sqrt(np.diag(left)[:k])
            others = [other for other, part in zip(names, parts, strict=False) if part > 1e-3 * parts.max(initial=0.0)]
            raise InputError(
                f"control {name!r}: it follows from {', '.join(map(repr, others))} and the items: no vote separates "
                "their effects; leave one of them out",
                column=name,
            )
