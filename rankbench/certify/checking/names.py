"""What the names of built-in surrogates stand for: a certificate must not prove something else of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rankbench.certify.checking.numbers import Rejected, high, interval, low, rational, rationals

__all__ = ["check_keys", "check_name"]

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
    **{name: {"form", "power", "scale"} for name in PAIRWISE},
    "order-preserving": {*DISCOUNTED, "phi"},
    "order-preserving-as-printed": {*DISCOUNTED, "phi"},
    "order-preserving-err": {"gain", "top", "phi"},
    "regression": {*DISCOUNTED, "normalize"},
    "linear": {"nu"},
    "linear-power": {"nu", "power"},
    "cross-entropy": DISCOUNTED,
}
"""All parameters of the surrogates that state themselves exactly."""

RULES: dict[str, set[str]] = {
    **{rule: {"power", "scale"} for rule in ("weighted", "margin")},
    **{rule: {"gain", "discounts"} for rule in ("pushes", "pushes-turned", "cross-entropy")},
    **{rule: {"gain", "discounts"} for rule in ("squares-of-gains", "squares-of-shares")},
    "pushes-of-satisfaction": {"top"},
    "squares": {"nu"},
    "power": {"nu", "power"},
}
"""What these say of their rule."""

LOSSES = {"pairwise": {"normalize"}, "ndcg": {"gain", "discounts"}, "err": {"top", "discounts"}}


def check_keys(cert: Any) -> None:
    """Refuse keys of the loss, surrogate and aggregation that the checker does not know, and would pass over."""
    loss, aggregation = cert["loss"], cert["aggregation"]
    if set(loss) != {"name", *LOSSES.get(str(loss["name"]), ())}:
        raise Rejected(f"a loss has a name, which is one of {', '.join(LOSSES)}, and its tables")
    if loss["name"] == "pairwise" and not isinstance(loss["normalize"], bool):
        raise Rejected("normalize is true or false")
    if set(cert["surrogate"]) != {"name", "parameters", "distribution", "source_sha256", "rule"}:
        raise Rejected("a surrogate has name, parameters, distribution, source_sha256 and rule")
    if aggregation is not None and set(aggregation) != {"name", "k"}:
        raise Rejected("an aggregation has name and k")


def check_name(surrogate: Any, phis: Any) -> list[str]:
    """Compare the rule and phi of a built-in surrogate with its name and parameters.

    Returns what is taken on trust: that those of other distributions are what their source computes.
    """
    if not str(surrogate["distribution"]).startswith("rankbench "):
        return ["that rule and phi are those of the surrogate's source"]
    name, parameters, rule = surrogate["name"], surrogate["parameters"], surrogate["rule"]
    if rule is None:
        raise Rejected("a surrogate of rankbench has a rule")
    kind, phi = _expected(name, parameters, rule)
    if rule["rule"] != kind or (phis and phis != [phi]) or (phi is not None and len(phis) > 1):
        raise Rejected(f"rule or phi is not that of {str(name)[:40]}")
    if "discounts" in rule:
        _check_table(rationals(rule["discounts"]), str(parameters["discount"]), str(parameters["cutoff"]))
    if set(rule) != {"rule", *RULES[kind]} or set(parameters) != PARAMETERS[name]:
        raise Rejected(f"rule or parameters have other keys than those of {str(name)[:40]}")
    if parameters.get("gain") != "exp2" and name == "order-preserving-err":
        raise Rejected("satisfaction has the gain exp2")
    for key in RULES[kind] - {"discounts"}:
        if not _same(rule[key], parameters[key]):
            raise Rejected(f"the rule's {key} is not that of the surrogate's parameters")
    return []


def _same(a: object, b: object) -> bool:
    try:
        return rational(str(a)) == rational(str(b))
    except Rejected:
        return a == b


def _expected(name: str, parameters: Any, rule: Any) -> tuple[str, Any]:
    if name in PAIRWISE:
        return parameters["form"], PAIRWISE[name]
    if name in ("order-preserving", "order-preserving-err", "order-preserving-as-printed"):
        kinds = {"order-preserving": "pushes", "order-preserving-err": "pushes-of-satisfaction"}
        return kinds.get(name, "pushes-turned"), PUSHES[parameters["phi"]]
    if name == "regression":
        return ("squares-of-shares" if parameters["normalize"] is True else "squares-of-gains"), SQUARE
    if name == "linear":
        return "squares", SQUARE
    if name == "linear-power":
        power = rational(str(rule["power"]))
        return "power", {"expression": f"abs(t) ** ({power}) / ({power})", "infimum": "0"}
    if name == "cross-entropy":
        return "cross-entropy", None
    raise Rejected(f"rankbench has no surrogate {str(name)[:40]!r} that states itself exactly")


def _check_table(table: list[Fraction], discount: str, cutoff: str) -> None:
    """Compare a table of ``1/F(j)`` with the discount's name; logarithms are rounded to 6 decimals."""
    from mpmath import iv

    last = None if cutoff == "inf" else int(rational(cutoff))
    for j, entry in enumerate(table, 1):
        if last is not None and j > last:
            right = entry == 0
        elif discount == "reciprocal":
            right = entry == Fraction(1, j)
        else:
            inside = iv.log(interval(Fraction(1 + j)))
            exact = 1 / inside if discount == "log" else iv.log(iv.mpf(2)) / inside
            right = max(abs(entry - low(exact)), abs(entry - high(exact))) <= Fraction(1, 10**6)
        if not right:
            raise Rejected("the table of discounts is not that of its name")
