"""Branch and bound encloses the calibration function of surrogates that are not piecewise linear, in double precision.

Scores of least risk on the cone of a wrong order stand on its boundary: some neighbors tie, unless the excess is 0. At
such scores the surrogate excess is convex in the law's weights, which linear programs bound. In a box of scores, the
risk is not below its tangent plane, so that the excess is least at a corner of the box.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankbench.certificates.conditional_risks import RiskFunction
from rankbench.certificates.exact_modulus import lower_hull, proved_points
from rankbench.certificates.floats import FAR, FloatRisk, cone_basis, float_risk, on_cone, somewhere
from rankbench.certificates.law_cells import LawCell
from rankbench.certificates.numerical import lowest
from rankbench.certificates.true_risk import ItemOrder
from rankbench.interfaces.exact import ConvexPhi, ExactSurrogate, PhiTerm

Vector = NDArray[np.float64]

CLOSE = 1e-6
"""Relative distance of the bounds at which the search ends."""

ROUNDING = 1e-14
"""Of true excesses, relative to the largest one of a structure."""

SAME = 1e-12
"""Surrogate excess that is 0 but for rounding."""

STRICT = 1e-4
"""True excess above which an excess of 0 is no rounding error."""

ROUNDS = 30
"""Linear programs of one corner, at most."""

CUTS = 20
"""Scores of the others, nearest to the last law's least ones, that a linear program begins with."""

LARGEST = 1e8
"""Risk of scores that bound the least one, at most: linear programs take no larger numbers."""

SMALLEST = 1e-9
"""Length of boxes that are not divided."""


PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""Of linear programs."""


class StatedRisks:
    """Risks of a cell's corners in double precision, from exact forms; terms that structures share are one.

    Parameters
    ----------
    risks : sequence of ExactSurrogate
        Of each structure.
    corners : ndarray of float64, shape (C, K)
    """

    def __init__(self, risks: Sequence[ExactSurrogate], corners: Vector) -> None:
        shared: dict[tuple[ConvexPhi, tuple[int, ...], object], Vector] = {}
        phis = list(dict.fromkeys(term.phi for risk in risks for term in risk.terms))
        for at, risk in enumerate(risks):
            for term in risk.terms:
                key = (term.phi, tuple(term.coefficients), term.offset)
                shared.setdefault(key, np.zeros(len(risks)))[at] += float(term.factor)
        keys = sorted(shared, key=lambda key: phis.index(key[0]))
        factors = np.array([shared[key] for key in keys]).reshape(-1, len(risks)) @ corners.T
        self._factors = np.where(factors < 1e-14, 0.0, factors)  # a lead of 0, but for rounding
        terms = tuple(PhiTerm(1, form, offset, phi) for phi, form, offset in keys)  # type: ignore[arg-type]
        self._base = float_risk(ExactSurrogate(terms, (0,) * len(risks[0].linear)))  # type: ignore[arg-type]
        self._linear = corners @ np.array([[float(x) for x in risk.linear] for risk in risks])
        self._entropy = corners @ np.array([float(risk.entropy) for risk in risks])
        self.shift_invariant = self._mean(np.full(len(corners), 1 / len(corners))).shift_invariant
        moved = np.vstack([self._factors, self._linear.sum(axis=1)])  # what changes if all scores do
        self.centered = not self._entropy.any() and bool((np.ptp(moved, axis=1) < 1e-12).all())

    def _mean(self, law: Vector) -> FloatRisk:
        factors, entropy = self._factors @ law, float(law @ self._entropy)
        return replace(self._base, factors=factors, linear=law @ self._linear, entropy=entropy)

    def least(self, law: Vector, order: ItemOrder | None) -> tuple[float, Vector]:
        """Return the least risk of a mean of corners, on a cone or anywhere, and where it is."""
        risk = self._mean(law)
        alpha = somewhere(risk, len(risk.linear)) if order is None else on_cone(risk, order)
        return risk(alpha)[0], alpha

    def values(self, alpha: Vector) -> tuple[Vector, Vector]:
        """Return the risk of scores at each corner, shape (C,), and its gradients, shape (C, m)."""
        top = alpha.max()
        raised = np.exp(alpha - top)
        own, slopes, _ = self._base.terms(alpha)
        flat = top + np.log(raised.sum())
        values = own @ self._factors + self._linear @ alpha + self._entropy * flat
        gradients = self._factors.T @ (slopes[:, None] * self._base.forms) + self._linear
        return values, gradients + np.outer(self._entropy, raised / raised.sum())


class ComputedRisks:
    """Risks of a cell's corners as a surrogate without an exact form computes them."""

    def __init__(self, risks: Sequence[RiskFunction], corners: Vector, m: int, shift_invariant: bool) -> None:
        self._risks, self._corners, self._m, self.shift_invariant = risks, corners, m, shift_invariant
        self.centered = False

    def least(self, law: Vector, order: ItemOrder | None) -> tuple[float, Vector]:
        """Return the least risk of a mean of corners, on a cone or anywhere, and where it is."""
        weights = law @ self._corners

        def risk(alpha: Vector) -> tuple[float, Vector]:
            found = [(w, *own(alpha)) for w, own in zip(weights, self._risks, strict=True) if w > 0]
            return sum(w * value for w, value, _ in found), np.sum([w * slope for w, _, slope in found], axis=0)

        alpha = lowest(risk, self._m, self.shift_invariant, order)
        return risk(alpha)[0], alpha

    def values(self, alpha: Vector) -> tuple[Vector, Vector]:
        """Return the risk of scores at each corner, shape (C,), and its gradients, shape (C, m)."""
        values, gradients = zip(*(risk(alpha) for risk in self._risks), strict=True)
        return self._corners @ np.array(values), self._corners @ np.array(gradients)


