"""Exact linear programs compute the calibration function of piecewise linear surrogates."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

from rankbench.certify.classes import connected
from rankbench.certify.law_cells import ONE, ZERO, LawCell, PerStructure, dot
from rankbench.certify.piecewise import Solved, solve
from rankbench.certify.pointwise import exact_value
from rankbench.interfaces.exact import ExactSurrogate

LineBelow = tuple[Fraction, Fraction]
"""Intercept and slope."""


@dataclass
class Branch:
    """Scores in the cone of a wrong order, in one cell: their least surrogate excess is convex in the true excess.

    Attributes
    ----------
    gap : PerStructure
        Excess of the wrong order, for each structure.
    above : list of PerStructure
        Risk of these scores less that of others, for each structure.
    rows : sequence of PerStructure
        Rows of the cell.
    lines : list of LineBelow
        Lines that the least excess is not below.
    solved : set of Fraction
        True excesses at which a program was solved.
    end : Fraction
        Largest true excess of the cell's laws.
    """

    gap: PerStructure
    above: list[PerStructure]
    rows: Sequence[PerStructure]
    end: Fraction
    lines: list[LineBelow] = field(default_factory=lambda: [(ZERO, ZERO)])
    solved: set[Fraction] = field(default_factory=set)

    def at_least(self, eps: Fraction) -> Fraction:
        """Return a bound that is known already."""
        return max(intercept + slope * eps for intercept, slope in self.lines)

    def solve(self, eps: Fraction) -> Fraction:
        """Return the least surrogate excess of a true excess from eps to `end`, and keep the line that proves it."""
        self.solved.add(eps)
        rows = [*([*row, -ONE] for row in self.above), [*(-g for g in self.gap), ZERO]]
        solved = self._program(rows, [*[ZERO] * len(self.above), -eps], [*[ZERO] * len(self.gap), -ONE])
        slope = solved.y[len(self.above)]
        self.lines.append((-solved.value - slope * eps, slope))
        return -solved.value

    def undetected(self) -> Fraction:
        """Return the largest true excess of laws under which these scores have the least risk; at least 0."""
        solved = self._program([[*row, ZERO] for row in self.above], [ZERO] * len(self.above), [*self.gap, ZERO])
        return solved.value if solved.feasible else ZERO

    def _program(self, rows: list[list[Fraction]], right: list[Fraction], worth: list[Fraction]) -> Solved:
        """Solve for the weights of a law of the cell and one number more, the surrogate excess."""
        cell = [[*(-x for x in row), ZERO] for row in self.rows]
        whole = [[sign] * len(self.gap) + [ZERO] for sign in (ONE, -ONE)]
        solved = solve([*rows, *cell, *whole], [*right, *[ZERO] * len(self.rows), ONE, -ONE], worth)
        if solved is None:
            raise ArithmeticError("weights of laws are bounded, and so are these programs")
        return solved


def branches(cell: LawCell) -> Iterator[Branch]:
    """Return the branches of a cell; some scores of least risk on a cone have ends of pieces as differences."""
    risks = cell.risks or ()
    ends = {end + term.offset for risk in risks for term in risk.terms for end, _ in term.phi.pieces if end is not None}
    found = {scores: _values(risks, scores) for scores in connected(ends, len(risks[0].linear))}
    least = _lowest(list(found.values()))
    for order, gap in cell.gaps.items():
        end = max(dot(gap, corner) for corner in cell.corners)
        inside = [v for scores, v in found.items() if all(scores[a] >= scores[b] for a, b in pairwise(order))]
        for own in _lowest(inside):
            yield Branch(gap, [_less(own, other) for other in least if other != own], cell.rows, end)


def exact_modulus(
    cells: Sequence[LawCell], eps: Sequence[Fraction]
) -> tuple[list[Fraction | None], Fraction, list[Branch]]:
    """Return H at each eps (None: infinite), the largest eps where it is 0, and all branches."""
    every = [branch for cell in cells for branch in branches(cell) if branch.end > 0]
    least: list[Fraction | None] = [None] * len(eps)
    zero = ZERO
    for branch in every:
        for at in reversed(range(len(eps))):
            best = least[at]
            if eps[at] <= branch.end and (best is None or branch.at_least(eps[at]) < best):
                value = branch.solve(eps[at])
                least[at] = value if best is None else min(best, value)
        if not any(slope > 0 and intercept + slope * zero >= 0 for intercept, slope in branch.lines):
            zero = max(zero, branch.undetected())
    return least, zero, every


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


def convex_minorant(every: Sequence[Branch]) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of H**: branches are solved there until no corner is below H."""
    while True:
        proved = [(branch, _proved_points(branch)) for branch in every]
        hull = lower_hull([point for _, points in proved for point in points])
        open_ = [(b, x) for b, points in proved for x, y in points if (x, y) in hull and x > 0 and x not in b.solved]
        if not open_:
            return hull
        for branch, x in open_:
            branch.solve(x)


def _proved_points(branch: Branch) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of the convex function that a branch's lines prove, from 0 to its end."""
    crossings = {(c - a) / (b - d) for (a, b), (c, d) in itertools.combinations(branch.lines, 2) if b != d}
    places = sorted({ZERO, branch.end, *(x for x in crossings if ZERO < x < branch.end)})
    return [(x, max(a + b * x for a, b in branch.lines)) for x in places]


Number = TypeVar("Number", Fraction, float)


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
