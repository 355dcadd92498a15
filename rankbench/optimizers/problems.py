"""Problems are regularized empirical risks (24) in the parameters theta of a linear model, over items or over pairs."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError, SpecError
from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.surrogate import PairwiseSurrogate

CHUNK = 16384
"""Pairs worked on at a time: their margins and derivatives stay in cache."""


class Gram:
    """A symmetric positive semidefinite matrix and its eigendecomposition, made once.

    Parameters
    ----------
    matrix : ndarray of float64, shape (d, d)
    """

    def __init__(self, matrix: NDArray[np.float64]) -> None:
        self.matrix = np.asarray(matrix, dtype=np.float64)

    @cached_property
    def _eigen(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Eigenvalues, ascending, with negative rounding errors set to 0, and eigenvectors."""
        values, vectors = np.linalg.eigh(self.matrix)
        return np.maximum(values, 0.0), vectors

    def solve(self, b: NDArray[np.float64], l2: float) -> NDArray[np.float64]:
        """Return the solution of ``(H + l2 I) theta = b`` in O(d^2), shape (d,).

        Directions in which ``H + l2 I`` is zero to working precision get 0: the solution
        of least norm.
        """
        values, vectors = self._eigen
        curvature = values + l2
        floor = len(values) * np.finfo(np.float64).eps * curvature.max(initial=0.0)
        inverse = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=curvature > floor)
        return vectors @ (inverse * (b @ vectors))


