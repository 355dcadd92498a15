"""Check a certificate: ``python -m rankbench.certificates.check cert.json``.

It needs the standard library and mpmath, and shares no code with the search that made the
certificate. docs/reference/certificate-format.md has the format and why these checks prove the claim.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rankbench.certificates.checking.bounds import (
    UNPROVED,
    PointClaim,
    check_bounds,
    check_cuts,
    check_form,
    check_point,
    formula,
)
from rankbench.certificates.checking.cells import check_cells
from rankbench.certificates.checking.law import (
    EXACT_AGGREGATORS,
    LARGEST_SEEN,
    Structure,
    aggregated,
    dependent,
    in_class,
    law,
    mean_graph,
    true_risks,
)
from rankbench.certificates.checking.numbers import Phi, Rejected, Uncheckable, rationals, require
from rankbench.certificates.checking.rules import TermSum, built_in, check_name, check_rule, followed, merged, read_risk
from rankbench.certificates.checking.theorems import check_theorem

SCHEMA = "rankbench-certificate/1"

MOST_BYTES = 4_000_000
"""Of a certificate's file."""


@dataclass(frozen=True)
class Checked:
    """Outcome of a check of a certificate.

    Attributes
    ----------
    verdict : str
    proved : bool
        False for verdicts that claim nothing: there is nothing to prove.
    trusted : tuple of str
        Assumptions that were taken on trust, a sentence each.
    about : str
        Subject of the verdict: surrogate, loss, items, noise and aggregation.
    surrogate, source_sha256 : str
        The surrogate's name, and the hash of its source file.
    followed : bool
        Whether the checker knows the formula of that surrogate, so that nothing rests on its source.
    theorem : str
        Name of the theorem that proves it, and whose hypotheses were checked; empty if none does.
    """

    verdict: str
    proved: bool
    trusted: tuple[str, ...]
    about: str
    surrogate: str
    source_sha256: str
    followed: bool
    theorem: str


def check_file(path: Path | str) -> Checked:
    """Check the certificate in a file.

    Raises
    ------
    Rejected
        It does not prove what it claims.
    Uncheckable
        It has intervals, and mpmath is not installed.
    OSError
        The file cannot be read.
    """
    with Path(path).open("rb") as file:
        return check(file.read(MOST_BYTES + 1))


def check(content: bytes) -> Checked:
    """Check a certificate of any contents.

    Raises
    ------
    Rejected
        It does not prove what it claims.
    Uncheckable
        It has intervals, and mpmath is not installed.
    """
    require(len(content) <= MOST_BYTES, f"a certificate has at most {MOST_BYTES:,} bytes")
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
    require(len(text) <= 20, "a JSON integer has more than 20 digits")
    return int(text)


def _no_float(text: str) -> float:
    raise Rejected(f"numbers stand in quotes, {text[:20]} does not")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    require(len(found) == len(pairs), "a key is there twice")
    return found


def _checked(cert: Any) -> Checked:
    require(cert.get("schema") == SCHEMA, f"this checker knows {SCHEMA}, not {str(cert.get('schema'))[:60]}")
    m = check_form(cert)
    verdict, surrogate = cert["verdict"], cert["surrogate"]
    if verdict in UNPROVED:
        trusted: tuple[str, ...] = ()
    elif verdict == "CONSISTENT":
        trusted = check_theorem(cert, m) if "theorem" in cert else check_cells(cert, m)
    else:
        trusted = _of_one_law(cert, m)
    return Checked(
        verdict,
        verdict not in UNPROVED,
        trusted,
        _about(cert, m),
        surrogate["name"],
        surrogate["source_sha256"],
        built_in(surrogate) or verdict in UNPROVED,
        str(cert.get("theorem", {}).get("name", "")),
    )


def _about(cert: Any, m: int) -> str:
    """Return a certificate's subject: a right certificate may answer another question than its name suggests."""

    def named(entry: Any) -> str:
        told = ", ".join(f"{str(key)[:40]}={_short(value)}" for key, value in entry.items() if key != "name")
        return f"{entry['name'][:100]} ({told})" if told else str(entry["name"][:100])

    surrogate = {"name": cert["surrogate"]["name"], **cert["surrogate"]["parameters"]}
    after = "" if cert["aggregation"] is None else f" after {named(cert['aggregation'])}"
    return f"{named(surrogate)}{after}; loss {named(cert['loss'])}; {m} items; noise {cert['noise']}"


def _short(value: Any) -> str:
    """Return a value as text, of a length that fits on a line."""
    return " ".join(str(entry)[:20] for entry in value[:8]) if isinstance(value, list) else str(value)[:40]


