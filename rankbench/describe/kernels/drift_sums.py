"""Sums over votes from which an item's change with time is tested, for all moments in one pass.

A quarter is a vote's place among the moments: 0 before the first, 1 from the first to the second, and so on.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import declared

__all__ = ["add_by_quarter", "add_squares_of_judges"]

_INDEX = types.Array(types.int32, 1, "C", readonly=True)
_STARTS = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.float64, 1, "C", readonly=True)
_FLAGS = types.Array(types.boolean, 1, "C", readonly=True)
_TABLE = types.Array(types.float64, 2, "C", readonly=True)


@declared(
    types.void(_INDEX, _INDEX, _INDEX, _VECTOR, _VECTOR, _VECTOR, _VECTOR, _FLAGS, types.float64[:, :, ::1]),
)
def add_by_quarter(
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    quarter: NDArray[np.int32],
    residual: NDArray[np.float64],
    information: NDArray[np.float64],
    weight: NDArray[np.float64],
    won: NDArray[np.float64],
    aside: NDArray[np.bool_],
    sums: NDArray[np.float64],
) -> None:
    """Add up what votes say of both of their items, but for votes on items that are put aside.

    Parameters
    ----------
    winners, losers, quarter : ndarray of int32, shape (n,)
    residual, information, weight : ndarray of float64, shape (n,)
        The residual is the winner's; the loser's is its negative.
    won : ndarray of float64, shape (n,)
        The winner's share of the win: 1, or 1/2 of a tie.
    aside : ndarray of bool, shape (m,)
    sums : ndarray of float64, shape (6, m, Q)
        Added to: information, residual, its square, its fourth power, weight and wins.
    """
    for vote in range(len(winners)):
        if aside[winners[vote]] or aside[losers[vote]]:
            continue
        at, said = quarter[vote], residual[vote]
        square = said * said
        for item, own, share in (
            (winners[vote], said, won[vote]),
            (losers[vote], -said, 1.0 - won[vote]),
        ):
            sums[0, item, at] += information[vote]
            sums[1, item, at] += own
            sums[2, item, at] += square
            sums[3, item, at] += square * square
            sums[4, item, at] += weight[vote]
            sums[5, item, at] += weight[vote] * share


@declared(
    types.void(_STARTS, _INDEX, _INDEX, _INDEX, _VECTOR, _FLAGS, _TABLE, types.float64[:, ::1], types.float64[:, ::1]),
)
def add_squares_of_judges(
    starts: NDArray[np.int64],
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    quarter: NDArray[np.int32],
    residual: NDArray[np.float64],
    aside: NDArray[np.bool_],
    mean: NDArray[np.float64],
    squares: NDArray[np.float64],
    fourths: NDArray[np.float64],
) -> None:
    """Add squares and fourth powers of what each judge says of a change of each item at each moment.

    A judge says the sum of the item's residuals from the moment on, less the mean times the sum of all of them.

    Parameters
    ----------
    starts : ndarray of int64, shape (G + 1,)
        Votes of judge g are ``starts[g]:starts[g + 1]``.
    winners, losers, quarter : ndarray of int32, shape (n,)
    residual : ndarray of float64, shape (n,)
        The winner's.
    aside : ndarray of bool, shape (m,)
        Items whose votes do not count.
    mean : ndarray of float64, shape (Q - 1, m)
        Share of an item's information that came from each moment on.
    squares, fourths : ndarray of float64, shape (Q - 1, m)
        Added to.
    """
    moments, m = mean.shape
    own = np.zeros((m, moments + 1))
    seen, items = np.zeros(m, np.bool_), np.empty(m, np.int32)
    for judge in range(len(starts) - 1):
        known = 0
        for vote in range(starts[judge], starts[judge + 1]):
            if aside[winners[vote]] or aside[losers[vote]]:
                continue
            for item, said in ((winners[vote], residual[vote]), (losers[vote], -residual[vote])):
                if not seen[item]:
                    seen[item] = True
                    items[known] = item
                    known += 1
                own[item, quarter[vote]] += said
        for item in items[:known]:
            total = own[item].sum()
            after = total
            for moment in range(moments):
                after -= own[item, moment]
                square = (after - mean[moment, item] * total) ** 2
                squares[moment, item] += square
                fourths[moment, item] += square * square
            seen[item] = False
            own[item, :] = 0.0