class QuadraticProblem:
    """``1/2 theta' H theta - b' theta + constant + l2/2 |theta|^2``.

    With the regression surrogate (28) the risk (19) has this form: H is the Gram matrix
    of the features, which neither the aggregator nor k nor lambda changes, b the features'
    product with the mean targets.

    Parameters
    ----------
    gram : Gram
        H, shared between problems.
    b : ndarray of float64, shape (d,)
    l2 : float
        lambda >= 0.
    constant : float
    """

    def __init__(self, gram: Gram, b: NDArray[np.float64], l2: float = 0.0, constant: float = 0.0) -> None:
        self.gram, self.b, self.l2, self.constant = gram, b, l2, constant

    @property
    def dimension(self) -> int:
        """Number of parameters d."""
        return len(self.b)

    def value_and_gradient(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the objective and its gradient, shape (d,)."""
        curved = self.gram.matrix @ theta + self.l2 * theta
        return float(theta @ (0.5 * curved - self.b)) + self.constant, curved - self.b

    def hessian(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``H + l2 I``, shape (d, d)."""
        return self.gram.matrix + self.l2 * np.eye(self.dimension)

    def minimizer(self) -> NDArray[np.float64]:
        """Return the minimizer (of least norm, if there are many), shape (d,)."""
        return self.gram.solve(self.b, self.l2)


class PairwiseProblem:
    """``sum_c v_c w_c phi(alpha_winner - alpha_loser - o_c) + l2/2 |theta|^2``, ``alpha = X theta``.

    The sum is over all comparisons c; factor w_c and offset o_c are the terms that the surrogate
    makes of c's weight (`PairwiseSurrogate.edges`). With shares ``v_c = 1/n``, n the number
    of comparisons, it is the risk (19) of order 1. It is worked on pair
    counts: a gradient costs O(N d + P) for P distinct pairs, however many comparisons
    there are, and O(P d) where there are fewer pairs than items. Everything is float64,
    for any type of features: a gradient norm of 1e-8 is out of reach of float32.

    Parameters
    ----------
    x : ndarray of float32 or float64, shape (N, d)
        Features; float64 is not copied.
    offsets : ndarray of int64, shape (Q + 1,)
        Items of query q are rows ``offsets[q]:offsets[q + 1]``.
    comparisons : Comparisons
    surrogate : PairwiseSurrogate
        Its NumPy form is used: on arrays it is as fast as a compiled scalar function.
    l2 : float
        lambda >= 0.
    shares : ndarray of float64, shape (n,), optional
        v_c; 1/n unless given.

    Attributes
    ----------
    items : ndarray of int64, shape (Q + 1,)
        The given `offsets`.
    pairs : Comparisons
        See `merged_pairs`.
    shares, offsets : ndarray of float64, shape (P,)
        ``v_c w_c`` and o_c, summed over the comparisons of each pair; one offset, shape
        (1,), where all are the same.

    Raises
    ------
    InputError
        No comparisons, or items that are not there.
    """

    def __init__(
        self,
        x: NDArray[np.float32] | NDArray[np.float64],
        offsets: NDArray[np.int64],
        comparisons: Comparisons,
        surrogate: PairwiseSurrogate,
        l2: float = 0.0,
        shares: NDArray[np.float64] | None = None,
    ) -> None:
        self.x: NDArray[np.float64] = np.ascontiguousarray(x, dtype=np.float64)
        factors, self.offsets = surrogate.edges(comparisons.weights)
        # Comparisons of equal pairs are one term unless their offsets differ.
        merged = not (self.offsets != self.offsets[:1]).any()
        if merged:
            self.offsets = self.offsets[:1]
        said = replace(comparisons, weights=factors if shares is None else factors * shares)
        self.items = np.ascontiguousarray(offsets, dtype=np.int64)
        self.pairs = merged_pairs(said, self.items, merged)
        if self.x.ndim != 2 or len(self.x) != self.items[-1]:
            raise InputError(f"features have shape {self.x.shape}, there are {self.items[-1]} items")
        self.surrogate, self.l2 = surrogate, l2
        self.shares = self.pairs.weights / (len(comparisons) if shares is None else 1.0)

    @property
    def dimension(self) -> int:
        """Number of parameters d."""
        return int(self.x.shape[1])

    def value_and_gradient(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the objective and its gradient, shape (d,)."""
        from rankbench.optimizers.kernels import margins, scatter

        tails, heads, shares = self.pairs.winners, self.pairs.losers, self.shares
        value = 0.5 * self.l2 * float(theta @ theta)
        if len(shares) <= len(self.x):
            margin = self._margins(theta)
            value += float(shares @ self.surrogate.phi(margin))
            return value, self.differences.combine(shares * self.surrogate.dphi(margin)) + self.l2 * theta
        alpha = self.x @ theta
        pull = np.zeros(len(alpha))
        margin = np.empty(min(CHUNK, len(shares)))
        for start in range(0, len(shares), CHUNK):
            part = slice(start, start + CHUNK)
            share = shares[part]
            margin = margin[: len(share)]
            margins(alpha, tails[part], heads[part], margin)
            self._move(margin, part)
            value += float(share @ self.surrogate.phi(margin))
            scatter(share * self.surrogate.dphi(margin), tails[part], heads[part], pull)
        return value, pull @ self.x + self.l2 * theta

    def _margins(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the margins of all pairs, less their offsets, shape (P,)."""
        margin = self.differences.margins(theta)
        self._move(margin, slice(None))
        return margin

    def _move(self, margin: NDArray[np.float64], part: slice) -> None:
        """Subtract the offsets of these pairs from their margins."""
        margin -= self.offsets[part] if len(self.offsets) > 1 else self.offsets

    @cached_property
    def differences(self) -> PairDifferences:
        """Differences of the pairs' features."""
        return PairDifferences(self.x, self.pairs.winners, self.pairs.losers)

    def hessian(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives, shape (d, d).

        They are a sum over pairs, ``sum_p c_p delta_p delta_p' + l2 I``, and as well one over
        queries, ``sum_q X_q' L_q X_q + l2 I`` with L_q the Laplacian of their pairs: the one with
        fewer products is computed.

        Raises
        ------
        SpecError
            The surrogate is not smooth.
        """
        if "smooth" not in self.surrogate.properties:
            raise SpecError(f"surrogate {self.surrogate.name!r} has no second derivative; use another optimizer")
        d, sizes = self.dimension, np.diff(self.items)
        by_pairs = len(self.shares) * d <= int(sizes @ sizes) + len(self.x) * d
        if by_pairs:
            curved = self.differences.gram(self.shares * self.surrogate.ddphi(self._margins(theta)))
        else:
            curved = self._gram_of_queries(theta)
        return curved + self.l2 * np.eye(d)

    def _gram_of_queries(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        from rankbench.optimizers.kernels import laplacian, margins

        pairs = self.pairs
        alpha = self.x @ theta
        spread = np.empty_like(self.x)
        for q, (start, stop) in enumerate(zip(self.items[:-1], self.items[1:], strict=True)):
            part = slice(pairs.offsets[q], pairs.offsets[q + 1])
            margin = np.empty(part.stop - part.start)
            margins(alpha, pairs.winners[part], pairs.losers[part], margin)
            self._move(margin, part)
            graph = np.empty((stop - start, stop - start))
            curvature = self.shares[part] * self.surrogate.ddphi(margin)
            laplacian(curvature, pairs.winners[part], pairs.losers[part], start, graph)
            np.matmul(graph, self.x[start:stop], out=spread[start:stop])
        gram: NDArray[np.float64] = self.x.T @ spread
        # Exact arithmetic is symmetric, two different products are not.
        return 0.5 * (gram + gram.T)


def merged_pairs(comparisons: Comparisons, items: NDArray[np.int64], merged: bool = True) -> Comparisons:
    """Return the distinct (winner, loser) pairs of each query with their weights, in linear time.

    Parameters
    ----------
    comparisons : Comparisons
    items : ndarray of int64, shape (Q + 1,)
        Items of query q are rows ``items[q]:items[q + 1]``.
    merged : bool
        False keeps every comparison as a pair of its own, in their order.

    Returns
    -------
    Comparisons
        Items are rows among the items of all queries. (i, j) and (j, i) are two pairs.

    Raises
    ------
    InputError
        No comparisons, other queries than the items have, or an item that its query does not have.
    """
    from rankbench.optimizers.kernels import merge_comparisons

    if len(comparisons.offsets) != len(items):
        raise InputError(
            f"comparisons of {len(comparisons.offsets) - 1} queries do not fit items of {len(items) - 1} queries"
        )
    n = len(comparisons)
    if n == 0:
        raise InputError("there are no comparisons to learn from")
    starts = np.zeros(len(items), np.int64)
    tails, heads, weights = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
    bad = merge_comparisons(
        items,
        np.ascontiguousarray(comparisons.offsets, dtype=np.int64),
        np.ascontiguousarray(comparisons.winners, dtype=np.int32),
        np.ascontiguousarray(comparisons.losers, dtype=np.int32),
        np.ascontiguousarray(comparisons.weights, dtype=np.float64),
        starts,
        tails,
        heads,
        weights,
    )
    if bad < 0 and not merged:
        base = np.repeat(items[:-1], comparisons.counts)
        starts = np.ascontiguousarray(comparisons.offsets, dtype=np.int64)
        tails, heads = ((base + side).astype(np.int32) for side in (comparisons.winners, comparisons.losers))
        return Comparisons(starts, tails, heads, np.array(comparisons.weights, dtype=np.float64))
    if bad >= 0:
        q = int(np.searchsorted(comparisons.offsets, bad, side="right")) - 1
        raise InputError(
            f"items {comparisons.winners[bad]} and {comparisons.losers[bad]} are compared, but query {q} has "
            f"items 0 to {items[q + 1] - items[q] - 1}",
            row=int(bad) + 1,
        )
    count = int(starts[-1])
    return Comparisons(starts, tails[:count].copy(), heads[:count].copy(), weights[:count].copy())


DENSE = 1 << 24
"""Numbers up to which the differences are kept as a matrix of their own (128 MB)."""

PAIRS_AT_ONCE = 4096
"""Pairs worked on at a time where they are not."""


class PairDifferences:
    """Differences ``x_tail - x_head`` of pairs, shape (P, d), stored as a whole if few.

    Parameters
    ----------
    x : ndarray of float64, shape (N, d)
    tails, heads : ndarray of int32, shape (P,)
        Rows of x.
    """

    def __init__(self, x: NDArray[np.float64], tails: NDArray[np.int32], heads: NDArray[np.int32]) -> None:
        self.x, self.tails, self.heads = x, tails, heads
        self.whole = x[tails] - x[heads] if len(tails) * x.shape[1] <= DENSE else None

    def __len__(self) -> int:
        return len(self.tails)

    @property
    def dimension(self) -> int:
        """Number of features d."""
        return int(self.x.shape[1])

    def rows(self, chosen: slice | NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the differences of some pairs, shape (p, d)."""
        if self.whole is not None:
            return self.whole[chosen]
        return self.x[self.tails[chosen]] - self.x[self.heads[chosen]]

    def margins(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``<theta, x_tail - x_head>`` of every pair, shape (P,)."""
        if self.whole is not None:
            return self.whole @ theta
        alpha = self.x @ theta
        return alpha[self.tails] - alpha[self.heads]

    def combine(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``sum_c coefficients_c (x_tail - x_head)``, shape (d,)."""
        if self.whole is not None:
            return coefficients @ self.whole
        from rankbench.optimizers.kernels import scatter

        pull = np.zeros(len(self.x))
        scatter(coefficients, self.tails, self.heads, pull)
        return pull @ self.x

    def gram(self, coefficients: NDArray[np.float64], chosen: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return ``sum_c coefficients_c (x_tail - x_head)(x_tail - x_head)'``, shape (d, d).

        Parameters
        ----------
        coefficients : ndarray of float64, shape (p,)
        chosen : ndarray of int64, shape (p,), optional
            The pairs that they belong to; all unless given.
        """
        total = np.zeros((self.dimension, self.dimension))
        for start in range(0, len(coefficients), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            rows = self.rows(part if chosen is None else chosen[part])
            total += (rows * coefficients[part, None]).T @ rows
        # Exact arithmetic is symmetric, rounding is not.
        return 0.5 * (total + total.T)
