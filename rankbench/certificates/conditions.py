"""Conditions of the consistency theorems can be asked of a phi, of a distribution, or of a risk.

Each is sufficient or necessary as its function says. Exact where phi has pieces; of an expression, and of a surrogate
that states none, slopes are computed in double precision, and those at infinity are read off far out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.certificates.floats import jets
from rankbench.certificates.laws import Law, leads, net_weights_of
from rankbench.certificates.probe import risk_of
from rankbench.certificates.true_risk import exact_risk, true_loss
from rankbench.interfaces.exact import ConvexPhi, ExactSurrogate
from rankbench.interfaces.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement

Slope = Fraction | float

AnyPhi: TypeAlias = ConvexPhi | PairwiseSurrogate
"""A phi as it is stated, or a surrogate that computes one in double precision."""

ItemDirection: TypeAlias = tuple[int, ...]
"""Change of each item's score on a line."""

H = Callable[[Fraction], Slope]
"""h of (12): a weight above 0 to a number of at least 0."""

FAR = (150.0, 300.0)
"""Where slopes of an expression are read off: powers of e are still floats."""

NEAR = 1e-7
"""Distance from 0 of the slopes on both sides of an expression."""

KINK = 1e-4
"""Difference of slopes that is no rounding and no curvature."""

GROWTH = 1e-3
"""Growth of the slope between the places of `FAR`, relative to those above 1, that goes on without end."""

TRIED = tuple(Fraction(sixths, 6) for sixths in (6, 12, 18, 24, 3, 2, 60))
"""Weights of two judgments between which a law is looked for that h misorders."""


def recession(phi: AnyPhi, direction: int) -> Slope:
    r"""Return :math:`\phi'_\infty(d) = \lim_{t \to \infty} (\phi(td) - \phi(0)) / t`, [DMJ10]_ after (9).

    Parameters
    ----------
    phi : ConvexPhi or PairwiseSurrogate
    direction : {1, -1}

    Returns
    -------
    Fraction or float
        inf if phi grows faster than any line; a float unless phi has pieces.

    Examples
    --------
    >>> from rankbench.certificates.conditions import recession
    >>> from rankbench.interfaces.exact import ConvexPhi
    >>> recession(ConvexPhi(expression="log(1 + exp(-t))"), -1)
    1.0
    """
    if isinstance(phi, ConvexPhi) and phi.pieces:
        _, slope, bend = (*phi.pieces[-1 if direction > 0 else 0][1], Fraction(0), Fraction(0), Fraction(0))[:3]
        return math.inf if bend else direction * slope
    near, far = (direction * float(slope) for slope in _slopes(phi, direction * np.array(FAR)))
    if not math.isfinite(far) or far > near + GROWTH * max(1.0, abs(near)):
        return math.inf
    return 0.0 if abs(far) < KINK else far


