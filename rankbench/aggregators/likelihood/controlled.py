r"""Bradley-Terry and Davidson with covariates: scores of items and effects, by Newton's method on rows of votes.

.. math:: d_t = s_{i_t} - s_{j_t} + x_t^T \beta, \qquad
   \max_{s, \beta} \; \sum_t \log P(y_t \mid d_t) - \frac{\rho}{2} |s|^2 - \frac{\lambda}{2} |\beta|^2

The penalties stand beside the *sum* over votes: a ridge of 1 weighs as much as some four votes of a covariate of 1,
however long the log is. Beside the mean over votes (as arena-rank has it) it would weigh as much as 4n.

With Firth's penalty half the log determinant of the information of all unknowns is added, as in
`rankbench.aggregators.likelihood.firth`: a first pass over the votes makes the inverse information, and a second one
the pseudo-votes and a step with them. Otherwise a step is one pass. Items are sparse: the Laplacian of pairs is
factorized, and effects are solved for in its Schur complement. Near the maximum both are kept, and slopes alone summed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.aggregators.likelihood.vote_rows import SEPARATED, VoteRows
from rankbench.errors import ContenderDiverged, InputError
from rankbench.kinds.aggregator import MOST_DENSE
from rankbench.kinds.controlled_aggregator import ControlledFit
from rankbench.kinds.covariates import CovariateVotes
from rankbench.kinds.scales import connected_components, strongly_connected

__all__ = ["Penalties", "fit_controlled", "fitted_rows"]

_STEPS = 200
_LONGEST = 4.0
"""A step changes no number by more."""

_TOLERANCE = 1e-10
"""A step is the last one where the next, shorter by as much as this one was, would change no number by more."""

_CLOSE = 1e-6
"""Below such changes a step that is not shorter than the one before is rounding."""

_SHORT, _SHORTER = 0.1, 0.1
"""After a step that changes no number by more, and no more than this part of the one before, information is kept.

Of margins that change by .1 it changes by less than a tenth. Steps by what it was end at the same maximum.
"""

_LONG = 100_000
"""Of more rows the first step is from near the maximum, found of a part of them."""

_PART = 10
"""Every tenth row, if these are ten an item."""

_NEAR = 0.25
"""What `_TOLERANCE` is for a start."""

_FAR = 30.0
"""Log-odds that a typical value of a covariate adds where it separates the votes."""


@dataclass(frozen=True)
class Penalties:
    """What is taken off the log-likelihood.

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
    """Return the rows that a fit is about, with their graph.

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
    scales = connected_components(counts) if penalized else strongly_connected(counts)
    inside = votes
    if not penalized and len(scales) > 1:
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
        scores, beside = rows.graph.scales.centered(start.scores), np.concatenate([start.effects, start.extra])
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
        system = system or rows.system(sums, ridge)
        step = system.step(item_slope, sums.slope - ridges * beside)
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
            centered = rows.graph.scales.centered(scores)
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
                f"control {name!r}: it separates the votes (whoever has more of it always wins, or always loses), and "
                "without a penalty its effect has no bound; a ridge, or Firth's penalty, keeps it finite"
            )


def _typical(values: NDArray[np.floating]) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))
