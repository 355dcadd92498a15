"""Solvers of Laplacian systems of compared items work by iteration, or directly where iteration takes long."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged
from rankbench.interfaces.pair_counts import Scales

DENSE_SYSTEM = 1500
"""Most items whose systems are factorized as dense matrices (18 MB)."""

PATIENCE = 80
"""Steps of conjugate gradients before the system is factorized."""

_SINGULAR = "the scores run so far apart that the system for the next step is singular; a ridge keeps them together"


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
        return self._dense(edge, rhs) if self.m <= DENSE_SYSTEM else self._sparse(edge, rhs)

    def solver(self, edge: NDArray[np.float64]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return what solves for right sides, which sum to zero on every scale, (k, m): factorized once for all.

        Parameters
        ----------
        edge : ndarray of float64, shape (P,)

        Raises
        ------
        ContenderDiverged
            The matrix is singular.
        """
        if self.m > DENSE_SYSTEM:

            def solve_sparse(sides: NDArray[np.float64]) -> NDArray[np.float64]:
                sides = np.ascontiguousarray(sides)
                return np.stack([self.solve(edge, side, 1e-12 * float(np.linalg.norm(side))) for side in sides])

            return solve_sparse
        from scipy.linalg.lapack import dpotrf, dpotrs

        # Scores held at 0 stay in the matrix, apart from all else: nothing is copied. LAPACK goes by columns, so that
        # rows of what is above the diagonal are columns of what is below it.
        held = np.delete(np.arange(self.m), self.free)
        matrix = np.zeros((self.m, self.m))
        matrix[self.low, self.high] = -edge
        matrix[held], matrix[:, held] = 0.0, 0.0
        np.fill_diagonal(matrix, self.diagonal(edge))
        matrix[held, held] = 1.0
        factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise ContenderDiverged(_SINGULAR)

        def solve_dense(sides: NDArray[np.float64]) -> NDArray[np.float64]:
            found = np.array(sides.T, order="F")
            found[held] = 0.0
            return self.balanced(dpotrs(factor, found, lower=1, overwrite_b=1)[0].T)

        return solve_dense

    def balanced(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a vector, (m,), that sums to zero on every scale, as gradients and steps do but for rounding.

        Along what is left out only the ridge holds: rounding there would be divided by it.
        """
        return self.scales.centered(vector)

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
        """The items that are solved for: without a ridge all but the first of each scale."""
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
        """Return `inverse`, and the logarithm of the determinant of what is inverted."""
        from scipy.linalg.lapack import dpotrf, dpotri

        free = self.free
        found = np.zeros((self.m, self.m))
        if not len(free):
            return found, 0.0
        factor, failed = dpotrf(self.dense(edge)[free][:, free], overwrite_a=True)
        if failed:
            raise ContenderDiverged(_SINGULAR)
        determinant = 2 * float(np.log(np.diag(factor)).sum())
        upper, failed = dpotri(factor, overwrite_c=True)
        if failed:
            raise ContenderDiverged(_SINGULAR)
        whole = upper + upper.T  # dpotrf has cleared what is below the diagonal
        np.fill_diagonal(whole, np.diag(upper))
        found[np.ix_(free, free)] = whole
        return found, determinant

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
            raise ContenderDiverged(_SINGULAR) from error
        return self.balanced(x)

    def _sparse(self, edge: NDArray[np.float64], rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.sparse import coo_array
        from scipy.sparse.linalg import splu

        items = np.arange(self.m)
        i, j = np.concatenate([self.low, self.high, items]), np.concatenate([self.high, self.low, items])
        entries = np.concatenate([-edge, -edge, self.diagonal(edge)])
        matrix = coo_array((entries, (i, j)), shape=(self.m, self.m)).tocsr()
        free = self.free
        inner = matrix[free][:, free].tocsc()
        x = np.zeros(self.m)
        try:
            factors = splu(inner, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError as error:
            raise ContenderDiverged(_SINGULAR) from error
        x[free] = factors.solve(rhs[free])
        return self.balanced(x)
