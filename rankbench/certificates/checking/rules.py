"""Rules tell how surrogates make terms of scores, and how they are named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from rankbench.certificates.checking.law import Graph, Irrational, Structure, gains, net_weights, satisfied
from rankbench.certificates.checking.numbers import (
    Rejected,
    check_keys,
    raised,
    rational,
    rationals,
    require,
    sized,
    whole,
)


class Term(NamedTuple):
    """``factor * phi(form . alpha - offset)``, phi by its number."""

    phi: int
    form: tuple[int, ...]
    offset: Fraction
    factor: Fraction


class TermSum(NamedTuple):
    """A sum of terms, plus ``linear . alpha``, plus ``entropy * log sum e^alpha``."""

    terms: tuple[Term, ...]
    linear: tuple[Fraction, ...]
    entropy: Fraction


def read_risk(written: Any, m: int, phis: int) -> TermSum:
    """Read the terms of one structure, or of the law."""
    check_keys(written, ["terms", "linear", "entropy"], "a surrogate's sum")
    require(isinstance(written["terms"], list) and len(written["terms"]) <= 2000, "a sum has at most 2000 terms")
    terms = []
    for entry in written["terms"]:
        check_keys(entry, ["factor", "form", "offset", "phi"], "a term")
        form = tuple(whole(c, -1, 1, "a coefficient") for c in entry["form"])
        require(len(form) == m and any(form), "a form has one coefficient an item, and one that is not 0")
        phi = whole(entry["phi"], 0, phis - 1, "phi")
        terms.append(Term(phi, form, rational(entry["offset"]), rational(entry["factor"])))
    entropy = rational(written["entropy"])
    convex = entropy >= 0 and all(term.factor >= 0 for term in terms)
    require(convex, "a factor, or the entropy, is below 0: the sum need not be convex")
    return TermSum(tuple(terms), tuple(rationals(written["linear"], m)), entropy)


def merged(m: int, law: list[tuple[Fraction, TermSum]]) -> TermSum:
    """Return the mean of sums, equal terms as one, in the order of phi, form and offset."""
    factors: dict[tuple[int, tuple[int, ...], Fraction], Fraction] = {}
    linear, entropy = [Fraction(0)] * m, Fraction(0)
    for weight, risk in law:
        for phi, form, offset, factor in risk.terms:
            if factor:
                key = (phi, form, offset)
                factors[key] = sized(factors.get(key, Fraction(0)) + weight * factor)
        linear = [sized(a + weight * b) for a, b in zip(linear, risk.linear, strict=True)]
        entropy = sized(entropy + weight * risk.entropy)
    return TermSum(tuple(Term(*key, factors[key]) for key in sorted(factors)), tuple(linear), entropy)


def followed(rule: Mapping[str, Any], s: Structure, m: int, loss: Mapping[str, Any], nearly: bool = False) -> TermSum:
    """Return the terms of one structure by a rule of docs/reference/certificate-format.md, with phi number 0.

    A surrogate of edges sees scores as the graph of leads of the loss's gains, a surrogate of
    scores sees a graph's net weights. Irrational gains are refused, or taken nearly.
    """
    kind = rule.get("rule")
    if kind in ("weighted", "margin"):
        graph = s if isinstance(s, dict) else _leads(_gained(loss, s))
        scale = scale_of(rule)
        h = {pair: scale * _powered(weight, rule.get("power"), nearly) for pair, weight in graph.items()}
        zero, one = Fraction(0), Fraction(1)
        return _of_pairs(m, {p: (w, zero) if kind == "weighted" else (one, w) for p, w in h.items()})
    scores = s if isinstance(s, list) else net_weights(s, m)
    if kind in ("squares", "power"):
        nu = rational(rule.get("nu"))
        require(nu > 0, "nu is not above 0")
        if kind == "squares":
            return _squares([x / nu for x in scores])
        terms = [Term(0, _unit(m, j), Fraction(0), Fraction(1, m)) for j in range(m)]
        return TermSum(tuple(terms), tuple(-x / (m * nu) for x in scores), Fraction(0))
    if kind == "squares-of-gains":
        return _squares(gains(str(rule.get("gain")), scores, nearly))
    if kind == "pushes-of-satisfaction":
        return _pushes(satisfied(rule.get("top"), scores, nearly), 1)
    if kind not in ("squares-of-shares", "cross-entropy", "pushes", "pushes-turned"):
        raise Rejected(f"there is no rule {str(kind)[:40]!r}")
    shares = _shares(rule, scores, m, nearly)
    if kind == "squares-of-shares":
        return _squares(shares)
    weights = [x - min(Fraction(0), *shares) for x in shares]
    if kind == "cross-entropy":
        return TermSum((), tuple(-w for w in weights), sum(weights, Fraction(0)))
    return _pushes(weights, 1 if kind == "pushes" else -1)


KEYS: dict[str, set[str]] = {
    **{rule: {"power", "scale"} for rule in ("weighted", "margin")},
    **{rule: {"gain", "discounts"} for rule in ("pushes", "pushes-turned", "cross-entropy")},
    **{rule: {"gain", "discounts"} for rule in ("squares-of-gains", "squares-of-shares")},
    "pushes-of-satisfaction": {"top"},
    "squares": {"nu"},
    "power": {"nu", "power"},
}
"""Keys of a rule beside its name; a scale may be left out, and is 1."""


def check_rule(rule: Mapping[str, Any]) -> None:
    """Reject an unknown rule, or one with other keys."""
    kind = str(rule.get("rule"))
    require(kind in KEYS, f"there is no rule {kind[:40]!r}")
    require({"rule", *KEYS[kind]} - {"scale"} <= set(rule) <= {"rule", *KEYS[kind]}, f"the rule {kind} has other keys")


def scale_of(rule: Mapping[str, Any]) -> Fraction:
    """Return the scale of h in a weighted sum or one of margins."""
    scale = rational(rule.get("scale", "1"))
    right = scale == 1 if rule["rule"] == "weighted" else scale > 0
    require(right, "scale is above 0, and 1 in a weighted sum")
    return scale


def _powered(weight: Fraction, power: object, nearly: bool) -> Fraction:
    if nearly and power == "log1p":
        return Fraction(DIGITS.ln(DIGITS.divide(Decimal(weight.numerator + weight.denominator), weight.denominator)))
    if nearly and isinstance(power, str):
        return raised(weight, rational(power))
    if isinstance(power, str):
        raise Irrational("powers of weights are whole: others, and log1p, are irrational")
    return weight ** whole(power, 0, 8, "power")


def _gained(loss: Mapping[str, Any], s: list[Fraction]) -> list[Fraction]:
    if loss.get("name") == "err":
        return satisfied(loss.get("top"), s)
    return gains(str(loss.get("gain")), s) if loss.get("name") == "ndcg" else s


def _leads(scores: list[Fraction]) -> Graph:
    m = len(scores)
    return {(i, j): scores[i] - scores[j] for i in range(m) for j in range(m) if scores[i] > scores[j]}


def _shares(rule: Mapping[str, Any], scores: list[Fraction], m: int, nearly: bool) -> list[Fraction]:
    gained, table = gains(str(rule.get("gain")), scores, nearly), rationals(rule.get("discounts"))[:m]
    fall = len(table) == m and table == sorted(table, reverse=True)
    require(fall, "discounts do not increase, and there is one for each item")
    best = sum(g * d for g, d in zip(sorted(gained, reverse=True), table, strict=True))
    return [g / best for g in gained] if best > 0 and any(scores) else [Fraction(0)] * m


def _unit(m: int, j: int) -> tuple[int, ...]:
    return tuple(int(i == j) for i in range(m))


def _squares(target: list[Fraction]) -> TermSum:
    m = len(target)
    terms = [Term(0, _unit(m, j), t, Fraction(1, 2 * m)) for j, t in enumerate(target)]
    return TermSum(tuple(terms), (Fraction(0),) * m, Fraction(0))


def _pushes(weights: list[Fraction], sign: int) -> TermSum:
    m = len(weights)
    pairs = {(j, k) if sign > 0 else (k, j): (weights[j], Fraction(0)) for j in range(m) for k in range(m) if j != k}
    return _of_pairs(m, pairs)


def _of_pairs(m: int, pairs: dict[tuple[int, int], tuple[Fraction, Fraction]]) -> TermSum:
    terms = []
    for (i, j), (factor, offset) in pairs.items():
        if factor:
            form = tuple(int(k == i) - int(k == j) for k in range(m))
            terms.append(Term(0, form, offset, factor))
    return TermSum(tuple(terms), (Fraction(0),) * m, Fraction(0))


SQUARE = {"pieces": [{"coefficients": ["0", "0", "1"]}]}
LOGISTIC = {"expression": "log(1 + exp(-t))", "infimum": "0"}
EXPONENTIAL = {"expression": "exp(-t)", "infimum": "0"}
HINGE = {"pieces": [{"until": "1", "coefficients": ["1", "-1"]}, {"coefficients": ["0"]}]}
SQUARED_HINGE = {"pieces": [{"until": "1", "coefficients": ["1", "-2", "1"]}, {"coefficients": ["0"]}]}

PAIRWISE: dict[str, dict[str, Any]] = {
    "pairwise-logistic": LOGISTIC,
    "pairwise-exponential": EXPONENTIAL,
    "pairwise-hinge": HINGE,
    "pairwise-squared-hinge": SQUARED_HINGE,
    "pairwise-squared": {"pieces": [{"coefficients": ["1", "-2", "1"]}]},
}
PUSHES = {"logistic": LOGISTIC, "exponential": EXPONENTIAL, "squared-hinge": SQUARED_HINGE}

DISCOUNTED = {"gain", "discount", "cutoff"}

PARAMETERS: dict[str, set[str]] = {
    **{name: {"form", "h", "power", "scale"} for name in PAIRWISE},
    "order-preserving": {*DISCOUNTED, "phi"},
    "order-preserving-as-printed": {*DISCOUNTED, "phi"},
    "order-preserving-err": {"gain", "top", "phi"},
    "regression": {*DISCOUNTED, "normalize"},
    "linear": {"nu"},
    "linear-power": {"nu", "power"},
    "cross-entropy": DISCOUNTED,
    "listnet": set(),
}
"""All parameters of the built-in surrogates."""

WORDS: dict[str, tuple[object, ...]] = {
    "form": ("weighted", "margin"),
    "h": ("power", "log1p"),
    "gain": ("exp2", "identity", "exp", "logistic"),
    "discount": ("log", "log2", "reciprocal"),
    "phi": tuple(PUSHES),
}
"""Allowed words of parameters that are no numbers."""

PUSHED = {
    "order-preserving": "pushes",
    "order-preserving-err": "pushes-of-satisfaction",
    "order-preserving-as-printed": "pushes-turned",
}

DIGITS = Context(prec=40)
DECIMALS = "0.000001"
"""The last one of logarithmic discounts in rules."""


def built_in(surrogate: Any) -> bool:
    """Return whether a surrogate is rankbench's, by its name, in spite of the stated distribution."""
    return surrogate["name"] in PARAMETERS or surrogate["distribution"].startswith("rankbench ")