def _of_one_law(cert: Any, m: int) -> tuple[str, ...]:
    """Check a claim about one law; return the assumptions not checked."""
    mu = law(cert["mu"], m)
    if isinstance(mu[0][1], dict) and (why := in_class(cert["noise"], mean_graph(mu), m)):
        raise Rejected(f"mu is not in the noise class {cert['noise']}: {why}")
    risks = true_risks(cert["loss"], mu, m)
    require(cert["noise"] != "independent" or not dependent(mu, m), "mu is not in the noise class independent")
    least = min(risks.values())
    right = [levels for levels, risk in risks.items() if risk == least]
    wrong = [levels for levels, risk in risks.items() if risk > least]
    if cert["arithmetic"] == "numerical":
        require(cert["verdict"] != "VIOLATION_BOUNDARY", "equality is proved by exact arithmetic only")
        require(cert["surrogate"]["rule"] is None, "a rule is of exact numbers: numerical certificates have none")
        seen, trusted = _seen(cert, mu, m, {"weight", "structure"})
        known = formula(cert["surrogate"], seen, m, cert["loss"], not trusted)
        check_cuts(m, cert, right, wrong, known)
        if known is not None:
            trusted.append("that rounding does no harm: slopes up to 0.000001 are called 0")
        else:
            trusted += ["values and gradients of the surrogate, in double precision", "that it is convex"]
        return tuple(trusted)
    require(isinstance(cert["phis"], list) and len(cert["phis"]) <= 4, "there are at most 4 phis")
    phis = [Phi(phi) for phi in cert["phis"]]
    risk, trusted = _risk(cert, m, mu, phis)
    inexact = bool(risk.entropy) or any(phi.text for phi in phis)
    intervals = cert["arithmetic"] == "interval" and cert["verdict"] != "VIOLATION_BOUNDARY"
    require(intervals or not inexact, "it is not exact: expressions and entropies are evaluated in intervals")
    claim = PointClaim(m, phis, risk, right, wrong)
    check_bounds(claim, cert, check_point(claim, cert, rationals(cert["alpha"], m)))
    return tuple(trusted)


def _risk(cert: Any, m: int, mu: Any, phis: list[Phi]) -> tuple[TermSum, list[str]]:
    """Return the law's sum of terms, checked against mu, and the assumptions not checked."""
    seen, trusted = _seen(cert, mu, m, {"weight", "structure", "surrogate"})
    require(not trusted, f"what is not exact to the checker is numerical: {', '.join(trusted)}")
    sums = [(w, read_risk(e["surrogate"], m, len(phis))) for (w, _), e in zip(seen, cert["seen"], strict=True)]
    rule = cert["surrogate"]["rule"]
    if rule is None:
        trusted.append("that the surrogate's source has these terms for each structure")
    else:
        check_rule(rule)
        for (_, s), (_, own) in zip(seen, sums, strict=True):
            expected = merged(m, [(Fraction(1), followed(rule, s, m, cert["loss"]))])
            require(merged(m, [(Fraction(1), own)]) == expected, "the surrogate's terms do not follow its rule")
    named = check_name(cert["surrogate"], cert["phis"])
    trusted += named if rule is not None else []
    if any(phi.text and phi.trusted for phi in phis):
        trusted.append("that the expression of phi is convex and not below its infimum")
    risk = merged(m, sums)
    written = merged(m, [(Fraction(1), read_risk(cert["risk"], m, len(phis)))])
    require(risk == written, "the risk is not the mean of what the surrogate is for each structure")
    return risk, trusted


def _seen(cert: Any, mu: Any, m: int, keys: set[str]) -> tuple[list[tuple[Fraction, Structure]], list[str]]:
    """Return the law after aggregation of mu, and the assumptions not checked."""
    aggregation = cert["aggregation"]
    if "seen" not in cert:
        return mu, []
    seen = law(cert["seen"], m, LARGEST_SEEN, keys)
    if aggregation is None:
        expected = mu
    elif aggregation["name"] in EXACT_AGGREGATORS:
        expected = aggregated(mu, aggregation["name"], aggregation["k"], m)
    else:
        return seen, [f"what {aggregation['name'][:40]} makes of judgments"]
    require(_bag(expected) == _bag(seen), "what the surrogate sees is not what mu and the aggregation make")
    return seen, []


def _bag(law_: Any) -> list[tuple[str, Fraction]]:
    total: dict[str, Fraction] = {}
    for weight, s in law_:
        key = str(sorted(s.items()) if isinstance(s, dict) else s)
        total[key] = total.get(key, Fraction(0)) + weight
    return sorted(total.items())


def printable(text: str) -> str:
    """Return a text with line ends, control characters and broken characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


HELP = """usage: python -m rankbench.certificates.check CERTIFICATE...

Check certificates of `rankbench certify` with the standard library, and mpmath where numbers are intervals.
The source of a surrogate is not looked up: `rankbench certify --verify` compares its hash where it is installed.

exit codes: 0 if the checker rejects no certificate (some may claim nothing), 1 if it rejects one. 2 if it cannot
check one: its file cannot be read, or mpmath is not installed
"""


def main(arguments: list[str] | None = None) -> int:
    """Check the named files: 1 if one is rejected, else 2 if one cannot be checked, else 0."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given or {"-h", "--help"} & set(given):
        print(HELP, end="", file=sys.stdout if given else sys.stderr)
        return 0 if given else 2
    codes = {0}
    for name in given:
        try:
            found = check_file(name)
        except Rejected as error:
            print(printable(f"{name}: rejected: {error}"))
            codes.add(1)
        except (Uncheckable, OSError) as error:
            why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else f"not checked: {error}"
            print(printable(f"{name}: {why}"), file=sys.stderr)
            codes.add(2)
        else:
            for line in described(name, found):
                print(printable(line))
            if not found.followed:
                print("  not compared: source_sha256 with the surrogate's source, which is not looked up here")
    return 1 if 1 in codes else max(codes)


def described(name: str, found: Checked) -> list[str]:
    """Return the result of checking a certificate, in lines."""
    state = "proved" + " but for what is taken on trust" * bool(found.trusted)
    return [
        f"{name}: {found.verdict}: {state if found.proved else 'claims nothing'}",
        f"  about: {found.about}",
        *([f"  theorem: {found.theorem}, whose hypotheses hold"] if found.theorem else []),
        *(f"  taken on trust: {what}" for what in found.trusted),
    ]


if __name__ == "__main__":
    sys.exit(main())
