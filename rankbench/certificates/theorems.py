"""Theorems decide whole classes of distributions: the certifier names the one that does.

The checker tests the hypotheses again, by code of its own (`rankbench.certificates.checking.theorems`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rankbench.certificates.conditions import recession, slopes_at_zero
from rankbench.certificates.laws import NoiseClass
from rankbench.certificates.piecewise import solve
from rankbench.certificates.true_risk import Aggregated, TrueLoss
from rankbench.interfaces.exact import ConvexPhi

WORDS = {
    "(23)": "a reversed edge costs phi(0) or more, and all edges of an acyclic graph can cost less "
    "(Duchi, Mackey and Jordan, 2013, equation 23)",
    "three items": "no minimizer balances the forces on three items and reverses an edge",
    "two items": "the risk of two items falls at a tie towards the item that leads",
    "Corollary 1": "minimizers order items by their mean normalized gain (Duchi, Mackey and Jordan, 2013, Corollary 1)",
    "Lemma 1": "minimizers order items by their mean probability to satisfy, and so does the least ERR of independent "
    "scores (Duchi, Mackey and Jordan, 2013, Lemma 1)",
    "Lemma 14": "minimizers order items by net weights, as leads do in low noise "
    "(Duchi, Mackey and Jordan, 2010, Lemma 14)",
}
"""Theorems by name, and why they hold."""

SQUARE = ConvexPhi.polynomial(0, 0, 1)

KNOWN = ("log(1 + exp(-t))", "exp(-t)")
"""Expressions that the checker knows to fall, and to be smooth."""


def deciding_theorem(
    rule: Mapping[str, Any],
    phi: ConvexPhi | None,
    loss: TrueLoss,
    noise: NoiseClass,
    items: int,
    aggregated: Aggregated | None,
) -> str:
    """Return the name of a theorem that proves a surrogate consistent in a class; empty if none is known.

    Parameters
    ----------
    rule : mapping
        Of docs/reference/certificate-format.md.
    phi : ConvexPhi, optional
        None of the cross entropy.
    """
    kind, aggregator = rule.get("rule"), "" if aggregated is None else aggregated.aggregator.name
    if kind in ("weighted", "margin", "pushes") and (phi is None or not (phi.exact or phi.expression in KNOWN)):
        return ""
    if not loss.graphs:
        if noise == "independent" and not aggregator and _of_satisfaction(rule, phi, loss):
            return "Lemma 1"
        return "Corollary 1" if not aggregator and _of_shares(rule, phi, loss, items) else ""
    if getattr(loss.loss, "normalize", False):
        return ""
    if kind in ("squares", "power"):
        p = rule.get("power")
        convex = phi == SQUARE if kind == "squares" else phi and phi.expression == f"abs(t) ** ({p}) / ({p})"
        return "Lemma 14" if convex and noise == "low" and aggregator in ("", "net-weights") else ""
    if kind not in ("weighted", "margin") or phi is None:
        return ""
    left, right = slopes_at_zero(phi)
    if aggregated is not None and aggregator == "difference-graph" and math.isinf(aggregated.k) and noise != "any":
        if _falls(phi) and right < 0:
            return "(23)"
        smooth = items <= 3 and kind == "weighted" and recession(phi, 1) >= 0 and _differentiable(phi)
        return "three items" if smooth and right < 0 else ""
    plain = items == 2 and kind == "weighted" and rule["power"] == 1 and aggregator in ("", "average-adjacency")
    return "two items" if plain and left == right < 0 else ""


def _of_shares(rule: Mapping[str, Any], phi: ConvexPhi | None, loss: TrueLoss, items: int) -> bool:
    """Return whether minimizers order items by the mean of the loss's normalized gains."""
    written = loss.to_json()
    same = written["name"] == "ndcg" and rule.get("gain") == written["gain"]
    if not same or tuple(rule["discounts"])[:items] != loss.table:
        return False
    if phi is None or rule["rule"] != "pushes":
        return rule["rule"] == "cross-entropy" or (rule["rule"] == "squares-of-shares" and phi == SQUARE)
    return _pushes_up(phi)


def _of_satisfaction(rule: Mapping[str, Any], phi: ConvexPhi | None, loss: TrueLoss) -> bool:
    """Return whether minimizers order items by the mean of the probability to satisfy that ERR has."""
    written = loss.to_json()
    same = written["name"] == "err" and rule["rule"] == "pushes-of-satisfaction" and rule["top"] == written["top"]
    return same and phi is not None and _pushes_up(phi)


def _pushes_up(phi: ConvexPhi) -> bool:
    return _falls(phi) and _differentiable(phi) and slopes_at_zero(phi)[1] < 0


def _falls(phi: ConvexPhi) -> bool:
    """Return whether phi is nonincreasing and bounded below: its slope goes to 0."""
    return recession(phi, 1) == 0


def _differentiable(phi: ConvexPhi) -> bool:
    """Return whether phi has one slope wherever pieces meet."""

    def slope(coefficients: tuple[Fraction, ...], t: Fraction) -> Fraction:
        return sum((power * c * t ** (power - 1) for power, c in enumerate(coefficients) if power), Fraction(0))

    meet = [(end, left, right) for (end, left), (_, right) in itertools.pairwise(phi.pieces) if end is not None]
    return all(slope(left, end) == slope(right, end) for end, left, right in meet)


def theorem_to_json(name: str) -> dict[str, Any]:
    """Return a theorem in a certificate's form; Lemma 14 with its proofs.

    Where i leads k by ``d_ik``, ``b_i - b_k`` is ``2 d_ik`` and, summed over third items j, ``d_ij - d_kj``. That
    none of these is below 0 is proved by infeasible linear inequalities, wherever j stands.
    """
    if name != "Lemma 14":
        return {"name": name}
    # Columns: the leads d_12, d_13, d_23 as differences of numbers of at least 0.
    places = {"2>3": [(0, 0, -1), (1, -1, 1)], "3>1": [(0, 1, 0), (1, -1, 1)], "else": [(0, 0, 1), (0, -1, 0)]}
    proofs = []
    for part, rows in places.items():
        signed = [[Fraction(s * c) for c in row for s in (1, -1)] for row in [(-1, 0, 0), *rows, (0, 1, -1)]]
        solved = solve(signed, [Fraction(0)] * 3 + [Fraction(-1)], [Fraction(0)] * 6)
        proofs.append({"part": part, "multipliers": [str(y) for y in solved.y] if solved else []})
    return {"name": name, "proofs": proofs}