class Facet:
    """Scores in the cone of a wrong order in which two neighbors tie, for a cell's laws: means of its corners.

    Parameters
    ----------
    risks : StatedRisks or ComputedRisks
    order : ItemOrder
    tie : int
        Place of the first of the two, from 1.
    gap : ndarray of float64, shape (C,)
        True excess of the order at each corner.
    known : list of ndarray of float64, shape (C,)
        Risks of scores that bound the least risk, of all facets of the cell.
    """

    def __init__(
        self, risks: StatedRisks | ComputedRisks, order: ItemOrder, tie: int, gap: Vector, known: list[Vector]
    ) -> None:
        self.risks, self.order, self.gap, self._known = risks, order, gap, known
        self.end = float(gap.max())
        self.mixtures: list[Vector] = []
        self.slopes: list[float] = []
        self.laws: list[Vector] = []
        self.least: list[float] = []
        kept = [
            at for at in range(len(order)) if at != tie and not (at == 0 and (risks.shift_invariant or risks.centered))
        ]
        self.basis = cone_basis(order)[:, kept]
        self.low = np.array([0.0 if at else -FAR for at in kept])

    def scores(self, place: Vector) -> Vector:
        """Return scores by their coordinates; where it is the same under all laws, with the best mean."""
        from scipy.optimize import brentq

        alpha: Vector = self.basis @ place
        if self.risks.centered and not self.risks.shift_invariant:
            alpha = alpha + brentq(lambda by: float(self.risks.values(alpha + by)[1][0].sum()), -2 * FAR, 2 * FAR)
        return alpha

    def excess(self, law: Vector) -> float:
        """Return the surrogate excess of the order under a law, at least 0."""
        return max(0.0, self.risks.least(law, self.order)[0] - self._learn(law))

    def _learn(self, law: Vector) -> float:
        """Return the least risk of a law, and bound other laws' risks by the scores."""
        value, alpha = self.risks.least(law, None)
        risk = self.risks.values(alpha)[0]
        while not risk.max() < LARGEST:
            alpha = alpha * 0.8
            risk = self.risks.values(alpha)[0]
        self._known.append(risk)
        self.laws.append(law)
        self.least.append(value)
        return value

    def undetected(self, place: Vector) -> list[Vector]:
        """Return the law of largest true excess for which scores of the facet have the least risk, if any."""
        from scipy.optimize import linprog

        level = self.risks.values(self.scores(place))[1]
        rows = np.vstack([level.T, np.ones(len(level))])
        found = linprog(-self.gap, A_eq=rows, b_eq=[*[0.0] * level.shape[1], 1.0], method="highs", options=PRECISE)
        return [] if found.x is None else [_shares(found.x)]

    def solve(self, risk: Vector, eps: float, enough: float, law: Vector) -> Vector:
        """Search a line below the excess of scores with this risk for all laws; return a law.

        The line is best at `eps`, unless it reaches `enough` there, or the law's excess does not.
        """
        from scipy.optimize import linprog

        count = len(self.gap)
        cuts = [self._known[at] for at in np.argsort(np.array(self._known) @ law)[:CUTS]]
        best, line = -np.inf, (np.zeros(count), 0.0)
        bounds, whole = [*[(0, None)] * count, (None, None)], [[*[1.0] * count, 0.0]]
        for _ in range(ROUNDS):
            rows = np.block([[-np.array(cuts), -np.ones((len(cuts), 1))], [-self.gap, 0.0]])
            right = [*[0.0] * len(cuts), -eps]
            found = linprog([*risk, 1.0], rows, right, whole, [1.0], bounds, "highs", options=PRECISE)
            if found.x is None:
                break
            law = _shares(found.x[:count])
            weights = np.maximum(-found.ineqlin.marginals, 0.0)
            slope, mean = float(weights[-1]), weights[:-1] @ np.array(cuts) / weights[:-1].sum()
            low = float((risk - mean - slope * self.gap).min()) + slope * eps
            if low > best:
                best, line = low, (mean + slope * self.gap, slope)
            high = float(law @ risk) - self._learn(law)
            cuts.append(self._known[-1])
            if best >= enough or high < enough or high - best <= max(CLOSE / 10 * high, SAME / 10):
                break
        self.mixtures.append(line[0])
        self.slopes.append(line[1])
        return law


