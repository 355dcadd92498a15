"""Check a certificate: ``python -m rankbench.certify.check cert.json``.

It needs the standard library and mpmath, and shares no code with the search that made the
certificate. docs/certificates.md has the format and why what is checked proves the claim.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rankbench.certify.checking.bounds import Question, check_bounds, check_numerical, check_point
from rankbench.certify.checking.cells import check_cells
from rankbench.certify.checking.law import (
    LARGEST_SEEN,
    Levels,
    aggregated,
    in_class,
    law,
    mean_graph,
    true_risks,
)
from rankbench.certify.checking.names import check_keys, check_name
from rankbench.certify.checking.numbers import Phi, Rejected, rationals, whole
from rankbench.certify.checking.rules import TermSum, followed, merged, read_risk

__all__ = ["SCHEMA", "Checked", "Rejected", "check", "check_file", "main"]

SCHEMA = "rankbench-certificate/1"

MOST_BYTES = 4_000_000
"""Of a certificate's file."""

POINTWISE = ("VIOLATION", "VIOLATION_BOUNDARY", "CONSISTENT_AT_MU")
UNPROVED = ("NO_COUNTEREXAMPLE_FOUND", "INCONCLUSIVE")

KEYS = {
    *("schema", "versions", "verdict", "arithmetic", "items", "noise", "loss", "surrogate", "aggregation"),
    *("mu", "seen", "phis", "risk", "alpha", "alpha_value", "bounds", "gap", "cells", "seed", "searched"),
}


@dataclass(frozen=True)
class Checked:
    """What a certificate was found to prove.

    Attributes
    ----------
    verdict : str
    proved : bool
        False for verdicts that claim nothing: there is nothing to prove.
    trusted : tuple of str
        What was taken on trust, a sentence each.
    """

    verdict: str
    proved: bool
    trusted: tuple[str, ...]


def check_file(path: Path | str) -> Checked:
    """Check the certificate in a file.

    Raises
    ------
    Rejected
        It does not prove what it claims.
    OSError
        The file cannot be read.
    """
    with Path(path).open("rb") as file:
        return check(file.read(MOST_BYTES + 1))


def check(content: bytes) -> Checked:
    """Check a certificate, whatever it holds.

    Raises
    ------
    Rejected
        It does not prove what it claims.
    """
    if len(content) > MOST_BYTES:
        raise Rejected(f"a certificate has at most {MOST_BYTES:,} bytes")
    try:
        written = json.loads(
            content, parse_int=_integer, parse_float=_no_float, parse_constant=_no_float, object_pairs_hook=_unique
        )
    except (ValueError, RecursionError) as error:
        raise Rejected(f"not a JSON text: {str(error)[:80]}") from None
    try:
        return _checked(written)
    except Rejected:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise Rejected(f"it is not of the form that it should have: {type(error).__name__} {str(error)[:80]}") from None


def _integer(text: str) -> int:
    if len(text) > 20:
        raise Rejected("a JSON integer has more than 20 digits")
    return int(text)


def _no_float(text: str) -> float:
    raise Rejected(f"numbers stand in quotes, {text[:20]} does not")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Rejected("a key is there twice")
    return found


def _checked(cert: Any) -> Checked:
    if not isinstance(cert, dict) or cert.get("schema") != SCHEMA:
        shown = str(cert.get("schema"))[:60] if isinstance(cert, dict) else "none"
        raise Rejected(f"this checker knows {SCHEMA}, not {shown}")
    if unknown := set(cert) - KEYS:
        raise Rejected(f"there is no key {sorted(unknown)[0][:40]!r}")
    verdict = cert["verdict"]
    if cert["arithmetic"] not in ("exact", "interval", "numerical"):
        raise Rejected("arithmetic is exact, interval or numerical")
    if verdict in UNPROVED:
        return Checked(verdict, False, ())
    m = whole(cert["items"], 2, 5, "items")
    if cert["noise"] not in ("low", "dag", "any"):
        raise Rejected("noise is low, dag or any")
    if verdict == "CONSISTENT":
        return Checked(verdict, True, check_cells(cert, m))
    if verdict not in POINTWISE:
        raise Rejected(f"there is no verdict {str(verdict)[:40]!r}")
    mu = law(cert["mu"], m)
    check_keys(cert)
    if cert["noise"] != "any" and cert["loss"].get("normalize") is True:
        raise Rejected(
            "low and dag are conditions on the mean of graphs as they are, which a normalized loss weighs anew"
        )
    if isinstance(mu[0][1], dict) and (why := in_class(cert["noise"], mean_graph(mu), m)):
        raise Rejected(f"mu is not in the noise class {cert['noise']}: {why}")
    risks = true_risks(cert["loss"], mu, m)
    least = min(risks.values())
    right = [levels for levels, risk in risks.items() if risk == least]
    wrong = [levels for levels, risk in risks.items() if risk > least]
    if cert["arithmetic"] == "numerical":
        return _numerical(cert, m, right, wrong)
    if len(cert["phis"]) > 4:
        raise Rejected("there are at most 4 phis")
    phis = [Phi(phi) for phi in cert["phis"]]
    risk, trusted = _risk(cert, m, mu, phis)
    if cert["arithmetic"] == "exact" and (risk.entropy or any(phi.text for phi in phis)):
        raise Rejected("it is not exact: expressions and entropies are evaluated in intervals")
    question = Question(m, phis, risk, right, wrong)
    alpha = rationals(cert["alpha"], m)
    value = check_point(question, cert, alpha)
    check_bounds(question, cert, value)
    return Checked(verdict, True, trusted)


