"""The checker holds claims on a whole noise class to theorems, whose hypotheses it tests exactly.

docs/reference/certificate-format.md has each theorem with its proof.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rankbench.certificates.checking.cells import Cell, Row, check_farkas, lead, summed
from rankbench.certificates.checking.numbers import Phi, check_keys, rational, rationals, require, whole
from rankbench.certificates.checking.rules import EXPONENTIAL, LOGISTIC, SQUARE, check_name, check_rule, scale_of

ZERO = Fraction(0)

SMOOTH = {LOGISTIC["expression"]: Fraction(-1, 2), EXPONENTIAL["expression"]: Fraction(-1)}
"""Slopes at 0 of expressions that fall everywhere, towards 0; their second derivatives are at most 1 or they."""


def check_theorem(cert: Any, m: int) -> tuple[str, ...]:
    """Check that a theorem decides, and return the assumptions not checked."""
    surrogate, written = cert["surrogate"], cert["theorem"]
    check_keys(written, ["name"], "a theorem", free=["proofs"])
    name, rule = written["name"], surrogate["rule"]
    require(name in tuple(THEOREMS), f"this checker knows no theorem {str(name)[:40]!r}")
    require(cert["arithmetic"] == "exact" and isinstance(rule, dict), "a theorem is exact, of a surrogate with a rule")
    check_rule(rule)
    trusted = check_name(surrogate, cert["phis"])
    require(len(cert["phis"]) <= 1, "there is one phi at most")
    phi = Phi(cert["phis"][0]) if cert["phis"] else None
    require(("proofs" in written) == (name == "Lemma 14"), "Lemma 14 alone has proofs")
    THEOREMS[name](cert, m, rule, phi)
    return tuple(trusted)


def _difference_graph(cert: Any, m: int, rule: Mapping[str, Any], phi: Phi | None) -> None:
    """Check that a reversed edge costs at least phi(0), and that all edges of an acyclic graph can cost inf phi."""
    _on_differences(cert)
    _sum_of_edges(rule)
    require(phi is not None and _falls(phi), "phi is not known to be nonincreasing and bounded below")
    require(_slopes(phi)[1] < 0, "phi does not fall at 0")


def _three_items(cert: Any, m: int, rule: Mapping[str, Any], phi: Phi | None) -> None:
    """Check that balance of three items' forces leaves no reversed edge."""
    _on_differences(cert)
    _sum_of_edges(rule)
    require(rule["rule"] == "weighted", "the sum is weighted")
    require(m <= 3, "it is of three items at most")
    require(phi is not None and _differentiable(phi), "phi is not known to be differentiable")
    require(_slopes(phi)[0] < 0, "phi does not fall at 0")
    _, slope, bend = phi.pieces[-1][1] if phi is not None and phi.pieces else (ZERO, ZERO, ZERO)
    require(bend > 0 or slope >= 0, "phi is not bounded below")


def _two_items(cert: Any, m: int, rule: Mapping[str, Any], phi: Phi | None) -> None:
    """Check that the risk ``A phi(t) + B phi(-t)`` has slope (A - B) phi'(0) at 0."""
    require(cert["loss"] == {"name": "pairwise", "normalize": False}, "the loss is the pairwise one (10)")
    aggregation = cert["aggregation"]
    plain = aggregation is None or aggregation["name"] == "average-adjacency"
    require(plain, "judgments are single, or averaged")
    linear = rule["rule"] == "weighted" and rational(str(rule["power"])) == 1 and scale_of(rule) == 1
    require(m == 2 and linear, "it is of two items, and a sum that is linear in the structure")
    left, right = _slopes(phi) if phi is not None else (ZERO, ZERO)
    require(left == right < 0, "phi is not known to be differentiable at 0, with a slope below 0")


def _corollary_1(cert: Any, m: int, rule: Mapping[str, Any], phi: Phi | None) -> None:
    """Check that the surrogate orders items by the mean of G(s_j)/Z(s), with the loss's gain and discounts."""
    loss = cert["loss"]
    require(loss["name"] == "ndcg" and cert["aggregation"] is None, "it is of the NDCG family, and single structures")
    table = rationals(loss["discounts"], m)
    require(min(table) >= 0 and table == sorted(table, reverse=True), "discounts are at least 0, and do not increase")
    rules = ("squares-of-shares", "cross-entropy", "pushes")
    require(rule["rule"] in rules, f"the rule is one of {', '.join(rules)}")
    same = rule["gain"] == loss["gain"] and rationals(rule["discounts"])[:m] == table
    require(same, "the surrogate has other gains or discounts than the loss")
    if rule["rule"] == "cross-entropy":
        require(phi is None, "the cross entropy has no phi")
    elif rule["rule"] == "squares-of-shares":
        require(cert["phis"] == [SQUARE], "phi of squares is t^2")
    else:
        known = phi is not None and _falls(phi) and _differentiable(phi) and _slopes(phi)[0] < 0
        require(known, "phi is not known to be differentiable and nonincreasing, with a slope below 0 at 0")


