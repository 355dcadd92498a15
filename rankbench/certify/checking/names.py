"""What the names of built-in surrogates stand for: a certificate must not prove something else of them."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from rankbench.certify.checking.numbers import Rejected, rational, rationals

__all__ = ["built_in", "check_name", "discount", "rule_of"]

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
    "listnet": set(),
}
"""All parameters of the built-in surrogates."""

WORDS: dict[str, tuple[object, ...]] = {
    "form": ("weighted", "margin"),
    "gain": ("exp2", "identity", "exp", "logistic"),
    "discount": ("log", "log2", "reciprocal"),
    "phi": tuple(PUSHES),
}
"""What parameters that are no numbers may be."""

PUSHED = {
    "order-preserving": "pushes",
    "order-preserving-err": "pushes-of-satisfaction",
    "order-preserving-as-printed": "pushes-turned",
}

DIGITS = Context(prec=40)
DECIMALS = Decimal("0.000001")
"""Of logarithmic discounts in rules."""


def built_in(surrogate: Any) -> bool:
    """Return whether a surrogate is one of rankbench: by its name, whatever distribution it says it is of."""
    return surrogate["name"] in PARAMETERS or surrogate["distribution"].startswith("rankbench ")


def rule_of(surrogate: Any) -> tuple[dict[str, Any], Any]:
    """Return the rule and the phi of a built-in surrogate; a table of discounts by name and cutoff.

    Powers that are not whole are texts.
    """
    name, parameters = surrogate["name"], surrogate["parameters"]
    if name not in PARAMETERS:
        raise Rejected(f"rankbench has no surrogate {name[:40]!r} that this checker knows")
    if set(parameters) != PARAMETERS[name]:
        raise Rejected(f"rule or parameters have other keys than those of {name}")
    for key, words in WORDS.items():
        if key in parameters and parameters[key] not in words:
            raise Rejected(f"the parameter {key} of {name} is none that there is")
    if name in PAIRWISE:
        power = rational(str(parameters["power"]))
        if power < 0:
            raise Rejected("the power of weights is at least 0")
        written = int(power) if power == int(power) else str(power)
        return {"rule": parameters["form"], "power": written, "scale": str(parameters["scale"])}, PAIRWISE[name]
    if name == "listnet":
        return {"rule": "softmax"}, None
    if name == "linear":
        return {"rule": "squares", "nu": str(parameters["nu"])}, SQUARE
    if name == "linear-power":
        power = rational(str(parameters["power"]))
        phi = {"expression": f"abs(t) ** ({power}) / ({power})", "infimum": "0"}
        return {"rule": "power", "nu": str(parameters["nu"]), "power": str(power)}, phi
    if name == "order-preserving-err":
        if parameters["gain"] not in ("exp2", "logistic"):
            raise Rejected("satisfaction has the gain exp2 or logistic")
        top = rational(str(parameters["top"]))
        if not 0 < top <= 1000:
            raise Rejected("the largest grade is above 0, and at most 1000")
        held = {"rule": PUSHED[name], "top": int(top) if top == int(top) else str(top)}
        return held if parameters["gain"] == "exp2" else {"rule": "pushes-of-logistic"}, PUSHES[parameters["phi"]]
    if parameters["gain"] == "logistic":
        raise Rejected("gains are exp2, identity or exp")
    table = {"gain": parameters["gain"], "discount": parameters["discount"], "cutoff": parameters["cutoff"]}
    if name == "regression":
        if not isinstance(parameters["normalize"], bool):
            raise Rejected("normalize is true or false")
        return {"rule": "squares-of-shares" if parameters["normalize"] else "squares-of-gains", **table}, SQUARE
    if name == "cross-entropy":
        return {"rule": "cross-entropy", **table}, None
    return {"rule": PUSHED[name], **table}, PUSHES[parameters["phi"]]


def discount(name: str, cutoff: object, j: int) -> Decimal:
    """Return ``1/F(j)`` to 40 digits; 0 after the cutoff."""
    if cutoff != "inf":
        if not re.fullmatch("[1-9][0-9]{0,8}", str(cutoff), re.ASCII):
            raise Rejected("a cutoff is a whole number above 0, or inf")
        if j > int(str(cutoff)):
            return Decimal(0)
    if name == "reciprocal":
        return DIGITS.divide(Decimal(1), Decimal(j))
    of_log = DIGITS.ln(Decimal(1 + j))
    return DIGITS.divide(DIGITS.ln(Decimal(2)) if name == "log2" else Decimal(1), of_log)


def check_name(surrogate: Any, phis: Any) -> list[str]:
    """Compare the rule and phi of a built-in surrogate with its name and parameters.

    Returns what is taken on trust: that those of other distributions are what their source computes.
    """
    if not built_in(surrogate):
        return ["that rule and phi are those of the surrogate's source"]
    rule, (expected, phi) = surrogate["rule"], rule_of(surrogate)
    if rule is None:
        raise Rejected("a surrogate of rankbench has a rule")
    if rule["rule"] != expected["rule"] or phis != ([] if phi is None else [phi]):
        raise Rejected(f"rule or phi is not that of {surrogate['name']}")
    named = {"discount", "cutoff"} & set(expected)
    if set(rule) != {*(set(expected) - named), *(["discounts"] if named else [])}:
        raise Rejected(f"rule or parameters have other keys than those of {surrogate['name']}")
    for key in set(expected) - {"rule", *named}:
        if not _same(rule[key], expected[key]):
            raise Rejected(f"the rule's {key} is not that of the surrogate's parameters")
    if named:
        _check_table(rationals(rule["discounts"]), expected["discount"], expected["cutoff"])
    return []


def _same(a: object, b: object) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    try:
        return rational(str(a)) == rational(str(b))
    except Rejected:
        return a == b


def _check_table(table: list[Fraction], name: str, cutoff: object) -> None:
    """Compare a table of ``1/F(j)`` with the discount's name; logarithms are rounded to 6 decimals."""
    for j, entry in enumerate(table, 1):
        exact = discount(name, cutoff, j)
        if name == "reciprocal":
            right = entry == (Fraction(1, j) if exact else 0)
        else:
            right = entry == Fraction(exact.quantize(DECIMALS, context=DIGITS))
        if not right:
            raise Rejected("the table of discounts is not that of its name")
