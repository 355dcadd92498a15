"""Branch and bound encloses the calibration function of surrogates that are not piecewise linear, in double precision.

A law's least risk on a cone and anywhere are concave in its weights. On a simplex of laws, the first is not
below the mean of its corners' values, the second not above the risk of any scores.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.certificates.conditional_risks import RiskFunction
from rankbench.certificates.floats import float_risk, on_cone, somewhere
from rankbench.certificates.law_cells import LawCell
from rankbench.certificates.numerical import lowest
from rankbench.certificates.true_risk import ItemOrder
from rankbench.errors import SpecError
from rankbench.interfaces.exact import ConvexPhi, ExactSurrogate, PhiTerm

Vector = NDArray[np.float64]

CLOSE = 1e-6
"""Relative distance of the bounds at which the search ends."""

ROUNDING = 1e-13
"""Of true excesses, relative to the largest one of a structure; weights of laws below a tenth of it count as 0."""

TRIED = 100
"""Laws of each cell, drawn at random, whose least scores are looked at."""

STRICT = 1e-4
"""Differences of scores, and true excesses, above which they are no rounding errors."""

SAME = 1e-12
"""Surrogate excess that is 0 but for rounding; a true excess of `STRICT` makes a larger one."""

MOST_DIRECTIONS = 7
"""In which laws of a cell may differ."""

FLAT = 1e-9
"""Relative length of directions in which the laws of a cell do not differ."""


class StatedRisks:
    """Risks of all structures in double precision, from exact forms; terms that structures share are one.

    Parameters
    ----------
    risks : sequence of ExactSurrogate
    """

    def __init__(self, risks: Sequence[ExactSurrogate]) -> None:
        shared: dict[tuple[ConvexPhi, tuple[int, ...], object], Vector] = {}
        phis = list(dict.fromkeys(term.phi for risk in risks for term in risk.terms))
        for at, risk in enumerate(risks):
            for term in risk.terms:
                key = (term.phi, tuple(term.coefficients), term.offset)
                shared.setdefault(key, np.zeros(len(risks)))[at] += float(term.factor)
        keys = sorted(shared, key=lambda key: phis.index(key[0]))
        self._factors = np.array([shared[key] for key in keys]).reshape(-1, len(risks))
        terms = tuple(PhiTerm(1, form, offset, phi) for phi, form, offset in keys)  # type: ignore[arg-type]
        self._base = float_risk(ExactSurrogate(terms, (0,) * len(risks[0].linear)))  # type: ignore[arg-type]
        self._linear = np.array([[float(x) for x in risk.linear] for risk in risks])
        self._entropy = np.array([float(risk.entropy) for risk in risks])

    def least(self, weights: Vector, order: ItemOrder | None) -> Vector:
        """Return where the risk of a law is least, on a cone or anywhere."""
        factors = self._factors @ weights
        factors[factors < 1e-14] = 0.0  # a lead of 0, but for rounding
        linear, entropy = weights @ self._linear, float(weights @ self._entropy)
        risk = replace(self._base, factors=factors, linear=linear, entropy=entropy)
        return somewhere(risk, len(linear)) if order is None else on_cone(risk, order)

    def values(self, alpha: Vector) -> Vector:
        """Return the risk of scores for each structure, shape (K,)."""
        top = alpha.max()
        flat = top + np.log(np.exp(alpha - top).sum())
        own: Vector = self._base.terms(alpha)[0] @ self._factors + self._linear @ alpha + self._entropy * flat
        return own


class ComputedRisks:
    """Risks of all structures as a surrogate without an exact form computes them."""

    def __init__(self, risks: Sequence[RiskFunction], m: int, shift_invariant: bool) -> None:
        self._risks, self._m, self._shift = risks, m, shift_invariant

    def least(self, weights: Vector, order: ItemOrder | None) -> Vector:
        """Return where the risk of a law is least, on a cone or anywhere."""

        def risk(alpha: Vector) -> tuple[float, Vector]:
            found = [(w, *own(alpha)) for w, own in zip(weights, self._risks, strict=True) if w > 0]
            return sum(w * value for w, value, _ in found), np.sum([w * slope for w, _, slope in found], axis=0)

        return lowest(risk, self._m, self._shift, order)

    def values(self, alpha: Vector) -> Vector:
        """Return the risk of scores for each structure, shape (K,)."""
        return np.array([risk(alpha)[0] for risk in self._risks])


@dataclass(eq=False)
class CellLaws:
    """Laws of one cell that were looked at, with what is known of each.

    Attributes
    ----------
    gaps : dict of ItemOrder to ndarray of float64, shape (K,)
    risks : StatedRisks or ComputedRisks
    weights : list of ndarray of float64, shape (K,)
    values : list of ndarray of float64, shape (K,)
        By law, the risk of its least scores for each structure.
    scores : list of ndarray of float64, shape (m,)
        Its least scores.
    """

    gaps: dict[ItemOrder, Vector]
    risks: StatedRisks | ComputedRisks
    weights: list[Vector] = field(default_factory=list)
    values: list[Vector] = field(default_factory=list)
    scores: list[Vector] = field(default_factory=list)
    _cones: dict[tuple[int, ItemOrder], float] = field(default_factory=dict)

    def add(self, weights: Vector) -> int:
        """Take a law in; return its number."""
        self.weights.append(weights)
        self.scores.append(self.risks.least(weights, None))
        self.values.append(self.risks.values(self.scores[-1]))
        return len(self.weights) - 1

    def on_cone(self, law: int, order: ItemOrder) -> float:
        """Return the least risk of a law on the cone of an order."""
        if (law, order) not in self._cones:
            alpha = self.scores[law]
            if not all(alpha[a] >= alpha[b] for a, b in itertools.pairwise(order)):
                alpha = self.risks.least(self.weights[law], order)
            self._cones[law, order] = float(self.weights[law] @ self.risks.values(alpha))
        return self._cones[law, order]

    def excess(self, law: int, order: ItemOrder) -> float:
        """Return the surrogate excess of an order, at least 0."""
        return max(0.0, self.on_cone(law, order) - float(self.weights[law] @ self.values[law]))


class Simplex(NamedTuple):
    """Laws between some, and what their surrogate excess in one order is not below.

    Attributes
    ----------
    laws : CellLaws
    order : ItemOrder
    corners : tuple of int
    gap, floor : ndarray of float64, shape (d + 1,)
        True excess of each corner, and a number: means of these bound the surrogate excess at the mean law.
    bounds : ndarray of float64, shape (G,)
        Bound at each eps of the grid; inf where no law of the simplex has such an excess.
    """

    laws: CellLaws
    order: ItemOrder
    corners: tuple[int, ...]
    gap: Vector
    floor: Vector
    bounds: Vector


def simplex(
    laws: CellLaws, order: ItemOrder, corners: tuple[int, ...], eps: Vector, known: tuple[Vector, Vector] | None
) -> Simplex:
    """Return a simplex with its floor and bounds; `known` has floor and bounds of a larger simplex around it."""
    weights = np.array([laws.weights[law] for law in corners])
    gap = weights @ laws.gaps[order]
    cones = np.array([laws.on_cone(law, order) for law in corners])
    middle = laws.risks.values(laws.risks.least(weights.mean(axis=0), None))
    floors = [cones - weights @ values for values in (middle, *(laws.values[law] for law in corners))]
    floors += [] if known is None else [known[0]]
    bounds = [np.maximum(envelope(gap, own, eps)[0], 0.0) for own in floors]
    best = max(range(len(bounds)), key=lambda at: float(bounds[at][np.isfinite(bounds[at])].sum()))
    bound = bounds[best] if known is None else np.maximum(bounds[best], known[1])
    return Simplex(laws, order, corners, gap, floors[best], bound)


def envelope(gap: Vector, floor: Vector, eps: Vector) -> tuple[Vector, list[tuple[int, int, float]]]:
    """Return the least mean of floors at which the mean of gaps is at least eps, and between which two it is.

    Returns
    -------
    least : ndarray of float64, shape (G,)
        inf where every gap is smaller.
    between : list of (int, int, float)
        For each eps two corners, and the share of the second one.
    """
    low, high = gap[:, None, None] < eps, gap[None, :, None] >= eps
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(low, (eps - gap[:, None, None]) / (gap[None, :, None] - gap[:, None, None]), 1.0)
        mean = (1 - share) * floor[:, None, None] + share * floor[None, :, None]
    mean = np.where(high, mean, np.inf).reshape(len(gap) ** 2, len(eps))
    at = mean.argmin(axis=0)
    first, second = np.unravel_index(at, (len(gap), len(gap)))
    grid = np.arange(len(eps))
    return mean[at, grid], [
        (int(i), int(j), float(share[i, j, e])) for i, j, e in zip(first, second, grid, strict=True)
    ]


def modulus_bounds(
    cells: Sequence[tuple[LawCell, StatedRisks | ComputedRisks]], eps: Vector, steps: int, seed: int
) -> tuple[Vector, Vector, float, list[Simplex]]:
    """Return lower and upper bounds of H at each eps, the largest eps found where it is 0, and all simplices."""
    rng = np.random.default_rng(seed)
    # Rounding must not leave a law out whose excess is eps.
    eps = eps - ROUNDING * max(abs(float(x)) for cell, _ in cells for gap in cell.gaps.values() for x in gap)
    upper, zero = np.full(len(eps), np.inf), 0.0
    leaves: list[Simplex] = []
    for cell, risks in cells:
        gaps = {order: np.array(gap, dtype=np.float64) for order, gap in cell.gaps.items()}
        laws = CellLaws(gaps, risks)
        corners = np.array(cell.corners, dtype=np.float64)
        for weights in rng.dirichlet(np.full(len(corners), 0.5), TRIED if len(corners) > 1 else 1) @ corners:
            zero = max(zero, _undetected(laws, laws.add(weights)))
        for part in _simplices(laws, corners, rng):
            numbers = tuple(laws.add(weights) for weights in part)
            leaves += [simplex(laws, order, numbers, eps, None) for order in gaps]
    for leaf in leaves:
        for law in leaf.corners:
            _improve(upper, eps, leaf, law)
    upper[eps <= zero] = 0.0
    for step in range(steps):
        bounds = np.array([leaf.bounds for leaf in leaves])
        with np.errstate(invalid="ignore", divide="ignore"):
            slack = np.nan_to_num((upper - bounds.min(axis=0)) / upper, nan=0.0, posinf=0.0)
        loose = np.flatnonzero(slack > CLOSE)
        if not loose.size:
            break
        turn = loose[step % loose.size]
        leaf = leaves.pop(int(bounds[:, turn].argmin()))
        first, second, share = envelope(leaf.gap, leaf.floor, eps)[1][turn]
        mixed = [leaf.laws.weights[leaf.corners[at]] for at in (first, second)]
        _improve(upper, eps, leaf, leaf.laws.add((1 - share) * mixed[0] + share * mixed[1]))
        corners = np.array([leaf.laws.weights[law] for law in leaf.corners])
        places = corners @ np.array([*leaf.laws.gaps.values()]).T
        far = np.square(places[:, None] - places[None, :]).sum(axis=-1)
        ends = list(np.unravel_index(int(far.argmax()), far.shape))
        middle = leaf.laws.add(corners[ends].mean(axis=0))
        _improve(upper, eps, leaf, middle)
        for end in ends:
            kept = tuple(middle if at == end else law for at, law in enumerate(leaf.corners))
            floor = leaf.floor.copy()
            floor[end] = leaf.floor[ends].mean()
            leaves.append(simplex(leaf.laws, leaf.order, kept, eps, (floor, leaf.bounds)))
    return np.min([leaf.bounds for leaf in leaves], axis=0), upper, zero, leaves


def _improve(upper: Vector, eps: Vector, leaf: Simplex, law: int) -> None:
    reached = eps <= leaf.laws.weights[law] @ leaf.laws.gaps[leaf.order]
    if reached.any():
        upper[reached] = np.minimum(upper[reached], leaf.laws.excess(law, leaf.order))


def _undetected(laws: CellLaws, law: int) -> float:
    """Return the largest true excess of the orders that a law's least scores are in, up to near ties."""
    alpha, weights = laws.scores[law], laws.weights[law]
    excess = {order: float(weights @ gap) for order, gap in laws.gaps.items()}
    near = [o for o in excess if all(alpha[a] > alpha[b] - STRICT for a, b in itertools.pairwise(o))]
    return max((excess[o] for o in near if excess[o] > STRICT and laws.excess(law, o) <= SAME), default=0.0)