def _shares(found: Vector) -> Vector:
    shares: Vector = np.where(found > SAME, found, 0.0)
    shares /= shares.sum()
    return shares


@dataclass(eq=False)
class Box:
    """Scores of a facet within bounds of coordinates, and a lower bound on their surrogate excess.

    Attributes
    ----------
    facet : Facet
    low, high : ndarray of float64, shape (d,)
    lines : list of list of (float, float)
        For each corner of the box, intercept and slope of lines in the true excess. At one corner, none is above.
    bounds : ndarray of float64, shape (G,)
        Bound at each eps of the grid; inf where no law has such an excess.
    solved : dict of int to float
        By number of an eps, the bound that programs were asked for.
    """

    facet: Facet
    low: Vector
    high: Vector
    lines: list[list[tuple[float, float]]]
    bounds: Vector
    solved: dict[int, float]
    seen: int = -1

    @cached_property
    def middle(self) -> Vector:
        """Coordinates between, nearer to the lower ones: risks change slowly far out."""
        near, far = np.abs(self.low) + 0.1, np.abs(self.high) + 0.1
        middle = np.sign(self.low + self.high) * (np.sqrt(near * far) - 0.1)
        return np.where(self.low * self.high < 0, 0.0, middle)

    @cached_property
    def risks(self) -> Vector:
        """The tangent plane of the risk at the box's corners, shape (2^d, C)."""
        facet = self.facet
        values, gradients = facet.risks.values(facet.scores(self.middle))
        ends = np.array(list(itertools.product(*zip(self.low, self.high, strict=True))))
        tangent: Vector = values + (ends - self.middle) @ facet.basis.T @ gradients.T
        return tangent

    def look(self, eps: Vector) -> None:
        """Bound the excess by the lines of former programs."""
        facet, self.seen = self.facet, len(self.facet.slopes)
        if not self.seen:
            return
        mixtures, slopes = np.array(facet.mixtures), np.array(facet.slopes)
        intercepts = (self.risks[:, None] - mixtures).min(axis=2)
        found = intercepts[..., None] + slopes[:, None] * eps
        at = found.argmax(axis=1)
        for end, kept in enumerate(at):
            self.lines[end] += [(float(intercepts[end, n]), float(slopes[n])) for n in set(kept.tolist())]
        self.bounds = np.maximum(self.bounds, found.max(axis=1).min(axis=0))

    def lowest(self, eps: float) -> tuple[float, Vector]:
        """Return the least excess that a law known to have a true excess of eps has at a corner, and the law."""
        facet = self.facet
        laws = np.array(facet.laws)
        excess = (laws @ self.risks.T).min(axis=1) - np.array(facet.least)
        excess[laws @ facet.gap < eps] = np.inf
        return float(excess.min()), laws[excess.argmin()]

    def solve(self, eps: Vector, turn: int, enough: float) -> Vector:
        """Bound the excess at an eps of the grid, and return a law, which may have less than enough."""
        self.solved[turn] = enough
        law = self.lowest(eps[turn])[1]
        for risk in self.risks:
            law = self.facet.solve(risk, float(eps[turn]), enough, law)
            if self.lowest(eps[turn])[0] < enough:
                break
        self.look(eps)
        return law

    def points(self) -> list[tuple[float, float]]:
        """Return the corners of a convex lower bound, at least 0, on the excess as a function of the true excess."""
        return lower_hull(point for lines in self.lines for point in proved_points(lines, self.facet.end))

    def halves(self) -> list[Box]:
        """Divide the longest side."""
        side, hull = int((self.high - self.low).argmax()), self.points()
        slopes = [(y, (d - y) / (c - x), x) for (x, y), (c, d) in itertools.pairwise(hull) if c > x]
        lines = [(y - slope * x, slope) for y, slope, x in slopes]
        low, high = self.low.copy(), self.high.copy()
        low[side] = high[side] = self.middle[side]
        ends = [(self.low, high), (low, self.high)]
        own = (self.facet, self.bounds)
        return [Box(own[0], a, b, [list(lines) for _ in self.lines], own[1], {}) for a, b in ends]


