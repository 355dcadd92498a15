"""Nearest points compute the calibration function of surrogates that are squares, in rational numbers.

The risk of `linear` and of `regression` under a law is a factor times the squared distance of scores from the law's
mean target. The least surrogate excess of an order is then the squared distance of a polytope of mean targets from
the cone of the order, which is a quadratic program in rational numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from rankbench.certificates.exact_modulus import Branch
from rankbench.certificates.law_cells import ONE, ZERO, LawCell, PerStructure, dot
from rankbench.certificates.piecewise import linear_solution, solve
from rankbench.certificates.true_risk import ItemOrder
from rankbench.interfaces.exact import ConvexPhi, ExactSurrogate

CenteredScores: TypeAlias = tuple[Fraction, ...]
"""A point, one number an item, with sum 0: scores up to a shift."""

SQUARE = ConvexPhi.polynomial(0, 0, 1)

DENOMINATOR = 10**9
"""Of the true excesses at which H** is computed."""


def target_of(risk: ExactSurrogate) -> CenteredScores | None:
    """Return t of a risk ``f sum_j (alpha_j - t_j)^2``, its mean taken out; None if the risk has another form."""
    m = len(risk.linear)
    units = {
        term.coefficients: term for term in risk.terms if term.phi == SQUARE and term.factor == risk.terms[0].factor
    }
    wanted = [tuple(int(i == j) for i in range(m)) for j in range(m)]
    if risk.entropy or any(risk.linear) or len(risk.terms) != m or set(units) != set(wanted):
        return None
    return _centered([units[unit].offset for unit in wanted])


def targets_of(cell: LawCell) -> list[CenteredScores]:
    """Return the target of each structure of a cell; none if some risk has another form."""
    found = [target for risk in cell.risks or () if (target := target_of(risk)) is not None]
    return found if len(found) == len(cell.risks or ()) else []


class SquaresBranch(Branch):
    """Scores in the cone of a wrong order, in one cell, for a risk of squares.

    Parameters
    ----------
    gap : PerStructure
        Excess of the wrong order, for each structure.
    order : ItemOrder
    targets : sequence of CenteredScores
        Target of each structure.
    factor : Fraction
        Factor of the squared distance.
    corners : sequence of PerStructure
        Vertices of the cell.
    """

    def __init__(
        self,
        gap: PerStructure,
        order: ItemOrder,
        targets: Sequence[CenteredScores],
        factor: Fraction,
        corners: Sequence[PerStructure],
    ) -> None:
        m = len(order)
        reached: dict[tuple[Fraction, CenteredScores], None] = {}
        for corner in corners:
            reached[dot(gap, corner), tuple(dot(corner, [t[i] for t in targets]) for i in range(m))] = None
        super().__init__(max(excess for excess, _ in reached))
        self._reached, self._factor, self._order = list(reached), factor, order
        # Minus the rays of the cone.
        self._rays = [_centered([-ONE * (i in order[:k]) for i in range(m)]) for k in range(1, m)]

    def place(self, eps: Fraction) -> Fraction:
        """Return a true excess near eps with few digits."""
        return min(self.end, Fraction(round(eps * DENOMINATOR), DENOMINATOR))

    def least_excess(self, eps: Fraction) -> tuple[Fraction, Fraction]:
        """Find the shortest vector from the cone to the targets of laws."""
        above = [one for one in self._reached if one[0] >= eps]
        below = [one for one in self._reached if one[0] < eps]
        points = [at for _, at in above]
        for (high, a), (low, b) in itertools.product(above, below):
            share = (eps - low) / (high - low)
            points.append(tuple(share * x + (1 - share) * y for x, y in zip(a, b, strict=True)))
        x = least_norm(list(dict.fromkeys(points)), self._rays)
        square = dot(x, x)
        # The plane through x: no law is nearer than 2 x.target - |x|^2.
        slope = max((2 * (square - dot(x, at)) / (eps - excess) for excess, at in below), default=ZERO)
        return self._factor * square, self._factor * max(ZERO, slope)

    def undetected(self) -> Fraction:
        """Return the largest true excess of laws whose mean target is in the cone; at least 0."""
        rows = [[at[b] - at[a] for _, at in self._reached] for a, b in itertools.pairwise(self._order)]
        whole = [[sign] * len(self._reached) for sign in (ONE, -ONE)]
        worth = [excess for excess, _ in self._reached]
        solved = solve([*rows, *whole], [*[ZERO] * len(rows), ONE, -ONE], worth)
        return max(ZERO, solved.value) if solved is not None and solved.feasible else ZERO


def squares_branches(cell: LawCell) -> list[Branch]:
    """Return the branches of a cell of risks with targets."""
    targets, factor = targets_of(cell), (cell.risks or ())[0].terms[0].factor
    return [SquaresBranch(gap, order, targets, factor, cell.corners) for order, gap in cell.gaps.items()]


def _centered(at: Sequence[Fraction]) -> CenteredScores:
    mean = sum(at, ZERO) / len(at)
    return tuple(x - mean for x in at)


def least_norm(points: Sequence[CenteredScores], rays: Sequence[CenteredScores]) -> CenteredScores:
    """Return the shortest vector of the convex hull of points and all ways along rays, exactly (Wolfe 1976).

    The vectors in use are affinely independent: a new one has a smaller product with the shortest vector of their
    span than all of them.
    """
    kept: list[tuple[CenteredScores, bool]] = [(min(points, key=lambda point: dot(point, point)), True)]
    shares = [ONE]
    while True:
        x = _mixed(kept, shares)
        square = dot(x, x)
        point = min(points, key=lambda one: dot(one, x))
        ray = min(rays, key=lambda one: dot(one, x))
        if dot(point, x) < square:
            kept.append((point, True))
        elif dot(ray, x) < 0:
            kept.append((ray, False))
        else:
            return x
        shares.append(ZERO)
        while True:
            wanted = _shortest(kept)
            if min(wanted) >= 0:
                shares = wanted
                break
            way = min(c / (c - w) for c, w in zip(shares, wanted, strict=True) if w < 0)
            shares = [c + way * (w - c) for c, w in zip(shares, wanted, strict=True)]
            left = [at for at, share in enumerate(shares) if share > 0]
            kept, shares = [kept[at] for at in left], [shares[at] for at in left]


def _mixed(kept: Sequence[tuple[CenteredScores, bool]], shares: Sequence[Fraction]) -> CenteredScores:
    return tuple(dot(shares, [vector[i] for vector, _ in kept]) for i in range(len(kept[0][0])))


def _shortest(kept: Sequence[tuple[CenteredScores, bool]]) -> list[Fraction]:
    """Return the shares of the shortest vector; shares of points have sum 1, and some may be below 0."""
    rows = [[*(dot(own, other) for other, _ in kept), -ONE * point] for own, point in kept]
    rows.append([*(ONE * point for _, point in kept), ZERO])
    solved = linear_solution(rows, [*[ZERO] * len(kept), ONE])
    if solved is None:
        raise ArithmeticError("the vectors in use have a shortest mean")
    return list(solved[:-1])
