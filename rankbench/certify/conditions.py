"""Conditions of the consistency theorems can be asked of a phi, of a distribution, or of a risk.

Each is sufficient or necessary as its function says. Exact where phi has pieces; of an expression, slopes are
computed in double precision, and those at infinity are read off far out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from rankbench.certify.floats import jets
from rankbench.certify.laws import Law, leads, net_weights_of
from rankbench.interfaces.exact import ConvexPhi, ExactSurrogate
from rankbench.interfaces.surrogate import PairwiseSurrogate

Slope = Fraction | float

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


def recession(phi: ConvexPhi, direction: int) -> Slope:
    r"""Return :math:`\phi'_\infty(d) = \lim_{t \to \infty} (\phi(td) - \phi(0)) / t`, [DMJ10]_ after (9).

    Parameters
    ----------
    phi : ConvexPhi
    direction : {1, -1}

    Returns
    -------
    Fraction or float
        inf if phi grows faster than any line; of an expression a float.

    Examples
    --------
    >>> from rankbench.certify.conditions import recession
    >>> from rankbench.interfaces.exact import ConvexPhi
    >>> recession(ConvexPhi(expression="log(1 + exp(-t))"), -1)
    1.0
    """
    if phi.pieces:
        _, slope, bend = (*phi.pieces[-1 if direction > 0 else 0][1], Fraction(0), Fraction(0), Fraction(0))[:3]
        return math.inf if bend else direction * slope
    _, found, _ = jets(phi, direction * np.array(FAR))
    near, far = (direction * float(slope) for slope in found)
    if not math.isfinite(far) or far > near + GROWTH * max(1.0, abs(near)):
        return math.inf
    return 0.0 if abs(far) < KINK else far


def slopes_at_zero(phi: ConvexPhi) -> tuple[Slope, Slope]:
    """Return the slopes of phi left and right of 0: equal if phi is differentiable there."""
    if phi.pieces:
        zero = Fraction(0)
        left = next(c for end, c in phi.pieces if end is None or end >= 0)
        right = next(c for end, c in phi.pieces if end is None or end > 0)
        return (*left, zero)[1], (*right, zero)[1]
    _, (left_slope, slope, right_slope), _ = jets(phi, np.array([-NEAR, 0.0, NEAR]))
    if right_slope - left_slope > KINK:
        return float(left_slope), float(right_slope)
    return float(slope), float(slope)


def assumption_a(phi: ConvexPhi) -> str:
    """Say why phi fails Assumption A of [DMJ10]_, (13) of the supplement to [DMJ13]_; empty if it holds.

    Phi decreases more slowly to the right than it increases to the left: its slope at infinity is at least 0,
    or that at minus infinity is infinite. A phi that is bounded below has it.
    """
    right, left = recession(phi, 1), recession(phi, -1)
    if right >= 0 or left == math.inf:
        return ""
    return f"Assumption A fails: phi falls with slope {float(right):.4g} to the right, and rises no faster to the left"


def two_items(phi: ConvexPhi, h: H = lambda weight: weight) -> Law | None:
    """Return a law of two items under which (12) with this phi and h has a wrong minimizer; None if there is none.

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
    >>> from rankbench.certify.conditions import two_items
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
    for y, z in itertools.permutations(TRIED, 2):
        even, seen = z / y, Fraction(h(z)) / Fraction(h(y))
        if seen > even * (1 + Fraction(1, 10**9)):
            return _of_two((even + seen) / 2, y, z)
    return None


def _of_two(odds: Fraction, y: Fraction, z: Fraction) -> Law:
    """Return the law of 1 over 2 by y and, with odds to 1 against that, 2 over 1 by z."""
    return Law(2, ((odds / (1 + odds), {(0, 1): y}), (1 / (1 + odds), {(1, 0): z})))


def coercive(risk: ExactSurrogate) -> bool:
    r"""Return whether a risk grows along every direction, but those along which it is constant.

    Then its infimum is attained ([DMJ10]_ Lemma 9, Lemma 12 of the supplement to [DMJ13]_, 0-coercivity of its
    section 3.3). The recession slope is linear on the cone of an order of items and 0, so that its signs at the
    indicators of all subsets, and at their negatives, are those everywhere. A risk that is not coercive may attain
    its infimum all the same, as the hinge does.
    """
    m = len(risk.linear)
    subsets = [d for d in itertools.product((0, 1), repeat=m) if any(d)]
    for direction in subsets:
        ahead, back = _recession(risk, direction), _recession(risk, tuple(-x for x in direction))
        if min(ahead, back) < 0 or (min(ahead, back) == 0 and max(ahead, back) > 0):
            return False
    return True


def _recession(risk: ExactSurrogate, direction: tuple[int, ...]) -> Slope:
    total: Slope = sum((b * d for b, d in zip(risk.linear, direction, strict=True)), Fraction(0))
    total += risk.entropy * max(direction)
    for term in risk.terms:
        step = sum(c * d for c, d in zip(term.coefficients, direction, strict=True))
        if step and term.factor:
            total += term.factor * abs(step) * recession(term.phi, 1 if step > 0 else -1)
    return total


def condition_of_lemma_10(law: Law, h: H = lambda weight: weight) -> int:
    """Return which condition of [DMJ10]_ Lemma 10 (Lemma 13 of the supplement to [DMJ13]_) a law fulfils.

    Conditions are ``h_23 < h_31 h_12 / (h_13 + h_12)`` and ``h_12 < h_31 h_23 / (h_13 + h_23)``, h_ij the mean of h
    of the weights of i over j. Either implies that (12) has a minimizer in a wrong order, whatever the convex phi
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


AND_SO = ", so that (12) is not consistent on two items"


def failing(surrogate: object) -> list[str]:
    """Return which necessary conditions a pairwise surrogate fails, a sentence each; none of other surrogates.

    Of (12) those of two items, and Assumption A; of other forms Assumption A alone.
    """
    phi = surrogate.exact_phi() if isinstance(surrogate, PairwiseSurrogate) else None
    if phi is None or not isinstance(surrogate, PairwiseSurrogate):
        return []
    found = [assumption_a(phi)]
    left, right = slopes_at_zero(phi)
    factors, offsets = surrogate.edges(np.array([float(weight) for weight in TRIED]))
    if left != right:
        found.append(f"phi has a kink at 0: its slope goes from {float(left):.4g} to {float(right):.4g}{AND_SO}")
    elif right >= 0:
        found.append(f"phi'(0) is {float(right):.4g}, not below 0{AND_SO}")
    elif not offsets.any() and (factors > 0).all():
        h = dict(zip(TRIED, map(Fraction, factors), strict=True))
        if two_items(phi, h.__getitem__) is not None:
            found.append(f"h is not linear{AND_SO} with judgments of several weights")
    return [why for why in found if why]