def whole(facet: Facet, eps: Vector) -> Box:
    """Return the box of all scores of a facet."""
    high = np.full(len(facet.low), FAR)
    bounds = np.where(eps <= facet.end, -np.inf, np.inf)
    return Box(facet, facet.low, high, [[(0.0, 0.0)] for _ in range(2 ** len(high))], bounds, {})


def modulus_bounds(
    cells: Sequence[tuple[LawCell, StatedRisks | ComputedRisks]], eps: Vector, steps: int
) -> tuple[Vector, Vector, float, list[Box]]:
    """Return lower and upper bounds of H at each eps, the largest eps found where it is 0, and boxes of all scores."""
    # Rounding must not leave a law out whose excess is eps.
    rounding = ROUNDING * max(abs(float(x)) for cell, _ in cells for gap in cell.gaps.values() for x in gap)
    eps = eps - rounding
    upper, zero = np.full(len(eps), np.inf), 0.0
    boxes: list[Box] = []

    def tried(facet: Facet, law: Vector) -> float:
        nonlocal zero
        excess, gap = facet.excess(law), float(law @ facet.gap)
        if excess <= SAME and gap > STRICT:
            excess, zero = 0.0, max(zero, gap)
        reached = eps - rounding <= gap
        upper[reached] = np.minimum(upper[reached], excess)
        return excess

    for cell, risks in cells:
        corners, m = np.array(cell.corners, dtype=np.float64), len(next(iter(cell.gaps)))
        known, shared = [risks.values(np.zeros(m))[0]], dict[bytes, list[Box]]()
        for order, gap in cell.gaps.items():
            at_corners = corners @ np.array(gap, dtype=np.float64)
            own = [whole(Facet(risks, order, tie, at_corners, known), eps) for tie in range(1, m)]
            # Where the excess of one law is above 0, that of all is least on the boundary of the cone.
            if at_corners.max() > 0 and all(
                [tried(box.facet, 1.0 * (np.arange(len(corners)) == at_corners.argmax())) > SAME for box in own]
            ):
                for box in own:
                    shared.setdefault(box.facet.basis.tobytes(), []).append(box)
        for both in shared.values():
            # Of two orders that share a facet, one may be the worse one under all laws.
            gaps = [box.facet.gap for box in both]
            boxes += both[:1] if (gaps[0] >= gaps[-1]).all() else both[1:] if (gaps[-1] >= gaps[0]).all() else both
    stuck: set[int] = set()
    for step in range(steps):
        bounds = np.array([box.bounds for box in boxes])
        with np.errstate(invalid="ignore", divide="ignore"):
            slack = np.nan_to_num((upper - bounds.min(axis=0).clip(min=0.0)) / upper, nan=0.0, posinf=0.0)
        slack[list(stuck)] = 0.0
        loose = np.flatnonzero(slack > CLOSE)
        if not loose.size:
            break
        turn = int(loose[step % loose.size])
        at = int(bounds[:, turn].argmin())
        box = boxes[at]
        enough = float(upper[turn]) * (1 - CLOSE / 2)
        if box.seen < len(box.facet.slopes):
            box.look(eps)
            continue
        high, law = box.lowest(eps[turn])
        if high >= enough and box.solved.get(turn) != enough:
            tried(box.facet, box.solve(eps, turn, enough))
        elif (box.high - box.low).max(initial=0.0) > SMALLEST:
            tried(box.facet, law)
            boxes[at : at + 1] = halves = box.halves()
            for half in halves:
                half.look(eps)
            if bounds[at, turn] <= SAME:
                for law in box.facet.undetected(box.middle):
                    tried(box.facet, law)
        else:
            stuck.add(turn)
    lower = np.min([box.bounds for box in boxes], axis=0, initial=np.inf)
    return np.clip(lower, 0.0, upper), upper, zero, boxes