def _simplices(laws: CellLaws, corners: Vector, rng: np.random.Generator) -> list[Vector]:
    """Return simplices of laws that hold every excess of the cell; each of shape (d + 1, K).

    Laws with equal risks at some random scores, and equal losses, are one: d is the number of directions that matter.
    """
    from scipy.spatial import ConvexHull, Delaunay

    m = len(next(iter(laws.gaps)))
    probes = [
        laws.risks.values(scale * rng.normal(size=m)) for scale in (0.3, 1.0, 2.0) for _ in range(len(corners[0]))
    ]
    start = laws.risks.values(np.zeros(m))
    told = np.array([*(values - start for values in probes), *laws.gaps.values()])
    told /= np.maximum(np.abs(told).max(axis=1, keepdims=True), 1e-300)
    places = corners @ told.T
    places -= places.mean(axis=0)
    _, sizes, ways = np.linalg.svd(places, full_matrices=False)
    places = places @ ways[sizes > FLAT * max(1.0, float(sizes.max()))].T
    if places.shape[1] > MOST_DIRECTIONS:
        raise SpecError(
            f"laws differ in {places.shape[1]} directions, more than the {MOST_DIRECTIONS} that rankbench searches; "
            "take fewer items or structures, or an aggregator"
        )
    if places.shape[1] < 2:
        line = places @ np.ones(places.shape[1])
        return [corners[list({int(line.argmin()), int(line.argmax())})]]
    outside = ConvexHull(places).vertices
    return [corners[outside[part]] for part in Delaunay(places[outside]).simplices]
