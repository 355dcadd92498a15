"""Products with covariates of votes, and sums of them: over rows, and by item."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["CELLS", "INDEX", "OUT", "READ", "TABLE", "VALUES", "add_across", "add_products", "product_of_row"]

INDEX = types.Array(types.int32, 1, "C", readonly=True)
CELLS = types.Array(types.float64, 2, "C", readonly=True)
READ = types.Array(types.float64, 1, "C", readonly=True)
TABLE = types.float64[:, ::1]
OUT = types.float64[::1]
VALUES = [types.Array(dtype, 2, "C", readonly=True) for dtype in (types.float32, types.float64)]


# A sum of products in any order is one of many numbers at a time.
@declared(*[types.float64(values, types.uint64, READ) for values in VALUES], fastmath={"reassoc", "contract"})
def product_of_row(x: NDArray[np.floating], r: int, effects: NDArray[np.float64]) -> float:
    """Return the product of a row with effects."""
    product = 0.0
    for a in range(np.uint64(len(effects))):
        product += x[r, a] * effects[a]
    return product


@declared(*[types.void(values, types.int64, types.int64, READ, OUT) for values in VALUES])
def add_products(
    x: NDArray[np.floating], begin: int, end: int, factor: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Add the sum of rows ``begin:end`` times their factors, (end - begin,), to the first p numbers of `out`."""
    p, fours = np.uint64(x.shape[1]), begin + (end - begin) // 4 * 4
    for row in range(begin, fours, 4):
        r, k = np.uint64(row), np.uint64(row - begin)
        one, two, three, four = factor[k], factor[k + np.uint64(1)], factor[k + np.uint64(2)], factor[k + np.uint64(3)]
        for a in range(p):
            out[a] += (one * x[r, a] + two * x[r + np.uint64(1), a]) + (
                three * x[r + np.uint64(2), a] + four * x[r + np.uint64(3), a]
            )
    for row in range(fours, end):
        for a in range(p):
            out[a] += factor[row - begin] * x[row, a]


@declared(
    *[
        types.void(
            INDEX, INDEX, INDEX, values, types.int64, types.int64, READ, READ, OUT, TABLE, values.copy(readonly=False)
        )
        for values in VALUES
    ]
)
def add_across(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    pair: NDArray[np.int32],
    x: NDArray[np.floating],
    begin: int,
    end: int,
    weight: NDArray[np.float64],
    beside: NDArray[np.float64],
    edge: NDArray[np.float64],
    cross: NDArray[np.float64],
    scaled: NDArray[np.floating],
) -> None:
    """Add weights of rows ``begin:end`` to their pairs, weighted rows to first items, and take them off second ones.

    Parameters
    ----------
    pair : ndarray of int32, shape (R,)
        Number of each row's pair.
    weight, beside : ndarray of float64, shape (end - begin,)
        0 or more; the weight of eta, where it is the last unknown.
    edge, cross : ndarray of float64, shapes (P,), (m, q)
    scaled : ndarray of float32 or float64, shape (end - begin, p)
        Written: rows times the roots of their weights, whose products are the information on two covariates.
    """
    # Numbers without a sign are no places from the end, of which there would be a check each.
    p = np.uint64(x.shape[1])
    for row in range(begin, end):
        edge[np.uint64(pair[np.uint64(row)])] += weight[np.uint64(row - begin)]
    if cross.shape[1] > x.shape[1]:
        for row in range(begin, end):
            cross[first[row], p] += beside[row - begin]
            cross[second[row], p] -= beside[row - begin]
    for row in range(begin, end):
        r, k = np.uint64(row), np.uint64(row - begin)
        i, j = np.uint64(first[r]), np.uint64(second[r])
        w = weight[k]
        root = math.sqrt(w)
        for a in range(p):
            along = w * x[r, a]
            cross[i, a] += along
            cross[j, a] -= along
            scaled[k, a] = root * x[r, a]