def _slopes(phi: AnyPhi, t: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        return jets(phi, t)[1] if isinstance(phi, ConvexPhi) else np.asarray(phi.dphi(t), dtype=np.float64)


def slopes_at_zero(phi: AnyPhi) -> tuple[Slope, Slope]:
    """Return the slopes of phi left and right of 0: equal if phi is differentiable there."""
    if isinstance(phi, ConvexPhi) and phi.pieces:
        zero = Fraction(0)
        left = next(c for end, c in phi.pieces if end is None or end >= 0)
        right = next(c for end, c in phi.pieces if end is None or end > 0)
        return (*left, zero)[1], (*right, zero)[1]
    left_slope, slope, right_slope = _slopes(phi, np.array([-NEAR, 0.0, NEAR]))
    if right_slope - left_slope > KINK:
        return float(left_slope), float(right_slope)
    return float(slope), float(slope)


def assumption_a(phi: AnyPhi) -> str:
    """Return why phi fails Assumption A of [DMJ10]_, (13) of the supplement to [DMJ13]_, or ``""``.

    Phi decreases more slowly to the right than it increases to the left: its slope at infinity is at least 0,
    or that at minus infinity is infinite. A phi that is bounded below has it.
    """
    right, left = recession(phi, 1), recession(phi, -1)
    if right >= 0 or left == math.inf:
        return ""
    return f"Assumption A fails: phi falls with slope {float(right):.4g} to the right, and rises no faster to the left"


def two_items(phi: AnyPhi, h: H = lambda weight: weight) -> Law | None:
    """Return a law of two items for which (12) with this phi and h has a wrong minimizer, or None.

    With weights A for and B against, the minimizer of ``A phi(t) + B phi(-t)`` has the sign of A - B if and only
    if phi is differentiable at 0 and ``phi'(0) < 0`` ([DMJ10]_, section 2.2). A is the mean of h, and the true
    order that of the mean weights, so that h must be linear too, which the weights of `TRIED` test.

    Returns
    -------
    Law, optional
        Of two items, where item 1 leads; scores that tie, or put item 2 first, are among the minimizers, or as
        near to the infimum as one likes.

    Examples
    --------
    >>> from rankbench.certificates.conditions import two_items
    >>> from rankbench.interfaces.exact import ConvexPhi
    >>> two_items(ConvexPhi.polynomial(1, -2, 1)) is None
    True
    >>> [str(weight) for weight, _ in two_items(ConvexPhi.polynomial(1, -2, 1), lambda w: w**2).support]
    ['3/4', '1/4']
    """
    left, right = (Fraction(slope) for slope in slopes_at_zero(phi))
    one = Fraction(1)
    if left != right or right >= 0:
        return _of_two((1 + min(left / right, 3 * one)) / 2 if right < 0 else 2 * one, one, one)
    return _of_two_weights(h)


def _of_two_weights(force: H) -> Law | None:
    """Return the law of two weights whose forces at a tie are not in proportion to them; None if all are."""
    for y, z in itertools.permutations(TRIED, 2):
        even, seen = z / y, Fraction(force(z)) / Fraction(force(y))
        if seen > even * (1 + Fraction(1, 10**9)):
            odds = (even + seen) / 2
            short = odds.limit_denominator(100)
            return _of_two(short if even < short < seen else odds, y, z)
    return None


def law_of_two(surrogate: PairwiseSurrogate) -> Law | None:
    """Return a law of two items for which a pairwise surrogate has a wrong minimizer; None if none is known.

    Of (12) that is `two_items`. Of (13), a judgment of weight w pushes tied scores apart by ``-phi'(-h(w))``, which
    must be in proportion to w.
    """
    phi = surrogate.exact_phi() or surrogate
    factors, offsets = surrogate.edges(np.array([float(weight) for weight in TRIED]))
    forces = -factors * _slopes(phi, -offsets) if offsets.any() else factors
    if not (np.isfinite(forces) & (forces > 0)).all():
        return None
    force = dict(zip(TRIED, map(Fraction, forces), strict=True)).__getitem__
    return _of_two_weights(force) if offsets.any() else two_items(phi, force)


def _of_two(odds: Fraction, y: Fraction, z: Fraction) -> Law:
    """Return the law of 1 over 2 by y and, with odds to 1 against that, 2 over 1 by z."""
    return Law(2, ((odds / (1 + odds), {(0, 1): y}), (1 / (1 + odds), {(1, 0): z})))


def coercive(risk: ExactSurrogate) -> bool:
    r"""Return whether a risk grows along every direction, except directions along which it is constant.

    Then its infimum is attained ([DMJ10]_ Lemma 9, Lemma 12 of the supplement to [DMJ13]_, 0-coercivity of its
    section 3.3). The recession slope is linear on the cone of an order of items and 0, so that its signs at the
    indicators of all subsets, and at their negatives, are those everywhere. A risk that is not coercive may attain
    its infimum all the same, as the hinge does.
    """
    return not _level(lambda way: _recession(risk, way), len(risk.linear))


def _level(slope: Callable[[ItemDirection], Slope], m: int) -> ItemDirection:
    """Return a direction along which a risk neither grows nor is constant, or an empty one."""
    for one in itertools.product((0, 1), repeat=m):
        ways = [one, tuple(-step for step in one)]
        slopes = [slope(way) for way in ways]
        if min(slopes) < 0 or (min(slopes) == 0 and max(slopes) > 0):
            return ways[slopes.index(min(slopes))]
    return ()


def _recession(risk: ExactSurrogate, direction: ItemDirection) -> Slope:
    total: Slope = sum((b * d for b, d in zip(risk.linear, direction, strict=True)), Fraction(0))
    total += risk.entropy * max(direction)
    for term in risk.terms:
        step = sum(c * d for c, d in zip(term.coefficients, direction, strict=True))
        if step and term.factor:
            total += term.factor * abs(step) * recession(term.phi, 1 if step > 0 else -1)
    return total


FOUR_WEIGHTS = Law(3, tuple((Fraction(1, 4), {pair: Fraction(1)}) for pair in ((0, 1), (0, 2), (1, 2), (2, 0))))
"""Law of [DMJ10]_ Lemma 9 and of Lemma 12 of the supplement to [DMJ13]_, with equal weights."""

POSITIVE_SCORES = Law(3, ((Fraction(1), (Fraction(1), Fraction(2), Fraction(3))),))
"""Law of scores whose gains are above 0, as [DMJ13]_ section 3.3 assumes."""


def not_coercive(surrogate: PairwiseSurrogate | ScoreSurrogate) -> str:
    """Return a text on a direction along which the risk of `FOUR_WEIGHTS`, or of `POSITIVE_SCORES`, does not grow.

    In double precision, unless the surrogate states itself in exact numbers.
    """
    graphs = surrogate.structure == "edges"
    law, loss = FOUR_WEIGHTS if graphs else POSITIVE_SCORES, true_loss(PairwiseDisagreement(), 3)
    exact = exact_risk(surrogate, law, loss)
    risk = risk_of(surrogate, law, loss)

    def far(way: ItemDirection) -> float:
        d = np.array(way, dtype=np.float64)
        with np.errstate(all="ignore"):
            slope = float(risk(FAR[-1] * d)[1] @ d)
        return 0.0 if abs(slope) < KINK else slope

    way = _level(far if exact is None else lambda d: _recession(exact.risk, d), 3)
    lemma = "Lemma 12" if graphs else "0-coercivity of section 3.3"
    return f"{lemma} fails: the risk of three items does not grow along {way}; it may have no minimizer" if way else ""


def condition_of_lemma_10(law: Law, h: H = lambda weight: weight) -> int:
    """Return which condition of [DMJ10]_ Lemma 10 (Lemma 13 of the supplement to [DMJ13]_) a law fulfils.

    Conditions are ``h_23 < h_31 h_12 / (h_13 + h_12)`` and ``h_12 < h_31 h_23 / (h_13 + h_23)``, h_ij the mean of h
    of the weights of i over j. Either implies that (12) has a minimizer in a wrong order, for any convex phi
    with ``phi'(0) < 0`` and Assumption A. They are sufficient only.

    Returns
    -------
    int
        1 or 2; 0 if neither, or if the law is not the lemma's. That has three items which, in some order 1, 2, 3,
        have judgments of 1 over 2, 2 over 3, 1 over 3 and 3 over 1 alone, and 1 leads 3.
    """
    mean, seen = law.mean, dict[tuple[int, int], Fraction]()
    for weight, graph in law.support:
        for pair, own in graph.items() if isinstance(graph, Mapping) else ():
            seen[pair] = seen.get(pair, Fraction(0)) + weight * Fraction(h(own))
    for a, b, c in itertools.permutations(range(law.items), 3) if law.items == 3 else ():
        if set(mean) == {(a, b), (b, c), (a, c), (c, a)} and mean[a, c] > mean[c, a]:
            first, second, long, against = (seen[pair] for pair in ((a, b), (b, c), (a, c), (c, a)))
            if second * (long + first) < against * first:
                return 1
            return 2 if first * (long + second) < against * second else 0
    return 0


def net_weights_agree(law: Law) -> bool:
    """Return whether net weights order every pair as its lead does, [DMJ10]_ (16).

    By Theorem 13 the surrogate (14) is consistent under a law without cycles if and only if this holds. In low
    noise it always does (Lemma 14).
    """
    net = net_weights_of(law.mean, law.items)
    return all(net[i] > net[j] for (i, j), ahead in leads(law.mean, law.items).items() if ahead > 0)


AND_SO = "is not consistent on two items"


def failing(surrogate: object) -> list[str]:
    """Return which conditions of the papers a surrogate fails, a sentence each.

    Pairwise surrogates have conditions of two items, Assumption A and Lemma 12. The risk of a surrogate of scores
    must be coercive. A sentence names results in double precision, also where no condition fails.
    """
    if isinstance(surrogate, ScoreSurrogate):
        stated = exact_risk(surrogate, POSITIVE_SCORES, true_loss(PairwiseDisagreement(), 3)) is not None
        found, grid = [not_coercive(surrogate)], f"14 directions, at a distance of {FAR[-1]:g}"
    elif isinstance(surrogate, PairwiseSurrogate):
        phi = surrogate.exact_phi() or surrogate
        stated = phi is not surrogate
        found = [assumption_a(phi), not_coercive(surrogate), _on_two_items(surrogate, phi)]
        grid = f"7 places from {-FAR[-1]:g} to {FAR[-1]:g}"
    else:
        return []
    kept = [why for why in found if why]
    if stated:
        return kept
    how = f"numerically, on a grid of {grid}"
    return [f"{why} ({how})" for why in kept] or [f"none of the papers' conditions fails ({how})"]


def _on_two_items(surrogate: PairwiseSurrogate, phi: AnyPhi) -> str:
    """Return why a surrogate is not consistent on two items; empty if no reason is known."""
    margins = surrogate.edges(np.ones(1))[1].any()
    left, right = slopes_at_zero(phi)
    if left != right and not margins:
        return (
            f"phi has a kink at 0: its slope goes from {float(left):.4g} to {float(right):.4g}, so that (12) {AND_SO}"
        )
    if right >= 0 and not margins:
        return f"phi'(0) is {float(right):.4g}, not below 0, so that (12) {AND_SO}"
    if law_of_two(surrogate) is None:
        return ""
    why = "phi'(-h(Y)) is not in proportion to Y, so that (13)" if margins else "h is not linear, so that (12)"
    return f"{why} {AND_SO} with judgments of several weights"