def _lemma_1(cert: Any, m: int, rule: Mapping[str, Any], phi: Phi | None) -> None:
    """Check that the surrogate orders items by the mean of G(s_j), for ERR with the same G and independent scores."""
    loss = cert["loss"]
    plain = loss["name"] == "err" and cert["noise"] == "independent" and cert["aggregation"] is None
    require(plain, "it is of ERR, independent scores, and single structures")
    table = rationals(loss["discounts"], m)
    require(min(table) >= 0 and table == sorted(table, reverse=True), "discounts are at least 0, and do not increase")
    same = rule["rule"] == "pushes-of-satisfaction" and rule["top"] == loss["top"]
    require(same, "the rule is pushes-of-satisfaction, with the largest grade of the loss")
    known = phi is not None and _falls(phi) and _differentiable(phi) and _slopes(phi)[0] < 0
    require(known, "phi is not known to be differentiable and nonincreasing, with a slope below 0 at 0")


def _lemma_14(cert: Any, m: int, rule: Mapping[str, Any], phi: Phi | None) -> None:
    """Check that in low noise net weights order pairs as leads do, for each third item; that r is strictly convex."""
    require(cert["loss"] == {"name": "pairwise", "normalize": False}, "the loss is the pairwise one (10)")
    aggregation = cert["aggregation"]
    plain = aggregation is None or aggregation["name"] == "net-weights"
    require(cert["noise"] == "low" and plain, "it is of low noise, and of net weights")
    require(rational(rule.get("nu")) > 0, "nu is not above 0")
    power = str(rule.get("power"))
    r = SQUARE if rule["rule"] == "squares" else {"expression": f"abs(t) ** ({power}) / ({power})", "infimum": "0"}
    known = rule["rule"] in ("squares", "power") and cert["phis"] == [r] and phi is not None and not phi.trusted
    require(known, "r is neither a square nor a power above 1")
    proofs = {proof["part"]: proof["multipliers"] for proof in cert["theorem"]["proofs"]}
    cells = _third_items()
    require(set(proofs) == {cell.part for cell in cells}, "there is not one proof for each place of a third item")
    for cell in cells:
        check_farkas(cell, rationals(proofs[cell.part], len(cell.rows)))


def _third_items() -> list[Cell]:
    """Return the systems in which 1 leads 2, and item 3 takes more of that lead in net weights than it adds."""

    def ahead(i: int, j: int, sign: int = -1) -> Row:
        return lead((i, j), sign), ZERO

    def chain(i: int, j: int, k: int) -> Row:
        return summed([lead((i, j), 1), lead((j, k), 1), lead((i, k), -1)]), ZERO

    places = {
        "2>3": [ahead(1, 2), chain(0, 1, 2)],
        "3>1": [ahead(2, 0), chain(2, 0, 1)],
        "else": [ahead(1, 2, 1), ahead(0, 2)],
    }
    turned: Row = summed([lead((0, 2), 1), lead((1, 2), -1)]), Fraction(-1)
    return [Cell(part, (), [ahead(0, 1), *rows, turned]) for part, rows in places.items()]


THEOREMS = {
    "(23)": _difference_graph,
    "three items": _three_items,
    "two items": _two_items,
    "Corollary 1": _corollary_1,
    "Lemma 1": _lemma_1,
    "Lemma 14": _lemma_14,
}


def _on_differences(cert: Any) -> None:
    require(cert["loss"] == {"name": "pairwise", "normalize": False}, "the loss is the pairwise one (10)")
    whole_graph = cert["aggregation"] == {"name": "difference-graph", "k": "inf"}
    require(whole_graph and cert["noise"] in ("low", "dag"), "it is of difference graphs of all, without cycles")


def _sum_of_edges(rule: Mapping[str, Any]) -> None:
    """Check that h is above 0 for weights above 0."""
    require(rule["rule"] in ("weighted", "margin") and scale_of(rule) > 0, "the sum is of edges")
    whole(rule["power"], 0, 8, "power")


def _falls(phi: Phi) -> bool:
    """Return whether phi is known to be nonincreasing and bounded below."""
    return phi.text in SMOOTH or (bool(phi.pieces) and phi.pieces[-1][1][1:] == [ZERO, ZERO])


def _differentiable(phi: Phi) -> bool:
    """Return whether phi is known to have a continuous derivative."""
    meet = [
        left[1] + 2 * left[2] * end == right[1] + 2 * right[2] * end
        for (end, left), (_, right) in itertools.pairwise(phi.pieces)
        if end is not None
    ]
    return phi.text in SMOOTH or (bool(phi.pieces) and all(meet))


def _slopes(phi: Phi | None) -> tuple[Fraction, Fraction]:
    """Return the slopes left and right of 0; 0 if unknown."""
    if phi is None or not phi.pieces:
        slope = SMOOTH.get(phi.text, ZERO) if phi is not None else ZERO
        return slope, slope
    left = next(c for end, c in phi.pieces if end is None or end >= 0)
    right = next(c for end, c in phi.pieces if end is None or end > 0)
    return left[1], right[1]
