"""Linear programs in exact rational arithmetic: small ones, with the multipliers that prove the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Solved", "solve"]


@dataclass(frozen=True)
class Solved:
    """What became of ``max c'x, A x <= b, x >= 0``.

    Attributes
    ----------
    feasible : bool
    x : tuple of Fraction
        A best point; empty if there is no point.
    y : tuple of Fraction
        Multipliers of the rows, at least 0. Of a best point: ``y'A >= c`` and ``y'b = c'x``.
        If there is no point: ``y'A >= 0`` and ``y'b < 0`` (Farkas).
    value : Fraction
    """

    feasible: bool
    x: tuple[Fraction, ...]
    y: tuple[Fraction, ...]
    value: Fraction


class _Dictionary:
    """Basic variables as sums of the others: a row is ``[number, coefficients...]``."""

    def __init__(self, rows: list[list[Fraction]], basic: list[int], free: list[int]) -> None:
        self.rows, self.basic, self.free = rows, basic, free

    def pivot(self, row: int, column: int) -> None:
        """Let the free variable of a column and the basic one of a row change places."""
        pivot = self.rows[row]
        factor = -1 / pivot[column]
        solved = [entry * factor for entry in pivot]
        solved[column] = -factor
        touched = [j for j, entry in enumerate(solved) if entry]
        for i, other in enumerate(self.rows):
            if i == row:
                continue
            times = other[column]
            if times:
                other[column] = Fraction(0)
                for j in touched:
                    other[j] += times * solved[j]
        self.rows[row] = solved
        self.basic[row], self.free[column - 1] = self.free[column - 1], self.basic[row]

    def improve(self) -> bool:
        """Pivot until the last row's objective cannot grow (Bland's rule); False if it grows without end."""
        while True:
            objective = self.rows[-1]
            entering = [(self.free[j - 1], j) for j in range(1, len(objective)) if objective[j] > 0]
            if not entering:
                return True
            column = min(entering)[1]
            leaving = [
                (row[0] / -row[column], self.basic[i], i) for i, row in enumerate(self.rows[:-1]) if row[column] < 0
            ]
            if not leaving:
                return False
            self.pivot(min(leaving)[2], column)


def solve(a: Sequence[Sequence[Fraction]], b: Sequence[Fraction], c: Sequence[Fraction]) -> Solved | None:
    """Return a best point of ``max c'x, A x <= b, x >= 0`` with its proof; None if there is no bound.

    Chvatal 1983, chapter 3. Variables are 1..n, slacks n+1..n+k, the auxiliary one is 0.
    """
    n, k, zero = len(c), len(b), Fraction(0)
    if k and min(b) < 0:
        # Phase 1: x_0 is taken from every row, and made as small as it can be.
        rows = [[b[i], Fraction(1), *(-entry for entry in a[i])] for i in range(k)]
        rows.append([zero, Fraction(-1), *[zero] * n])
        table = _Dictionary(rows, [*range(n + 1, n + k + 1), -1], [0, *range(1, n + 1)])
        table.pivot(min(range(k), key=lambda i: b[i]), 1)
        table.improve()
        if table.rows[-1][0] < 0:
            y = [zero] * k
            for column, variable in enumerate(table.free, 1):
                if variable > n:
                    y[variable - n - 1] = -table.rows[-1][column]
            return Solved(False, (), tuple(y), zero)
        if 0 in table.basic:
            row = table.basic.index(0)
            column = next(j for j in range(1, n + 2) if table.rows[row][j])
            table.pivot(row, column)
        gone = table.free.index(0) + 1
        rows = [row[:gone] + row[gone + 1 :] for row in table.rows[:-1]]
        free = [v for v in table.free if v]
        basic = table.basic[:-1]
    else:
        rows = [[b[i], *(-entry for entry in a[i])] for i in range(k)]
        free, basic = list(range(1, n + 1)), list(range(n + 1, n + k + 1))
    objective = [zero] * (n + 1)
    for variable, weight in enumerate(c, 1):
        if not weight:
            continue
        if variable in free:
            objective[free.index(variable) + 1] += weight
        else:
            objective = [o + weight * r for o, r in zip(objective, rows[basic.index(variable)], strict=True)]
    table = _Dictionary([*rows, objective], [*basic, -1], free)
    if not table.improve():
        return None
    x = [zero] * n
    for i, variable in enumerate(table.basic[:-1]):
        if 1 <= variable <= n:
            x[variable - 1] = table.rows[i][0]
    y = [zero] * k
    for column, variable in enumerate(table.free, 1):
        if variable > n:
            y[variable - n - 1] = -table.rows[-1][column]
    return Solved(True, tuple(x), tuple(y), table.rows[-1][0])
