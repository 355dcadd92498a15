"""Risks of every order under a certificate's law, side by side: what the picture shows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from rankbench.certify.checking.law import law, true_risks
from rankbench.certify.floats import float_risk
from rankbench.certify.newton import on_cone
from rankbench.certify.piecewise import least_on_cone
from rankbench.kinds.exact import ConvexPhi, ExactSurrogate, PhiTerm

__all__ = ["OrderRisks", "order_risks"]


class OrderRisks(NamedTuple):
    """One order: its true risk, the least surrogate risk of scores that order items so, and whether it is right."""

    order: str
    true: float
    surrogate: float
    right: bool


def order_risks(content: Mapping[str, Any]) -> list[OrderRisks]:
    """Return the risks of all orders without ties.

    Of numerical certificates, whose risk is not written down, surrogate risks are those of the cuts:
    of the scores that are preferred and of the cones that have a bound, nan of others.
    """
    m, mu = content["items"], law(content["mu"], content["items"])
    orders = list(itertools.permutations(range(m)))
    risks = true_risks(content["loss"], mu, m)
    true = [risks[tuple((i,) for i in order)] for order in orders]
    least = min(true)
    rows = []
    for order, risk in zip(orders, true, strict=True):
        name = ">".join(str(i + 1) for i in order)
        rows.append(OrderRisks(name, float(risk), _surrogate(content, order, name), risk == least))
    return [row for row in rows if not np.isnan(row.surrogate)]


def _surrogate(content: Mapping[str, Any], order: tuple[int, ...], name: str) -> float:
    if "risk" in content:
        stated = _stated(content)
        if stated.terms and all(term.phi.piecewise_linear for term in stated.terms):
            found = least_on_cone(stated, order)
            return float(found.value) if found else float("nan")
        risk = float_risk(stated)
        return risk(on_cone(risk, order))[0]
    alpha = [float(Fraction(a)) for a in content["alpha"]]
    if all(alpha[a] >= alpha[b] for a, b in itertools.pairwise(order)):
        return float(Fraction(content["alpha_value"]))
    bound = next((b for b in content["bounds"] if b["order"] == name), None)
    if bound is None:
        return float("nan")
    return min(float(Fraction(cut["value"])) for cut in bound["cuts"])


def _stated(content: Mapping[str, Any]) -> ExactSurrogate:
    """Return the risk that a certificate writes down."""
    phis = []
    for written in content["phis"]:
        if "pieces" in written:
            pieces = tuple(
                (Fraction(p["until"]) if "until" in p else None, tuple(Fraction(c) for c in p["coefficients"]))
                for p in written["pieces"]
            )
            phis.append(ConvexPhi(pieces))
        else:
            infimum = Fraction(written["infimum"]) if "infimum" in written else None
            phis.append(ConvexPhi(expression=written["expression"], infimum=infimum))
    terms = tuple(
        PhiTerm(Fraction(t["factor"]), tuple(t["form"]), Fraction(t["offset"]), phis[t["phi"]])
        for t in content["risk"]["terms"]
    )
    linear = tuple(Fraction(b) for b in content["risk"]["linear"])
    return ExactSurrogate(terms, linear, Fraction(content["risk"]["entropy"]))