def rule_of(surrogate: Any, count: int, digits: str) -> tuple[dict[str, Any], Any]:
    """Return the rule and the phi of a built-in surrogate, as a certificate has them.

    Parameters
    ----------
    surrogate : dict
    count : int
        Length of a table of discounts.
    digits : str
        The last decimal of discounts that are logarithms, like ``0.001``.
    """
    name, parameters = surrogate["name"], surrogate["parameters"]
    require(name in PARAMETERS, f"rankbench has no surrogate {name[:40]!r} that this checker knows")
    # Certificates from before h had a name lack it.
    known = PARAMETERS[name] - {"h"} <= set(parameters) <= PARAMETERS[name]
    require(known, f"the parameters have other keys than {name} has")
    for key, words in WORDS.items():
        known = parameters.get(key, words[0]) in words
        require(known, f"the parameter {key} of {name} is none that there is")
    if name in PAIRWISE:
        power = rational(str(parameters["power"]))
        require(power >= 0, "the power of weights is at least 0")
        h = _whole(power) if parameters.get("h", "power") == "power" else parameters["h"]
        return {"rule": parameters["form"], "power": h, "scale": str(parameters["scale"])}, PAIRWISE[name]
    if name == "listnet":
        return {"rule": "softmax"}, None
    if name == "linear":
        return {"rule": "squares", "nu": str(parameters["nu"])}, SQUARE
    if name == "linear-power":
        power = rational(str(parameters["power"]))
        phi = {"expression": f"abs(t) ** ({power}) / ({power})", "infimum": "0"}
        return {"rule": "power", "nu": str(parameters["nu"]), "power": str(power)}, phi
    if name == "order-preserving-err":
        require(parameters["gain"] in ("exp2", "logistic"), "satisfaction has the gain exp2 or logistic")
        top = rational(str(parameters["top"]))
        require(0 < top <= 1000, "the largest grade is above 0, and at most 1000")
        held = {"rule": PUSHED[name], "top": _whole(top)}
        return held if parameters["gain"] == "exp2" else {"rule": "pushes-of-logistic"}, PUSHES[parameters["phi"]]
    require(parameters["gain"] != "logistic", "gains are exp2, identity or exp")
    table = {"gain": parameters["gain"], "discounts": _discounts(parameters, count, Decimal(digits))}
    if name == "regression":
        require(isinstance(parameters["normalize"], bool), "normalize is true or false")
        return {"rule": "squares-of-shares" if parameters["normalize"] else "squares-of-gains", **table}, SQUARE
    if name == "cross-entropy":
        return {"rule": "cross-entropy", **table}, None
    return {"rule": PUSHED[name], **table}, PUSHES[parameters["phi"]]


