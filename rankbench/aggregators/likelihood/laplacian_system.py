"""Solvers of Laplacian systems of compared items work by iteration, or directly where iteration takes long."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.elimination import SINGULAR, Elimination
from rankbench.core.system import in_two_threads
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.aggregator import MOST_DENSE
from rankbench.interfaces.pair_counts import Scales

DENSE_SYSTEM = 1500
"""Most items whose systems are factorized as dense matrices (18 MB)."""

DENSE_INVERSE = 500
"""Most items whose inverse is computed whole, and anew for other weights, where less of it would do."""

PATIENCE = 80
"""Steps of conjugate gradients before the system is factorized."""

PROJECTIONS = 64
"""Random projections of a core of too many items: a resistance has a standard error of 18%."""

TOGETHER = 32
"""Right sides that are solved for at once."""

_PRECISE, _ROUGH = 1e-10, 1e-4
"""Relative residuals of conjugate gradients in the core; for projections."""

_LONG = 10_000
"""Most steps of them."""


class Held(NamedTuple):
    """Resistances of a core's edges, and shares of the given edges between two of its items, at some weights."""

    resistances: NDArray[np.float64]
    shares: NDArray[np.float64]
    exact: bool


class Laplacian:
    """``L + ridge I`` for a graph whose weights change.

    Parameters
    ----------
    starts, high : ndarray
        Edges as `PairCounts` keeps pairs; none between two scales.
    ridge : float
    scales : Scales
        Its connected components.
    """

    def __init__(self, starts: NDArray[np.int64], high: NDArray[np.int32], ridge: float, scales: Scales) -> None:
        self.starts, self.high, self.ridge, self.scales = starts, high, ridge, scales
        self.m = len(starts) - 1
        self.direct = False
        self.held: Held | None = None

    @cached_property
    def low(self) -> NDArray[np.int32]:
        """The smaller item of each edge, shape (P,)."""
        return np.repeat(np.arange(self.m, dtype=np.int32), np.diff(self.starts))

    def solve(self, edge: NDArray[np.float64], rhs: NDArray[np.float64], enough: float) -> NDArray[np.float64]:
        """Return x with a residual of norm `enough` or little more, shape (m,).

        Parameters
        ----------
        edge : ndarray of float64, shape (P,)
            Weight of each edge.
        rhs : ndarray of float64, shape (m,)
            Sums to zero on every scale.
        enough : float
            Conjugate gradients stop at this residual; direct solutions are more precise.

        Raises
        ------
        ContenderDiverged
            The weights of some edges have vanished, so that the matrix is singular.
        """
        from rankbench.kernels.pairs import WORK, conjugate_gradients

        if not self.direct:
            x = np.empty(self.m)
            steps = conjugate_gradients(
                self.starts, self.high, edge, self.ridge, rhs, enough, PATIENCE, np.empty(WORK * self.m), x
            )
            if steps >= 0:
                return self.balanced(x)
            self.direct = True
        return self.solve_directly(edge, rhs)

    def solve_directly(self, edge: NDArray[np.float64], rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return x by a factorization, shape (m,): dense for a few items, sparse for many.

        Raises
        ------
        ContenderDiverged
            The matrix is singular.
        """
        return self._dense(edge, rhs) if self.m <= DENSE_SYSTEM else self._eliminating(edge)(rhs[None])[0]

    def solver(self, edge: NDArray[np.float64]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return a solver for right sides, which sum to zero on every scale, (k, m), from one factorization.

        Parameters
        ----------
        edge : ndarray of float64, shape (P,)

        Raises
        ------
        ContenderDiverged
            The matrix is singular.
        """
        if self.m > DENSE_SYSTEM:
            return self._eliminating(edge)
        return self.dense_solver(edge)

    def dense_solver(self, edge: NDArray[np.float64]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return a solver for right sides, as `solver`, from one dense factorization."""
        from scipy.linalg.lapack import dpotrf, dpotrs

        # Scores held at 0 stay in the matrix, apart from all else: nothing is copied. LAPACK goes by columns, so that
        # rows above the diagonal are columns below it.
        held = np.delete(np.arange(self.m), self.free)
        matrix = np.zeros((self.m, self.m))
        matrix[self.low, self.high] = -edge
        matrix[held], matrix[:, held] = 0.0, 0.0
        np.fill_diagonal(matrix, self.diagonal(edge))
        matrix[held, held] = 1.0
        factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise ContenderDiverged(SINGULAR)

        def solve_dense(sides: NDArray[np.float64]) -> NDArray[np.float64]:
            found = np.array(sides.T, order="F")
            found[held] = 0.0
            return self.balanced(dpotrs(factor, found, lower=1, overwrite_b=1)[0].T)

        return solve_dense

    def balanced(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return vectors, shape (..., m), that sum to zero on every scale, as gradients and steps do up to rounding.

        In omitted directions only the ridge holds: rounding there would be divided by it.
        """
        scale_of, sizes = self.scales.scale_of, self.scales.sizes
        if len(sizes) == 1:
            return np.asarray(vector - vector.mean(axis=-1, keepdims=True), np.float64)
        rows = vector.reshape(-1, vector.shape[-1])
        means = np.stack([np.bincount(scale_of, row, len(sizes)) for row in rows]) / sizes
        return (rows - means[:, scale_of]).reshape(vector.shape)

    def item_sums(self, of_pair: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of a number of each pair over an item's pairs, minus where it is `high`, (m,)."""
        sums: NDArray[np.float64] = np.zeros(self.m)
        sums += np.bincount(self.low, of_pair, self.m)
        sums -= np.bincount(self.high, of_pair, self.m)
        return sums

    def diagonal(self, edge: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the diagonal of ``L + ridge I``, shape (m,)."""
        diagonal = np.full(self.m, self.ridge)
        for items in (self.low, self.high):
            diagonal += np.bincount(items, edge, self.m)
        return diagonal

    def dense(self, edge: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``L + ridge I``, shape (m, m)."""
        matrix = np.zeros((self.m, self.m))
        np.fill_diagonal(matrix, self.diagonal(edge))
        matrix[self.low, self.high] = matrix[self.high, self.low] = -edge
        return matrix

    @cached_property
    def free(self) -> NDArray[np.int64]:
        """The items to solve for: without a ridge all but the first of each scale."""
        items = np.arange(self.m)
        return items if self.ridge > 0 else np.delete(items, self.scales.first)

    def inverse(self, edge: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the inverse of ``L + ridge I``, shape (m, m); without a ridge a generalized one.

        Without a ridge the first item of each scale is held at 0, and so are its row and its column.

        Raises
        ------
        ContenderDiverged
            The matrix is singular.
        """
        return self.inverse_and_determinant(edge)[0]

    def inverse_and_determinant(self, edge: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return `inverse`, and the log determinant of the inverted matrix."""
        from scipy.linalg.lapack import dpotrf, dpotri

        free = self.free
        found = np.zeros((self.m, self.m))
        if not len(free):
            return found, 0.0
        factor, failed = dpotrf(self.dense(edge)[free][:, free], overwrite_a=True)
        if failed:
            raise ContenderDiverged(SINGULAR)
        determinant = 2 * float(np.log(np.diag(factor)).sum())
        upper, failed = dpotri(factor, overwrite_c=True)
        if failed:
            raise ContenderDiverged(SINGULAR)
        whole = upper + upper.T  # dpotrf has cleared the part below the diagonal
        np.fill_diagonal(whole, np.diag(upper))
        found[np.ix_(free, free)] = whole
        return found, determinant

    @cached_property
    def elimination(self) -> Elimination:
        """The order in which items of few opponents are eliminated."""
        return Elimination(self.starts, self.high, self.scales)

    @cached_property
    def core(self) -> Laplacian:
        """The edges between items that are not eliminated."""
        starts, high, scales = self.elimination.core
        return Laplacian(starts, high, 0.0, scales)

    def resistances(self, edge: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of each edge's difference, shape (P,), as from `inverse` without a ridge.

        Of many items, items of few opponents are eliminated: see `rankbench.aggregators.likelihood.elimination`.
        Resistances of a large core are kept in `held`, and not computed for other weights until that is None again.

        Raises
        ------
        ContenderDiverged
            The matrix is singular.
        """
        if self.m <= DENSE_INVERSE:
            return self.distances(self.inverse(edge))
        if self.ridge > 0:
            graph, edges, given = self._grounded(edge)
            return graph.resistances(edges)[given]
        reduced = self.elimination.reduced(edge)
        of_core = self.elimination.core_of(reduced.weights)
        if self.core.m <= DENSE_INVERSE:
            return self.elimination.resistances(reduced, self.core.distances(self.core.inverse(of_core)))
        if self.held is None:
            exact = self.core.m <= MOST_DENSE
            own = self.core.distances(self.core.inverse(of_core)) if exact else self.core.projected(of_core)
            found = self.elimination.resistances(reduced, own)
            self.held = Held(own, edge[self.elimination.inside] * found[self.elimination.inside], exact)
            return found
        found = self.elimination.resistances(reduced, self.held.resistances)
        with np.errstate(divide="ignore", invalid="ignore"):
            found[self.elimination.inside] = np.nan_to_num(self.held.shares / edge[self.elimination.inside])
        return found

    def projected(self, edge: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return estimates of `resistances` from random projections ([SS11]_), shape (P,): the same ones each time."""
        from rankbench.aggregators.kernels.right_sides import add_squares, random_sides

        parts = np.zeros((PROJECTIONS // TOGETHER, len(edge)))

        def run(part: slice) -> None:
            for block in range(part.start, part.stop):
                sides = np.zeros((self.m, TOGETHER))
                random_sides(self.starts, self.high, edge, block * TOGETHER, sides)
                add_squares(self.starts, self.high, self._together(edge, sides, _ROUGH), parts[block])

        in_two_threads(run, len(parts))
        return np.asarray(parts.sum(axis=0) / PROJECTIONS)

    def _together(
        self, edge: NDArray[np.float64], sides: NDArray[np.float64], enough: float = _PRECISE
    ) -> NDArray[np.float64]:
        """Replace right sides, (m, K), by solutions, by conjugate gradients for all at once."""
        from rankbench.aggregators.kernels.right_sides import conjugate_gradients_together

        if conjugate_gradients_together(self.starts, self.high, edge, enough, _LONG, sides) < 0:
            raise ContenderDiverged(SINGULAR)
        return sides

    def _eliminating(self, edge: NDArray[np.float64]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return a solver for right sides, (K, m), by elimination, and in the core by a solver for its size."""
        if self.ridge > 0:
            graph, edges, _ = self._grounded(edge)
            inner = graph._eliminating(edges)

            def from_ground(sides: NDArray[np.float64]) -> NDArray[np.float64]:
                found = inner(np.column_stack([sides, -sides.sum(axis=1)]))
                return found[:, :-1] - found[:, -1:]

            return from_ground
        reduced, core = self.elimination.reduced(edge), self.core
        of_core = self.elimination.core_of(reduced.weights)
        dense = core.dense_solver(of_core) if 0 < core.m <= MOST_DENSE else None

        def solve(sides: NDArray[np.float64]) -> NDArray[np.float64]:
            found = np.empty_like(sides)

            def run(part: slice) -> None:
                for begin in range(part.start, part.stop, TOGETHER):
                    rows = slice(begin, min(begin + TOGETHER, part.stop))
                    placed, inner = self.elimination.forward(reduced, sides[rows])
                    if core.m:
                        right = core.balanced(inner.T)
                        inner[:] = dense(right).T if dense else core._together(of_core, np.ascontiguousarray(right.T))
                    found[rows] = self.balanced(self.elimination.backward(reduced, placed))

            in_two_threads(run, len(sides))
            return found

        return solve

    @cached_property
    def _ground(self) -> Laplacian:
        """The same edges, and one of weight `ridge` from each item to an added item, the ground."""
        m = self.m
        starts = np.append(self.starts + np.arange(m + 1), len(self.high) + m)
        high = np.insert(self.high, self.starts[1:], np.int32(m))
        return Laplacian(starts, high, 0.0, Scales(np.zeros(m + 1, np.int32), np.array([m + 1])))

    def _grounded(self, edge: NDArray[np.float64]) -> tuple[Laplacian, NDArray[np.float64], NDArray[np.int64]]:
        """Return the graph with the ground, the weights of its edges, and whether each was given."""
        given = np.arange(len(edge)) + self.low
        return self._ground, np.insert(edge, self.starts[1:], self.ridge), given

    def distances(self, inverse: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of each edge's difference under an inverse of this matrix, shape (P,)."""
        own = np.diag(inverse)
        return own[self.low] + own[self.high] - 2 * inverse[self.low, self.high]

    def _dense(self, edge: NDArray[np.float64], rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.linalg import solve

        free = self.free
        x = np.zeros(self.m)
        try:
            x[free] = solve(self.dense(edge)[np.ix_(free, free)], rhs[free], assume_a="pos")
        except np.linalg.LinAlgError as error:
            raise ContenderDiverged(SINGULAR) from error
        return self.balanced(x)
