"""What a certificate has, by its verdict: whatever else is there is refused, as nothing would be proved of it."""

from __future__ import annotations

import re
from typing import Any

from rankbench.certify.checking.law import law
from rankbench.certify.checking.numbers import Rejected, whole

__all__ = ["POINTWISE", "UNPROVED", "check_form"]

POINTWISE = ("VIOLATION", "VIOLATION_BOUNDARY", "CONSISTENT_AT_MU")
UNPROVED = ("NO_COUNTEREXAMPLE_FOUND", "INCONCLUSIVE")

ALWAYS = {"schema", "verdict", "arithmetic", "items", "noise", "loss", "surrogate", "aggregation", "seed"}
OF_ONE_LAW = {"mu", "alpha", "bounds", "gap"}
"""Empty, and gap 0, where nothing is claimed of one law."""

LOSSES = {"pairwise": {"normalize"}, "ndcg": {"gain", "discounts"}, "err": {"top", "discounts"}}


def check_form(cert: dict[str, Any]) -> int:
    """Refuse keys that a certificate of its verdict has not, or lacks; return the number of items."""
    verdict, arithmetic = cert["verdict"], cert["arithmetic"]
    if arithmetic not in ("exact", "interval", "numerical"):
        raise Rejected("arithmetic is exact, interval or numerical")
    if verdict not in (*POINTWISE, *UNPROVED, "CONSISTENT"):
        raise Rejected(f"there is no verdict {str(verdict)[:40]!r}")
    needed, free = set(ALWAYS), {"searched", "versions"}
    if verdict in POINTWISE:
        needed |= {*OF_ONE_LAW, "alpha_value"}
        if arithmetic != "numerical":
            needed |= {"seen", "phis", "risk"}
        elif cert.get("aggregation") is not None:
            needed |= {"seen"}
    else:
        free |= OF_ONE_LAW
        needed |= {"phis", "cells"} if verdict == "CONSISTENT" else set()
    _check_keys(cert, needed, free, f"a certificate of {verdict}")
    m = whole(cert["items"], 2, 5, "items")
    if cert["noise"] not in ("low", "dag", "any"):
        raise Rejected("noise is low, dag or any")
    whole(cert["seed"], 0, 10**20, "seed")
    if any(not isinstance(cert.get(key, {}), dict) for key in ("searched", "versions")):
        raise Rejected("searched and versions are objects")
    _check_who(cert)
    if verdict not in POINTWISE:
        _check_empty(cert, m)
    return m


def _check_keys(found: object, needed: set[str], free: set[str], what: str) -> None:
    if not isinstance(found, dict):
        raise Rejected(f"{what} is an object")
    if unknown := set(found) - needed - free:
        raise Rejected(f"there is no key {min(unknown)[:40]!r} in {what}")
    if lacking := needed - set(found):
        raise Rejected(f"{what} has the key {min(lacking)!r}")


def _check_who(cert: dict[str, Any]) -> None:
    """Check the form of loss, surrogate and aggregation."""
    loss, surrogate, aggregation = cert["loss"], cert["surrogate"], cert["aggregation"]
    if not isinstance(loss, dict) or set(loss) != {"name", *LOSSES.get(str(loss["name"]), ())}:
        raise Rejected(f"a loss has a name, which is one of {', '.join(LOSSES)}, and its tables")
    if loss["name"] == "pairwise" and not isinstance(loss["normalize"], bool):
        raise Rejected("normalize is true or false")
    if cert["noise"] != "any" and loss.get("normalize") is True:
        raise Rejected(
            "low and dag are conditions on the mean of graphs as they are, which a normalized loss weighs anew"
        )
    _check_keys(surrogate, {"name", "parameters", "distribution", "source_sha256", "rule"}, set(), "a surrogate")
    if not all(isinstance(surrogate[key], str) for key in ("name", "distribution", "source_sha256")):
        raise Rejected("name, distribution and source_sha256 of a surrogate are texts")
    if not re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", surrogate["name"], re.ASCII) or len(surrogate["name"]) > 100:
        raise Rejected("the name of a surrogate is of small letters and digits, in words with a hyphen between")
    if not re.fullmatch("[0-9a-f]{64}|unknown", surrogate["source_sha256"], re.ASCII):
        raise Rejected("source_sha256 has 64 hexadecimal digits, or is unknown")
    if (
        not isinstance(surrogate["parameters"], dict)
        or len(surrogate["parameters"]) > 50
        or not isinstance(surrogate["rule"], dict | None)
    ):
        raise Rejected("parameters are an object of at most 50; a rule is one, or null")
    if aggregation is not None:
        _check_keys(aggregation, {"name", "k"}, set(), "an aggregation")
        if not isinstance(aggregation["name"], str):
            raise Rejected("an aggregator has a name")
        if aggregation["k"] != "inf":
            whole(aggregation["k"], 1, 100, "k")
        if loss["name"] != "pairwise":
            raise Rejected("aggregation is of graphs")


def _check_empty(cert: dict[str, Any], m: int) -> None:
    """Refuse numbers of one law where nothing is claimed of one."""
    if cert["verdict"] == "INCONCLUSIVE" and cert.get("mu"):
        law(cert["mu"], m)
    elif cert.get("mu", []) != []:
        raise Rejected(f"{cert['verdict']} is not about one mu")
    if any(cert.get(key, []) != [] for key in ("alpha", "bounds")) or cert.get("gap", "0") != "0":
        raise Rejected(f"{cert['verdict']} has no alpha, bounds or gap")
