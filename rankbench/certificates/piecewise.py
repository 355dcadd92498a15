"""Exact linear programs minimize rational piecewise linear risks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.exact import ConvexPhi, ExactSurrogate

ZERO = Fraction(0)


@dataclass(frozen=True)
class Solved:
    """Outcome of ``max c'x, A x <= b, x >= 0``.

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
        """Exchange the free variable of a column and the basic one of a row."""
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

    def multipliers(self, n: int) -> tuple[Fraction, ...]:
        """Return the multipliers of the rows: minus the objective's coefficients of their slacks, after n variables."""
        found = {variable: -entry for variable, entry in zip(self.free, self.rows[-1][1:], strict=True)}
        return tuple(found.get(n + row, ZERO) for row in range(1, len(self.rows)))


def solve(a: Sequence[Sequence[Fraction]], b: Sequence[Fraction], c: Sequence[Fraction]) -> Solved | None:
    """Return an optimal point of ``max c'x, A x <= b, x >= 0`` with its proof; None if unbounded.

    Chvatal 1983, chapter 3. Variables are 1..n, slacks n+1..n+k, the auxiliary one is 0.
    """
    n, k = len(c), len(b)
    if k and min(b) < 0:
        # Phase 1: x_0 is taken from every row, and made as small as it can be.
        rows = [[b[i], Fraction(1), *(-entry for entry in a[i])] for i in range(k)]
        rows.append([ZERO, Fraction(-1), *[ZERO] * n])
        table = _Dictionary(rows, [*range(n + 1, n + k + 1), -1], [0, *range(1, n + 1)])
        table.pivot(min(range(k), key=lambda i: b[i]), 1)
        table.improve()
        if table.rows[-1][0] < 0:
            return Solved(False, (), table.multipliers(n), ZERO)
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
    objective = [ZERO] * (n + 1)
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
    x = [ZERO] * n
    for i, variable in enumerate(table.basic[:-1]):
        if 1 <= variable <= n:
            x[variable - 1] = table.rows[i][0]
    return Solved(True, tuple(x), table.multipliers(n), table.rows[-1][0])


@dataclass(frozen=True)
class LeastOnCone:
    """The least risk on the closed cone of an order.

    Attributes
    ----------
    value : Fraction
    alpha : tuple of Fraction
        Where it is attained.
    slopes : tuple of Fraction
        One of each term, which prove that it is nowhere less.
    """

    value: Fraction
    alpha: tuple[Fraction, ...]
    slopes: tuple[Fraction, ...]


def _line(phi: ConvexPhi) -> tuple[Fraction, Fraction, list[tuple[Fraction, Fraction]]]:
    """Return a piecewise linear phi as ``a + s t`` plus steps (where, by how much) of its slope."""
    padded = [(end, (*coefficients, ZERO, ZERO)[:2]) for end, coefficients in phi.pieces]
    steps = [(end, after[1] - before[1]) for (end, before), (_, after) in pairwise(padded) if end is not None]
    return padded[0][1][0], padded[0][1][1], steps


def least_on_cone(risk: ExactSurrogate, order: Sequence[int]) -> LeastOnCone | None:
    """Minimize a piecewise linear risk on a cone; None if it has no bound there.

    The variables are the steps of the slopes that are taken, from 0 to their heights; the slopes
    must add up to 0 over all items, and to no less than 0 over the first ones of the order.
    The constant of each line is largest, so that the bound is the least risk (duality).
    """
    terms = [(term, *_line(term.phi)) for term in risk.terms]
    start = list(risk.linear)
    columns: list[tuple[list[Fraction], Fraction, Fraction]] = []
    constant = ZERO
    for term, a, slope, steps in terms:
        start = [v + term.factor * slope * c for v, c in zip(start, term.coefficients, strict=True)]
        constant += term.factor * (a - slope * term.offset)
        for where, height in steps:
            push = [term.factor * c for c in term.coefficients]
            columns.append((push, -term.factor * (where + term.offset), height))
    m, n = len(order), len(columns)
    rows, right = [], []
    for k in range(1, m + 1):
        head = order[:k]
        row = [sum((push[i] for i in head), ZERO) for push, _, _ in columns]
        fixed = sum((start[i] for i in head), ZERO)
        rows.append([-entry for entry in row])
        right.append(fixed)
        if k == m:
            rows.append(row)
            right.append(-fixed)
    for at, (_, _, height) in enumerate(columns):
        rows.append([Fraction(int(at == j)) for j in range(n)])
        right.append(height)
    solved = solve(rows, right, [worth for _, worth, _ in columns])
    if solved is None or not solved.feasible:
        return None
    z = [*solved.y[: m - 1], solved.y[m - 1] - solved.y[m]]
    alpha = [ZERO] * m
    for k in range(m):
        for item in order[: k + 1]:
            alpha[item] += z[k]
    slopes, taken = [], iter(solved.x)
    for _, _, slope, steps in terms:
        slopes.append(slope + sum((next(taken) for _ in steps), ZERO))
    return LeastOnCone(constant + solved.value, tuple(alpha), tuple(slopes))