def _numerical(cert: Any, m: int, right: list[Levels], wrong: list[Levels]) -> Checked:
    if cert["verdict"] == "VIOLATION_BOUNDARY":
        raise Rejected("equality is proved by exact arithmetic only")
    check_numerical(m, cert, right, wrong)
    return Checked(
        cert["verdict"], True, ("values and gradients of the surrogate, in double precision", "that it is convex")
    )


def _risk(cert: Any, m: int, mu: Any, phis: list[Phi]) -> tuple[TermSum, tuple[str, ...]]:
    """Return the law's sum of terms, after following how it comes about from mu."""
    seen = law(cert["seen"], m, LARGEST_SEEN)
    sums = [(w, read_risk(e["surrogate"], m, len(phis))) for (w, _), e in zip(seen, cert["seen"], strict=True)]
    aggregation, trusted = cert["aggregation"], []
    if aggregation is None:
        expected = mu
    else:
        if cert["loss"].get("name") != "pairwise":
            raise Rejected("aggregation is of graphs")
        expected = aggregated(mu, str(aggregation["name"]), aggregation["k"], m)
    if _bag(expected) != _bag(seen):
        raise Rejected("what the surrogate sees is not what mu and the aggregation make")
    rule = cert["surrogate"].get("rule")
    if rule is None:
        trusted.append("that the surrogate's terms of each structure are those of its source")
    else:
        for (_, s), (_, own) in zip(seen, sums, strict=True):
            if merged(m, [(Fraction(1), followed(rule, s, m, cert["loss"]))]) != merged(m, [(Fraction(1), own)]):
                raise Rejected("the surrogate's terms are not those of its rule")
    named = check_name(cert["surrogate"], cert["phis"])
    trusted += named if rule is not None else []
    if any(phi.text and phi.trusted for phi in phis):
        trusted.append("that the expression of phi is convex and not below its infimum")
    risk = merged(m, sums)
    if risk != merged(m, [(Fraction(1), read_risk(cert["risk"], m, len(phis)))]):
        raise Rejected("the risk is not the mean of what the surrogate is for each structure")
    return risk, tuple(trusted)


def _bag(law_: Any) -> list[tuple[str, Fraction]]:
    total: dict[str, Fraction] = {}
    for weight, s in law_:
        key = str(sorted(s.items()) if isinstance(s, dict) else s)
        total[key] = total.get(key, Fraction(0)) + weight
    return sorted(total.items())


def _printable(text: str) -> str:
    """Return a text whose line ends, control characters and broken ones are written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def main(arguments: list[str] | None = None) -> int:
    """Check the files that are named; 1 if one is rejected."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        print("usage: python -m rankbench.certify.check CERTIFICATE...", file=sys.stderr)
        return 2
    code = 0
    for name in given:
        try:
            found = check_file(name)
        except (Rejected, OSError) as error:
            print(_printable(f"{name}: rejected: {error}"))
            code = 1
        else:
            state = "proved" + " but for what is taken on trust" * bool(found.trusted)
            print(_printable(f"{name}: {found.verdict}: {state if found.proved else 'claims nothing'}"))
            for what in found.trusted:
                print(f"  taken on trust: {what}")
    return code


if __name__ == "__main__":
    sys.exit(main())
