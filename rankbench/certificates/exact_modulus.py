"""Exact linear programs compute the calibration function of piecewise linear surrogates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

from rankbench.certificates.classes import connected
from rankbench.certificates.law_cells import ONE, ZERO, LawCell, PerStructure, dot
from rankbench.certificates.piecewise import Solved, solve
from rankbench.certificates.pointwise import exact_value
from rankbench.interfaces.exact import ExactSurrogate

Number = TypeVar("Number", Fraction, float)

LineBelow = tuple[Fraction, Fraction]
"""Intercept and slope."""


class Branch(ABC):
    """Scores in the cone of a wrong order, in one cell: their least surrogate excess is convex in the true excess.

    Attributes
    ----------
    end : Fraction
        Largest true excess of the cell's laws.
    lines : list of LineBelow
        Lines that the least excess is not below.
    solved : set of Fraction
        True excesses at which a program was solved.
    """

    def __init__(self, end: Fraction) -> None:
        self.end = end
        self.lines: list[LineBelow] = [(ZERO, ZERO)]
        self.solved: set[Fraction] = set()

    def at_least(self, eps: Fraction) -> Fraction:
        """Return a bound that is known already."""
        return max(intercept + slope * eps for intercept, slope in self.lines)

    def place(self, eps: Fraction) -> Fraction:
        """Return a true excess at or near eps, for which a program is solved."""
        return eps

    def solve(self, eps: Fraction) -> Fraction:
        """Return the least surrogate excess of a true excess from eps to `end`, and keep the line that proves it."""
        value, slope = self.least_excess(eps)
        self.solved.add(eps)
        self.lines.append((value - slope * eps, slope))
        return value

    @abstractmethod
    def least_excess(self, eps: Fraction) -> tuple[Fraction, Fraction]:
        """Return the least surrogate excess of a true excess from eps to `end`, and the slope of a line below it."""

    @abstractmethod
    def undetected(self) -> Fraction:
        """Return the largest true excess of laws for which these scores have the least risk; at least 0."""


class LinearBranch(Branch):
    """Some scores in the cone of a wrong order, in one cell, for a piecewise linear risk.

    Parameters
    ----------
    gap : PerStructure
        Excess of the wrong order, for each structure.
    above : list of PerStructure
        Risk of these scores less that of others, for each structure.
    cell : LawCell
    """

    def __init__(self, gap: PerStructure, above: list[PerStructure], cell: LawCell) -> None:
        super().__init__(max(dot(gap, corner) for corner in cell.corners))
        self._gap, self._above, self._rows = gap, above, cell.rows

    def least_excess(self, eps: Fraction) -> tuple[Fraction, Fraction]:
        """Solve a linear program."""
        rows = [*([*row, -ONE] for row in self._above), [*(-g for g in self._gap), ZERO]]
        solved = self._program(rows, [*[ZERO] * len(self._above), -eps], [*[ZERO] * len(self._gap), -ONE])
        return -solved.value, solved.y[len(self._above)]

    def undetected(self) -> Fraction:
        """Solve a linear program."""
        solved = self._program([[*row, ZERO] for row in self._above], [ZERO] * len(self._above), [*self._gap, ZERO])
        return solved.value if solved.feasible else ZERO

    def _program(self, rows: list[list[Fraction]], right: list[Fraction], worth: list[Fraction]) -> Solved:
        """Solve for the weights of a law of the cell and one number more, the surrogate excess."""
        cell = [[*(-x for x in row), ZERO] for row in self._rows]
        whole = [[sign] * len(self._gap) + [ZERO] for sign in (ONE, -ONE)]
        solved = solve([*rows, *cell, *whole], [*right, *[ZERO] * len(self._rows), ONE, -ONE], worth)
        if solved is None:
            raise ArithmeticError("weights of laws are bounded, and so are these programs")
        return solved


def linear_branches(cell: LawCell) -> list[Branch]:
    """Return the branches of a cell; some scores of least risk on a cone have ends of pieces as differences."""
    risks, made = cell.risks or (), list[Branch]()
    ends = {end + term.offset for risk in risks for term in risk.terms for end, _ in term.phi.pieces if end is not None}
    found = {scores: _values(risks, scores) for scores in connected(ends, len(risks[0].linear))}
    least = _lowest(list(found.values()))
    for order, gap in cell.gaps.items():
        inside = [v for scores, v in found.items() if all(scores[a] >= scores[b] for a, b in pairwise(order))]
        for own in _lowest(inside):
            made.append(LinearBranch(gap, [_less(own, other) for other in least if other != own], cell))
    return made


def exact_modulus(branches: Sequence[Branch], eps: Sequence[Fraction]) -> tuple[list[Fraction | None], Fraction]:
    """Return H at each eps (None: infinite), and the largest eps where it is 0."""
    least: list[Fraction | None] = [None] * len(eps)
    zero = ZERO
    for branch in branches:
        for at in reversed(range(len(eps))):
            best = least[at]
            if eps[at] <= branch.end and (best is None or branch.at_least(eps[at]) < best):
                value = branch.solve(eps[at])
                least[at] = value if best is None else min(best, value)
        if not any(slope > 0 and intercept + slope * zero >= 0 for intercept, slope in branch.lines):
            zero = max(zero, branch.undetected())
    return least, zero


def _values(risks: Sequence[ExactSurrogate], scores: PerStructure) -> PerStructure:
    return tuple(exact_value(risk, scores) for risk in risks)


def _less(a: PerStructure, b: PerStructure) -> PerStructure:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _lowest(values: Sequence[PerStructure]) -> list[PerStructure]:
    """Return the values that no other is nowhere above."""
    distinct = list(dict.fromkeys(values))
    return [
        own
        for own in distinct
        if not any(other != own and all(x <= y for x, y in zip(other, own, strict=True)) for other in distinct)
    ]


def convex_minorant(branches: Sequence[Branch], error: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Return corners of a polygon that is below H**, by at most an error; branches are solved there."""
    while True:
        proved = [(branch, proved_points(branch.lines, branch.end)) for branch in branches]
        hull = lower_hull([point for _, points in proved for point in points])
        known = set(hull)
        corners = [(b, b.place(x), y) for b, points in proved for x, y in points if (x, y) in known and x > 0]
        values = [(branch.solve(x), y) for branch, x, y in corners if x not in branch.solved]
        if all(value <= y + error for value, y in values):
            return hull