def exact_least(risk: ExactSurrogate, alpha: Sequence[Fraction]) -> tuple[Fraction, ...] | None:
    """Return slopes at alpha that sum to 0, a proof that alpha has the least risk, or None.

    Between two pieces every slope between theirs is one.
    """
    m = len(risk.linear)
    fixed, columns, lows = list(risk.linear), [], []
    for term in risk.terms:
        t = sum((c * a for c, a in zip(term.coefficients, alpha, strict=True)), ZERO) - term.offset
        low, high = _slopes(term.phi, t)
        lows.append(low)
        fixed = [v + term.factor * low * c for v, c in zip(fixed, term.coefficients, strict=True)]
        if high > low:
            columns.append(([term.factor * c for c in term.coefficients], high - low, len(lows) - 1))
    rows, right = [], []
    for i in range(m):
        row = [push[i] for push, _, _ in columns]
        rows += [row, [-entry for entry in row]]
        right += [-fixed[i], fixed[i]]
    for at, (_, height, _) in enumerate(columns):
        rows.append([Fraction(int(at == j)) for j in range(len(columns))])
        right.append(height)
    solved = solve(rows, right, [ZERO] * len(columns))
    if solved is None or not solved.feasible:
        return None
    for taken, (_, _, at) in zip(solved.x, columns, strict=True):
        lows[at] += taken
    return tuple(lows)


def _slopes(phi: ConvexPhi, t: Fraction) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest slope of phi at t."""

    def slope(coefficients: tuple[Fraction, ...]) -> Fraction:
        return sum((power * c * t ** (power - 1) for power, c in enumerate(coefficients) if power), ZERO)

    for at, (end, coefficients) in enumerate(phi.pieces):
        if end is None or t < end:
            return slope(coefficients), slope(coefficients)
        if t == end:
            return slope(coefficients), slope(phi.pieces[at + 1][1])
    raise AssertionError("the last piece has no end")


def stationary(risk: ExactSurrogate, near: NDArray[np.float64]) -> tuple[Fraction, ...] | None:
    """Return exact scores near given ones with slope 0 of their pieces, or None."""
    m = len(risk.linear)
    matrix = [[ZERO] * m for _ in range(m)]
    right = [-b for b in risk.linear]
    for term in risk.terms:
        t = float(np.dot(term.coefficients, near)) - float(term.offset)
        coefficients = next(c for end, c in term.phi.pieces if end is None or t <= float(end) + 1e-9)
        _, b, c = (*coefficients, ZERO, ZERO)[:3]
        for i, own in enumerate(term.coefficients):
            if own:
                right[i] -= term.factor * own * (b - 2 * c * term.offset)
                for j, other in enumerate(term.coefficients):
                    matrix[i][j] += 2 * term.factor * c * own * other
    return linear_solution(matrix, right)


def linear_solution(matrix: list[list[Fraction]], right: list[Fraction]) -> tuple[Fraction, ...] | None:
    """Solve linear equations exactly, with free unknowns set to 0; None without a solution."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    m, at, heads = len(rows), 0, []
    for column in range(m):
        pivot = next((i for i in range(at, m) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [entry / rows[at][column] for entry in rows[at]]
        for i in range(m):
            if i != at and rows[i][column]:
                rows[i] = [a - rows[i][column] * b for a, b in zip(rows[i], rows[at], strict=True)]
        heads.append(column)
        at += 1
    if any(row[m] for row in rows[at:]):
        return None
    found = [ZERO] * m
    for i, column in enumerate(heads):
        found[column] = rows[i][m]
    return tuple(found)
