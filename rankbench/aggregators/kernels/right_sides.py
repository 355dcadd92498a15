"""Kernels make many right sides of a Laplacian system from random signs, solve for all at once, and sum up solutions.

Edges are as `PairCounts` keeps pairs: edges of item i to items of higher numbers, `high`, are ``starts[i]`` to
``starts[i + 1] - 1``.
"""

from __future__ import annotations

import math

import numpy as np

from rankbench.kernels.declared import Matrix, ReadIndex, ReadRows, ReadVector, Vector, declared


@declared()
def conjugate_gradients_together(
    starts: ReadRows, high: ReadIndex, edge: ReadVector, enough: float, limit: int, sides: Matrix
) -> int:
    """Replace K right sides, (m, K), which sum to zero on each component, by solutions of a Laplacian system.

    As `rankbench.kernels.pairs.conjugate_gradients`, for all of them at once: a pair's data are read once.

    Parameters
    ----------
    enough : float
        Residual that is left, relative to the right side.
    limit : int
        Steps, at most.

    Returns
    -------
    int
        Steps taken; -1 where they were not enough.
    """
    m, lanes = sides.shape
    inverse = np.zeros(m)
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            inverse[i] += edge[e]
            inverse[high[e]] += edge[e]
    x, p, q = np.zeros((m, lanes)), np.empty((m, lanes)), np.empty((m, lanes))
    target, norm, rho, bend, rho_next = (
        np.zeros(lanes), np.zeros(lanes), np.zeros(lanes), np.zeros(lanes), np.zeros(lanes),
    )  # fmt: skip
    for i in range(m):
        inverse[i] = 1.0 / inverse[i] if inverse[i] > 0.0 else 0.0
        for k in range(lanes):
            r = sides[i, k]
            p[i, k] = inverse[i] * r
            rho[k] += r * p[i, k]
            target[k] += r * r
    for k in range(lanes):
        norm[k] = target[k]
        target[k] *= enough * enough
    for step in range(limit + 1):
        left = False
        for k in range(lanes):
            left = left or norm[k] > target[k]
        if not left:
            for i in range(m):
                for k in range(lanes):
                    sides[i, k] = x[i, k]
            return step
        q[:] = 0.0
        for i in range(m):
            for e in range(starts[i], starts[i + 1]):
                j, w = high[e], edge[e]
                for k in range(lanes):
                    flow = w * (p[i, k] - p[j, k])
                    q[i, k] += flow
                    q[j, k] -= flow
        bend[:] = 0.0
        for i in range(m):
            for k in range(lanes):
                bend[k] += p[i, k] * q[i, k]
        for k in range(lanes):
            # A right side that is solved for stays as it is.
            bend[k] = rho[k] / bend[k] if norm[k] > target[k] and bend[k] > 0.0 else 0.0
            norm[k] = 0.0
            rho_next[k] = 0.0
        for i in range(m):
            for k in range(lanes):
                x[i, k] += bend[k] * p[i, k]
                sides[i, k] -= bend[k] * q[i, k]
                norm[k] += sides[i, k] * sides[i, k]
                rho_next[k] += sides[i, k] * sides[i, k] * inverse[i]
        for k in range(lanes):
            bend[k] = rho_next[k] / rho[k] if rho[k] > 0.0 else 0.0
            rho[k] = rho_next[k]
        for i in range(m):
            for k in range(lanes):
                p[i, k] = inverse[i] * sides[i, k] + bend[k] * p[i, k]
    return -1


@declared()
def random_sides(starts: ReadRows, high: ReadIndex, edge: ReadVector, first: int, sides: Matrix) -> None:
    """Add the square root of each edge's weight, with a random sign, to one item, and subtract it from the other.

    Column k has the signs of number ``first + k``, `first` being a multiple of the number of columns, at most 64.
    """
    for i in range(sides.shape[0]):
        for e in range(starts[i], starts[i + 1]):
            bits = np.uint64(e) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(first + 1) * np.uint64(0xD1B54A32D192ED03)
            bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            bits ^= bits >> np.uint64(31)
            j, root = high[e], math.sqrt(edge[e])
            for k in range(sides.shape[1]):
                one = root if (bits >> np.uint64(k)) & np.uint64(1) == np.uint64(1) else -root
                sides[i, k] += one
                sides[j, k] -= one


@declared()
def add_squares(starts: ReadRows, high: ReadIndex, columns: Matrix, out: Vector) -> None:
    """Add the squared differences of each edge's two items, in all columns, to `out`, shape (P,)."""
    for i in range(columns.shape[0]):
        for e in range(starts[i], starts[i + 1]):
            j, total = high[e], 0.0
            for k in range(columns.shape[1]):
                gap = columns[i, k] - columns[j, k]
                total += gap * gap
            out[e] += total