def proved_points(lines: Iterable[tuple[Any, Any]], end: Any) -> list[tuple[Any, Any]]:
    """Return the corners of the convex function that lines, intercept and slope, prove from 0 to an end."""
    kept: list[tuple[Any, Any]] = []
    for line in sorted(lines, key=lambda line: line[::-1]):
        if kept and kept[-1][1] == line[1]:
            kept.pop()
        while len(kept) > 1 and _crossing(kept[-1], line) <= _crossing(kept[-2], kept[-1]):
            kept.pop()
        kept.append(line)
    crossings = {_crossing(*two) for two in pairwise(kept)}
    places = sorted({end - end, end, *(x for x in crossings if 0 < x < end)})
    return [(x, max(a + b * x for a, b in kept)) for x in places]


def _crossing(one: tuple[Any, Any], other: tuple[Any, Any]) -> Any:
    return (other[0] - one[0]) / (one[1] - other[1])


def lower_hull(points: Iterable[tuple[Number, Number]]) -> list[tuple[Number, Number]]:
    """Return the corners of the lower convex hull of points, by x (Andrew 1979)."""
    found: list[tuple[Number, Number]] = []
    for x, y in sorted(points):
        if found and x == found[-1][0]:
            continue
        while len(found) > 1:
            (a, b), (c, d) = found[-2:]
            if (c - a) * (y - b) > (d - b) * (x - a):
                break
            found.pop()
        found.append((x, y))
    return found
