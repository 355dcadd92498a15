"""Rows of votes with covariates give the gradient, the information and Newton's step near a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.core.runtime import one_blas_thread
from rankbench.core.system import in_two_threads
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.covariate_aggregator import CovariateVotes

if TYPE_CHECKING:
    from rankbench.aggregators.kernels.covariate_votes import MatrixBlocks, RowFit, RowParts

NewtonStep: TypeAlias = Callable[
    [NDArray[np.float64], NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]
]

_BLOCK = 4096
"""Rows whose products are made at a time."""

SEPARATED = (
    "the information on effects of covariates is singular: they, or items, separate the votes; a ridge, or Firth's "
    "penalty, keeps them finite"
)


@dataclass(eq=False)
class RowSums:
    """Slopes and information of all rows.

    Attributes
    ----------
    value : float
        Log-likelihood.
    item_slope, slope : ndarray of float64, shapes (m,), (q,)
    edge, cross, table : ndarray of float64, shapes (P,), (m, q), (q, q)
        Information; of slopes alone P and both shapes are zeros.
    """

    value: float
    item_slope: NDArray[np.float64]
    slope: NDArray[np.float64]
    edge: NDArray[np.float64]
    cross: NDArray[np.float64]
    table: NDArray[np.float64]

    @classmethod
    def nothing(cls, pairs: int, m: int, q: int, *, informed: bool) -> RowSums:
        """Return zeros, of slopes alone or of information too."""
        shapes = ((pairs,), (m, q), (q, q)) if informed else ((0,), (0, 0), (0, 0))
        return cls(0.0, np.zeros(m), np.zeros(q), *map(np.zeros, shapes))

    def add(self, other: RowSums) -> None:
        """Add others in place."""
        self.value += other.value
        for name in ("item_slope", "slope", "edge", "cross", "table"):
            mine = getattr(self, name)
            mine += getattr(other, name)


@dataclass(frozen=True, eq=False)
class VoteRows:
    """Rows of votes with the graph of their pairs.

    Only they sum slopes and information of a fit with covariates.

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
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Arrays of the rows for kernels, read-only: items, outcomes, covariates."""
        first, second = (_read_only(each, np.int32) for each in (self.votes.first, self.votes.second))
        return first, second, _read_only(self.votes.outcomes), _read_only(self.votes.covariates.values)

    def at(self, scores: NDArray[np.float64], beside: NDArray[np.float64]) -> RowFit:
        """Return the rows and a fit as kernels take them."""
        from rankbench.aggregators.kernels.covariate_votes import RowFit

        effects, eta = self.parted(beside)
        return RowFit(*self.arrays, _read_only(scores), _read_only(effects), eta, self.tied)

    def sums(
        self,
        scores: NDArray[np.float64],
        beside: NDArray[np.float64],
        inverse: NDArray[np.float64] | None,
        *,
        padded: bool,
        informed: bool = True,
    ) -> RowSums:
        """Return slopes and information at some numbers, in one pass.

        Parameters
        ----------
        scores, beside : ndarray of float64, shapes (m,), (q,)
        inverse : ndarray of float64, shape (m + q, m + q), optional
            Of which Firth's pseudo-votes are made.
        padded : bool
            Whether they are information.
        informed : bool
            Whether information is asked for: without it a pass takes a third of the time.
        """
        from rankbench.aggregators.kernels.covariate_votes import add_products, learn_rows

        fit, sigma = self.at(scores, beside), self.blocks(inverse)

        def learn(begin: int, end: int, into: RowSums, last: NDArray[np.float64], of_rows: RowParts) -> None:
            into.value += learn_rows(fit, sigma, padded, begin, end, into.item_slope, into.slope, last, of_rows)
            add_products(fit.x, begin, end, of_rows.pull, into.slope)

        return self.each_block(learn, informed=informed)

    def each_block(self, learn: Any, *, informed: bool = True) -> RowSums:
        """Return the sums that two threads make, half of the rows each, a block after the other.

        `learn` says what each row of a block says; what that is as information of items and covariates is added here.
        """
        from rankbench.aggregators.kernels.covariate_votes import RowParts, add_across, add_products

        first, second, _, values = self.arrays
        q, m, p, found = self.q, self.votes.m, values.shape[1], dict[int, RowSums]()

        def learn_half(rows: slice) -> None:
            into, last = RowSums.nothing(len(self.graph.high), m, q, informed=informed), np.zeros(q)
            longest = min(_BLOCK, rows.stop - rows.start)
            room, scaled = np.empty((3, longest)), np.empty((longest, p), values.dtype)
            for begin in range(rows.start, rows.stop, _BLOCK):
                end = min(begin + _BLOCK, rows.stop)
                of_rows, product = RowParts(*room[:, : end - begin]), scaled[: end - begin]
                learn(begin, end, into, last, of_rows)
                if not informed:
                    continue
                _, weight, beside = of_rows
                add_across(first, second, self.pair, values, begin, end, weight, beside, into.edge, into.cross, product)
                into.table[:p, :p] += product.T @ product
                if self.tied:
                    add_products(values, begin, end, beside, last)
            if informed and self.tied:
                into.table[p], into.table[:, p] = last, last
            found[rows.start] = into

        with one_blas_thread():
            in_two_threads(learn_half, len(self.votes))
        whole, *others = (found[start] for start in sorted(found))
        for other in others:
            whole.add(other)
        return whole

    def blocks(self, inverse: NDArray[np.float64] | None) -> MatrixBlocks:
        """Return a matrix of all unknowns, or None, as blocks for kernels."""
        from rankbench.aggregators.kernels.covariate_votes import MatrixBlocks

        m, whole = self.votes.m, np.zeros((0, 0)) if inverse is None else inverse
        return MatrixBlocks(*map(_read_only, (whole[:m, :m], whole[:m, m:], whole[m:, m:])))

    def parted(self, beside: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return effects and log nu."""
        return (beside[:-1], float(beside[-1])) if self.tied else (beside, 0.0)

    def penalized(self, sums: RowSums, ridge: float) -> NDArray[np.float64]:
        """Return the information of all unknowns beside the scores, with a ridge on effects, (q, q)."""
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
            found = np.ascontiguousarray(graph.balanced(graph.balanced(found).T))
        ahead = found @ sums.cross
        left = solve_positive(self.penalized(sums, ridge) - sums.cross.T @ ahead, np.eye(self.q))
        whole = np.empty((m + self.q, m + self.q))
        whole[:m, :m] = found + ahead @ left @ ahead.T
        whole[:m, m:] = -ahead @ left
        whole[m:, :m] = whole[:m, m:].T
        whole[m:, m:] = left
        return whole

    def newton_step(self, sums: RowSums, ridge: float) -> NewtonStep:
        """Return the function that computes Newton steps, by the Schur complement of the items.

        From slopes by scores, which are balanced, and by the other unknowns it makes the steps of both; it raises
        `ContenderDiverged` where the system is singular.

        Raises
        ------
        ContenderDiverged
            Its items are singular.
        """
        solve = self.graph.solver(sums.edge)
        across = solve(self.graph.balanced(sums.cross.T)).T
        left = self.penalized(sums, ridge) - sums.cross.T @ across

        def step(
            item_slope: NDArray[np.float64], slope: NDArray[np.float64]
        ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            alone = solve(item_slope[None])[0]
            beside = solve_positive(left, slope - sums.cross.T @ alone)
            return alone - across @ beside, beside

        return step


def _read_only(array: NDArray[Any], dtype: type | None = None) -> NDArray[Any]:
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


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
        raise ContenderDiverged(SEPARATED)
    scale = 1 / np.sqrt(diagonal)
    try:
        factor = cho_factor(matrix * scale[:, None] * scale)
    except np.linalg.LinAlgError as error:
        raise ContenderDiverged(SEPARATED) from error
    scaled = scale[:, None] * side if side.ndim == 2 else scale * side
    solved = cho_solve(factor, scaled)
    return np.asarray(scale[:, None] * solved if side.ndim == 2 else scale * solved, np.float64)