def _whole(number: Fraction) -> int | str:
    """Return a number as an integer if it is whole, else as a text."""
    return int(number) if number.denominator == 1 else str(number)


def _discounts(parameters: Any, count: int, digits: Decimal) -> list[str]:
    """Return a table of ``1/F(j)``; 0 after the cutoff."""
    name, cutoff = parameters["discount"], str(parameters["cutoff"])
    require(re.fullmatch("inf|[1-9][0-9]{0,8}", cutoff, re.ASCII), "a cutoff is a whole number above 0, or inf")
    last = count if cutoff == "inf" else min(count, int(cutoff))
    if name == "reciprocal":
        table = [f"1/{j}" for j in range(1, last + 1)]
    else:
        unit = DIGITS.ln(Decimal(2)) if name == "log2" else Decimal(1)
        logs = [DIGITS.ln(Decimal(1 + j)) for j in range(1, last + 1)]
        table = [str(DIGITS.divide(unit, log).quantize(digits, context=DIGITS)) for log in logs]
    return table + ["0"] * (count - last)


def check_name(surrogate: Any, phis: Any) -> list[str]:
    """Compare the rule and phi of a built-in surrogate with its name and parameters.

    Returns the assumptions: surrogates of other distributions have the rule and phi that their source computes.
    """
    if not built_in(surrogate):
        return ["that the surrogate's source has this rule and phi"]
    require(surrogate["rule"] is not None, "a surrogate of rankbench has a rule")
    rule, phi = rule_of(surrogate, len(rationals(surrogate["rule"].get("discounts", []))), DECIMALS)
    right = _numbers(surrogate["rule"]) == _numbers(rule) and phis == ([] if phi is None else [phi])
    require(right, f"rule or phi is not that of {surrogate['name']} with these parameters")
    return []


def _numbers(value: Any) -> Any:
    """Return plain values with numbers in place of numeric texts, so that 0.5 is 1/2."""
    if isinstance(value, dict):
        return {key: _numbers(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_numbers(entry) for entry in value]
    try:
        return value if isinstance(value, bool) else rational(str(value))
    except Rejected:
        return value
