r"""Bradley-Terry and Davidson with covariates: scores of items and effects, by Newton's method on rows of votes.

.. math:: d_t = s_{i_t} - s_{j_t} + x_t^T \beta, \qquad
   \max_{s, \beta} \; \sum_t \log P(y_t \mid d_t) - \frac{\rho}{2} |s|^2 - \frac{\lambda}{2} |\beta|^2

The penalties stand beside the *sum* over votes: a ridge of 1 weighs as much as some four votes of a covariate of 1,
however long the log is. Beside the mean over votes (as arena-rank has it) it would weigh as much as 4n.

With Firth's penalty half the log determinant of the information of all unknowns is added, as in
`rankbench.aggregators.likelihood.firth`: a first pass over the votes makes the inverse information, and a second one
the pseudo-votes and a step with them. Otherwise a step is one pass. Items are sparse: the Laplacian of pairs is
factorized, and effects are solved for in its Schur complement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.errors import ContenderDiverged, InputError
from rankbench.kinds.aggregator import MOST_DENSE
from rankbench.kinds.controlled_aggregator import ControlledFit
from rankbench.kinds.covariates import CovariateVotes
from rankbench.kinds.scales import connected_components, strongly_connected
from rankbench.runtime import one_blas_thread
from rankbench.system import in_halves

__all__ = ["Penalties", "RowSums", "VoteRows", "fit_controlled", "fitted_rows"]

_STEPS = 200
_BLOCK = 8192
_LONGEST = 4.0
"""A step changes no number by more."""

_TOLERANCE = 1e-9
"""A step is the last one where the next, shorter by as much as this one was, would change no number by more."""

_CLOSE = 1e-6
"""Below such changes a step that is not shorter than the one before is rounding."""

_LONG = 100_000
"""Of more rows Firth's fit starts at the one with a ridge of 1: a pass with pseudo-votes takes far longer than one
without."""

_FAR = 30.0
"""Log-odds that a typical value of a covariate adds where it separates the votes."""

_NONE = np.zeros((0, 0))


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


@dataclass(eq=False)
class RowSums:
    """Slopes and information of all rows.

    Attributes
    ----------
    value : float
        Log-likelihood.
    edge, item_slope, slope, cross, table : ndarray of float64, shapes (P,), (m,), (q,), (m, q), (q, q)
    """

    value: float
    edge: NDArray[np.float64]
    item_slope: NDArray[np.float64]
    slope: NDArray[np.float64]
    cross: NDArray[np.float64]
    table: NDArray[np.float64]

    @classmethod
    def nothing(cls, pairs: int, m: int, q: int) -> RowSums:
        """Return zeros."""
        return cls(0.0, np.zeros(pairs), np.zeros(m), np.zeros(q), np.zeros((m, q)), np.zeros((q, q)))

    def add(self, other: RowSums) -> None:
        """Add others in place."""
        self.value += other.value
        for name in ("edge", "item_slope", "slope", "cross", "table"):
            mine = getattr(self, name)
            mine += getattr(other, name)


@dataclass(frozen=True, eq=False)
class VoteRows:
    """Rows of votes with the graph of their pairs.

    Attributes
    ----------
    votes : CovariateVotes
    pair : ndarray of int32, shape (R,)
    graph : Laplacian
    tied : bool
        Whether the model is Davidson's, which has one more parameter.
    """

    votes: CovariateVotes
    pair: NDArray[np.int32]
    graph: Laplacian
    tied: bool

    @property
    def q(self) -> int:
        """Number of unknowns beside the scores."""
        return len(self.votes.covariates.names) + int(self.tied)

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What kernels take of the rows: items, outcomes, covariates."""
        values = np.ascontiguousarray(self.votes.covariates.values)
        outcomes = np.ascontiguousarray(self.votes.outcomes)
        first, second = (np.ascontiguousarray(each, np.int32) for each in (self.votes.first, self.votes.second))
        return first, second, outcomes, values

    def sums(
        self,
        scores: NDArray[np.float64],
        beside: NDArray[np.float64],
        inverse: NDArray[np.float64] | None,
        *,
        padded: bool,
    ) -> RowSums:
        """Return slopes and information at some numbers, in one pass.

        Parameters
        ----------
        scores, beside : ndarray of float64, shapes (m,), (q,)
        inverse : ndarray of float64, shape (m + q, m + q), optional
            Of which Firth's pseudo-votes are made.
        padded : bool
            Whether they are information.
        """
        from rankbench.aggregators.kernels.covariate_votes import learn_rows

        first, second, outcomes, values = self.arrays
        sigma = self.blocks(inverse)
        effects, eta = self.parted(beside)

        def learn(begin: int, end: int, into: RowSums, last: NDArray[np.float64], weight: NDArray[np.float64]) -> None:
            into.value += learn_rows(
                first, second, self.pair, outcomes, values, scores, effects, eta, self.tied, *sigma, padded, begin, end,
                into.edge, into.item_slope, into.slope, into.cross, last, weight,
            )  # fmt: skip

        return self.each_block(learn)

    def each_block(self, learn: Any) -> RowSums:
        """Return the sums that two threads make, half of the rows each, a block after the other."""
        values, q, m = self.arrays[3], self.q, self.votes.m
        p, found = values.shape[1], dict[int, RowSums]()

        def learn_half(rows: slice) -> None:
            into, last = RowSums.nothing(len(self.graph.high), m, q), np.zeros(q)
            weight = np.empty(_BLOCK)
            for begin in range(rows.start, rows.stop, _BLOCK):
                end = min(begin + _BLOCK, rows.stop)
                learn(begin, end, into, last, weight[: end - begin])
                block = values[begin:end]
                into.table[:p, :p] += (block * weight[: end - begin, None].astype(block.dtype)).T @ block
            if q > p:
                into.table[p], into.table[:, p] = last, last
            found[rows.start] = into

        with one_blas_thread():
            in_halves(learn_half, len(self.votes))
        whole, *others = (found[start] for start in sorted(found))
        for other in others:
            whole.add(other)
        return whole

    def blocks(
        self, inverse: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return a matrix of all unknowns as kernels take it: of items, of items and others, of others."""
        if inverse is None:
            return _NONE, _NONE, _NONE
        m = self.votes.m
        items, across, others = inverse[:m, :m], inverse[:m, m:], inverse[m:, m:]
        return np.ascontiguousarray(items), np.ascontiguousarray(across), np.ascontiguousarray(others)

    def parted(self, beside: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return effects and log nu."""
        return (np.ascontiguousarray(beside[:-1]), float(beside[-1])) if self.tied else (beside, 0.0)

    def penalized(self, sums: RowSums, ridge: float) -> NDArray[np.float64]:
        """Return the information of what stands beside the scores, with a ridge on effects, (q, q)."""
        table = sums.table.copy()
        effects = np.arange(self.q - self.tied)
        table[effects, effects] += ridge
        return table

    def inverse(self, sums: RowSums, ridge: float) -> NDArray[np.float64]:
        """Return the inverse information of all unknowns, (m + q, m + q); scores sum to zero on every scale.

        Raises
        ------
        ContenderDiverged
            It is singular.
        """
        graph, m = self.graph, self.votes.m
        found = graph.inverse(sums.edge)
        if graph.ridge == 0:
            found = np.ascontiguousarray(graph.scales.centered(graph.scales.centered(found).T))
        ahead = found @ sums.cross
        left = inverted(self.penalized(sums, ridge) - sums.cross.T @ ahead)
        whole = np.empty((m + self.q, m + self.q))
        whole[:m, :m] = found + ahead @ left @ ahead.T
        whole[:m, m:] = -ahead @ left
        whole[m:, :m] = whole[:m, m:].T
        whole[m:, m:] = left
        return whole

    def newton_step(
        self, sums: RowSums, item_slope: NDArray[np.float64], slope: NDArray[np.float64], ridge: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the steps of the scores and of what stands beside them: the Schur complement of the items."""
        graph = self.graph
        sides = np.column_stack([item_slope, sums.cross])
        solved = graph.solve_each(sums.edge, graph.balanced(sides.T)).T
        one, other = solved[:, 0], solved[:, 1:]
        left = self.penalized(sums, ridge) - sums.cross.T @ other
        step = solve_positive(left, slope - sums.cross.T @ one)
        return one - other @ step, step


def solve_positive(matrix: NDArray[np.float64], side: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve a system of few unknowns, scaled to a diagonal of ones.

    Raises
    ------
    ContenderDiverged
        The matrix is not positive definite.
    """
    from scipy.linalg import cho_factor, cho_solve

    diagonal = np.diag(matrix)
    if not len(matrix):
        return np.zeros_like(side)
    if not (diagonal > 0).all():
        raise ContenderDiverged(_SEPARATED)
    scale = 1 / np.sqrt(diagonal)
    try:
        factor = cho_factor(matrix * scale[:, None] * scale)
    except np.linalg.LinAlgError as error:
        raise ContenderDiverged(_SEPARATED) from error
    scaled = scale[:, None] * side if side.ndim == 2 else scale * side
    solved = cho_solve(factor, scaled)
    found: NDArray[np.float64] = scale[:, None] * solved if side.ndim == 2 else scale * solved
    return found


def inverted(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse of a positive definite matrix of few unknowns; see `solve_positive`."""
    return solve_positive(matrix, np.eye(len(matrix)))


_SEPARATED = (
    "the information on effects of covariates is singular: they, or items, separate the votes; a ridge, or Firth's "
    "penalty, keeps them finite"
)


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
    counts = votes.counts()
    penalized = penalties.firth or penalties.ridge > 0
    scales = connected_components(counts) if penalized else strongly_connected(counts)
    inside = votes
    if not penalized and len(scales) > 1:
        inside = votes.take(scales.of[votes.first] == scales.of[votes.second])
        if not len(inside):
            raise ContenderDiverged("without a penalty no two items are on one scale: one of any two won every time")
        counts = counts.select(scales.of[counts.low] == scales.of[counts.high])
    key = np.minimum(inside.first, inside.second).astype(np.int64) * votes.m
    key += np.maximum(inside.first, inside.second)
    pair = _place(counts.low.astype(np.int64) * votes.m + counts.high, key, votes.m)
    graph = Laplacian(counts.starts, counts.high, penalties.ridge, scales)
    tied = bool(ties and inside.outcomes[:, 2].any())
    if tied and not inside.outcomes[:, :2].any():
        raise ContenderDiverged("all votes are ties: nothing is said about effects")
    return VoteRows(inside, pair, graph, tied)


def _place(known: NDArray[np.int64], keys: NDArray[np.int64], m: int) -> NDArray[np.int32]:
    """Return the place of each key among the known ones, which are sorted."""
    if m * m <= max(1 << 22, len(keys)):
        place = np.zeros(m * m, np.int32)
        place[known] = np.arange(len(known), dtype=np.int32)
        return place[keys]
    return np.searchsorted(known, keys).astype(np.int32)


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
    rows, start = fitted_rows(votes, penalties, ties=ties), None
    if penalties.firth and len(votes) > _LONG:
        graph = rows.graph
        ridged = replace(rows, graph=Laplacian(graph.starts, graph.high, 1.0, graph.scales))
        start = _climbed(ridged, Penalties(ridge=1.0), None)
    return _climbed(rows, penalties, start)


def _climbed(rows: VoteRows, penalties: Penalties, start: ControlledFit | None) -> ControlledFit:
    ridge, q = penalties.ridge, rows.q
    scores, beside = np.zeros(rows.votes.m), np.zeros(q)
    ridges = np.full(q, ridge)
    if rows.tied:
        decided = float(rows.votes.outcomes[:, :2].sum())
        beside[-1] = np.log(2 * float(rows.votes.outcomes[:, 2].sum()) / decided)
        ridges[-1] = 0.0
    if start is not None:
        scores, beside = start.scores, np.concatenate([start.effects, start.extra])
    best, before = -np.inf, np.inf
    step = np.zeros(len(scores)), np.zeros(q)
    for iteration in range(1, _STEPS + 1):
        inverse = rows.inverse(rows.sums(scores, beside, None, padded=False), 0.0) if penalties.firth else None
        sums = rows.sums(scores, beside, inverse, padded=penalties.firth)
        value = sums.value - ridge / 2 * float(scores @ scores) - float(ridges @ beside**2) / 2
        # Firth's penalty is not in the value; pseudo-votes keep it from running away.
        if not penalties.firth and value < best - 1e-9 * (1 + abs(best)):
            step = step[0] / 2, step[1] / 2
            scores, beside = scores - step[0], beside - step[1]
            continue
        best = value
        item_slope = rows.graph.balanced(sums.item_slope - ridge * scores)
        step = rows.newton_step(sums, item_slope, sums.slope - ridges * beside, ridge)
        change = max(float(np.abs(one).max(initial=0.0)) for one in step)
        if not np.isfinite(change):
            raise ContenderDiverged(_SEPARATED)
        length = min(1.0, _LONGEST / change) if change else 1.0
        step = step[0] * length, step[1] * length
        scores, beside = scores + step[0], beside + step[1]
        _refuse_far(rows, beside)
        shorter = min(1.0, change / before) if before < np.inf else 1.0
        if change * shorter <= _TOLERANCE or (change <= _CLOSE and change >= before):
            effects, _ = rows.parted(beside)
            extra = beside[len(effects) :]
            centered = rows.graph.scales.centered(scores)
            return ControlledFit(centered, effects, rows.graph.scales, extra, change, iteration)
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
