"""A search, a proof or a given law answers a question; the answer is a certificate."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from rankbench.certificates.certificate import Certificate, written_surrogate
from rankbench.certificates.check import SCHEMA
from rankbench.certificates.classes import ClassDecision, decidable, decide_class
from rankbench.certificates.conditions import law_of_two
from rankbench.certificates.laws import Law, why_not_in_class
from rankbench.certificates.pointwise import PointFinding
from rankbench.certificates.question import PROBED, Question, probe_surrogate
from rankbench.certificates.search import WIDEST_LEAD, draws, in_two_graphs, small_graphs, smaller, widened
from rankbench.certificates.theorems import deciding_theorem, theorem_to_json
from rankbench.certificates.true_risk import (
    ExactRisk,
    law_after_aggregation,
    orders_of,
    parts_to_json,
    phi_to_json,
    risk_to_json,
)
from rankbench.core.code_digest import version
from rankbench.errors import InputError, PluginError, option
from rankbench.interfaces.surrogate import PairwiseSurrogate

SOME_WEIGHTS = (Fraction(1, 3), Fraction(1), Fraction(2), Fraction(7))

BOUNDARIES = 12
"""Equalities that are found before the search for a strict inequality is given up."""

MOST_UNDECIDED = 0.02
"""Share of laws that could not be decided, up to which a search is said to have found nothing."""

CHEAPER = 10
"""Laws of one item less that are searched for each law that may be."""

CLEAR = 1e-4
"""Gap that a small counterexample must have to be taken."""


def answer_question(asked: Question, seconds: float, laws: int | None, law: Law | None) -> Certificate:
    """Decide the given law, or search.

    Parameters
    ----------
    asked : Question
    seconds : float
        Of the search.
    laws : int, optional
        Laws that are searched at most.
    law : Law, optional

    Raises
    ------
    InputError
        The law is not in the noise class, or nothing is wrong under it.
    PluginError
        The surrogate breaks a promise.
    """
    probe_surrogate(asked)
    found = _searched(asked, seconds, laws) if law is None else _given(asked, law)
    return found.accepted()


def _given(asked: Question, law: Law) -> Certificate:
    if law.of_graphs != asked.loss.graphs:
        raise InputError(f"loss {asked.loss.loss} is of {'graphs' if asked.loss.graphs else 'scores'}, mu is not")
    if why := why_not_in_class(asked.noise, law):
        raise InputError(
            f"mu is not in the noise class {asked.noise!r}: {why}; {option('noise', 'any')} has no condition"
        )
    _, wrong = orders_of(asked.loss, law)
    if not wrong:
        raise InputError("every order has the same loss under this mu: there is nothing to get wrong")
    return _of_law(asked, law, asked.decide(law), {})


def _searched(asked: Question, seconds: float, laws: int | None) -> Certificate:
    start = time.monotonic()
    deadline = start + seconds
    decision = _decided(asked, deadline)
    mean, left = (None, 0) if decision is None else (decision.mean, decision.left)
    if decision is not None and mean is None and not left:
        return _consistent(asked, decision)
    theorem = by_theorem(asked) if mean is None else None
    if theorem is not None:
        return theorem
    graphs, noise, items = asked.loss.graphs, asked.noise, asked.items
    named = None if mean is not None else _named_law(asked)
    if named is not None:
        return _small(asked, named, {"laws": 1, "inconclusive": 0, "sampler": "a law that a condition names"})
    half = seconds / 2 if graphs else seconds
    most = None if laws is None else -(-laws // 2) if graphs else laws
    tried = _tried(asked, draws(graphs, noise, items, asked.seed), start + half, most, _Tried())
    widely = tried.law is None and graphs and mean is None
    if widely:
        wide = itertools.chain(_of_fewer_items(asked, half, laws), draws(graphs, noise, items, asked.seed, wide=True))
        tried = _tried(asked, wide, deadline, laws, tried)
    searched = _counts(asked, tried, widely)
    if tried.law is not None and tried.strict:
        return _small(asked, tried.law, searched)
    if mean is not None:
        law = in_two_graphs(mean, items)
        return _of_law(asked, law, asked.decide(law), searched)
    if tried.law is not None:
        return _small(asked, tried.law, searched)
    if left:
        return _undecided(asked, {**searched, "cells_left": left})
    if laws is None:
        searched["budget"] = f"{seconds:g}s"
    if tried.inconclusive > max(1, MOST_UNDECIDED * tried.laws):
        return _undecided(asked, searched)
    first = next(draws(graphs, noise, items, 0))
    arithmetic = "numerical" if asked.exact(first) is None else "interval"
    return Certificate({**_frame(asked, "NO_COUNTEREXAMPLE_FOUND", arithmetic), "searched": searched})


def _named_law(asked: Question) -> Law | None:
    """Return the law of two items that a condition on phi and h names, if the surrogate violates under it."""
    if asked.items > 2 or not asked.loss.graphs or not isinstance(asked.surrogate, PairwiseSurrogate):
        return None
    law = law_of_two(asked.surrogate)
    return law if law is not None and asked.decide(law)[0].verdict.startswith("VIOLATION") else None


class _Tried(NamedTuple):
    """Laws that a search decided: how many, how many were too close to call, and the first with a violation."""

    laws: int = 0
    inconclusive: int = 0
    law: Law | None = None
    strict: bool = False


def _tried(asked: Question, laws: Iterator[Law], deadline: float, most: int | None, before: _Tried) -> _Tried:
    """Decide laws until one violates strictly, or time, their number, or patience with equalities ends."""
    count, inconclusive, boundaries = before.laws, before.inconclusive, 0
    boundary = None
    for law in laws:
        if time.monotonic() > deadline or (most is not None and count >= most) or boundaries >= BOUNDARIES:
            break
        count += 1
        if not asked.suspects(law):
            continue
        verdict = asked.decide(law)[0].verdict
        inconclusive += verdict == "INCONCLUSIVE"
        if verdict == "VIOLATION":
            return _Tried(count, inconclusive, law, strict=True)
        if verdict == "VIOLATION_BOUNDARY":
            boundary, boundaries = boundary or law, boundaries + 1
    return _Tried(count, inconclusive, boundary)


def _of_fewer_items(asked: Question, seconds: float, laws: int | None) -> Iterator[Law]:
    """Return the violation that a search finds with one item less, if any: the last item is in no judgment."""
    if asked.items > 2:
        fewer = replace(asked, items=asked.items - 1)
        law = _searched(fewer, seconds / 2, None if laws is None else CHEAPER * laws).law
        if law is not None:
            yield replace(law, items=asked.items)


def _decided(asked: Question, deadline: float) -> ClassDecision | None:
    """Decide the whole class, where `rankbench.certificates.classes` can.

    Raises
    ------
    PluginError
        The surrogate's rule says that it is linear in the graph, and it is not.
    """
    surrogate, aggregated = asked.surrogate, asked.aggregated
    plain = asked.loss.graphs and not getattr(asked.loss.loss, "normalize", False)
    if not (plain and isinstance(surrogate, PairwiseSurrogate)):
        return None
    rule, phi = surrogate.exact_rule() or {}, surrogate.exact_phi()
    linear = surrogate.linear and rule.get("rule") == "weighted" and rule.get("power") == 1
    if linear and any(surrogate.exact_edge(weight) != (weight, Fraction(0)) for weight in SOME_WEIGHTS):
        raise PluginError(
            f"surrogate {surrogate} says by its rule that edges enter as they are, and makes others of them"
        )
    name, k = ("average-adjacency", math.inf) if aggregated is None else (aggregated.aggregator.name, aggregated.k)
    whole = name == "average-adjacency" or (name == "difference-graph" and k == math.inf)
    if not (linear and whole) or phi is None or not decidable(phi, asked.items):
        return None
    return decide_class(phi, asked.noise, name == "difference-graph", asked.items, deadline)


def _counts(asked: Question, tried: _Tried, widely: bool) -> dict[str, Any]:
    sampler = "single edges, leads superadditive" if asked.noise == "low" else "single edges"
    sampler += f", half of them with leads up to {WIDEST_LEAD}" if widely else ""
    grades = "up to four vectors of grades from 0 to 4"
    if asked.noise == "independent":
        grades = "two grades from 0 to 5 for each item, independent"
    return {"laws": tried.laws, "inconclusive": tried.inconclusive, "sampler": sampler if asked.loss.graphs else grades}


def _small(asked: Question, law: Law, searched: dict[str, Any]) -> Certificate:
    """Return the certificate of a violation, by a law made easy to follow if that one violates too."""
    small = _smallest(asked, law)
    decided = asked.decide(small)
    if decided[0].verdict not in ("VIOLATION", "VIOLATION_BOUNDARY"):
        small, decided = law, asked.decide(law)
    return _of_law(asked, small, decided, searched)


def _smallest(asked: Question, law: Law) -> Law:
    """Return a law with a violation that is easy to follow: a law of few edges, or one made from `law`."""
    merge = asked.loss.graphs and isinstance(asked.surrogate, PairwiseSurrogate) and asked.surrogate.linear
    exact = asked.exact(law)
    if asked.loss.graphs and asked.items > 2 and exact is not None and not exact.linear_pieces:
        for one in small_graphs(asked.noise, asked.items):
            if asked.judge(one) > CLEAR:
                return in_two_graphs(one.mean, asked.items) if merge else one
    return smaller(widened(law, asked.noise, asked.judge), asked.noise, asked.judge, merge)


def _consistent(asked: Question, decision: ClassDecision) -> Certificate:
    content = _frame(asked, "CONSISTENT", "exact") | {
        "phis": [phi_to_json(asked.surrogate.exact_phi())],  # type: ignore[attr-defined]
        "cells": decision.to_json(),
        "searched": {"cells": len(decision.proofs)},
    }
    return Certificate(content)


def by_theorem(asked: Question) -> Certificate | None:
    """Return the certificate of a theorem that decides the class; None if none does."""
    some = [asked.exact(law) for law in itertools.islice(draws(asked.loss.graphs, asked.noise, asked.items, 0), PROBED)]
    rule: Mapping[str, Any] | None = getattr(asked.surrogate, "exact_rule", lambda: None)()
    phis = {phi: None for exact in some if exact is not None for phi in exact.phis}
    if None in some or not rule or len(phis) > 1:
        return None
    name = deciding_theorem(rule, next(iter(phis), None), asked.loss, asked.noise, asked.items, asked.aggregated)
    if not name:
        return None
    theorem = {"phis": [phi_to_json(phi) for phi in phis], "theorem": theorem_to_json(name)}
    return Certificate(_frame(asked, "CONSISTENT", "exact") | theorem)


def _undecided(asked: Question, searched: dict[str, Any]) -> Certificate:
    return Certificate({**_frame(asked, "INCONCLUSIVE", "exact"), "searched": searched})


def _of_law(
    asked: Question, law: Law, decided: tuple[PointFinding, ExactRisk | None], searched: dict[str, Any]
) -> Certificate:
    """Return the certificate of one law."""
    finding, exact = decided
    content = _frame(asked, finding.verdict, _arithmetic(finding, exact)) | {"mu": law.to_json()}
    if finding.verdict == "INCONCLUSIVE":
        return Certificate({**content, "searched": {**searched, "margin": f"{finding.margin:.6g}"}})
    content["alpha"] = [str(a) for a in finding.alpha]
    if exact is not None:
        content |= {
            "seen": parts_to_json(exact),
            "phis": [phi_to_json(phi) for phi in exact.phis],
            "risk": risk_to_json(exact.risk, exact.phis),
        }
    elif asked.aggregated is not None:
        content["seen"] = law_after_aggregation(law, asked.aggregated).to_json()
    content |= {
        "alpha_value": str(finding.alpha_value),
        "bounds": [bound.written for bound in finding.bounds],
        "gap": str(finding.gap),
        "searched": searched,
    }
    return Certificate(content)


def _arithmetic(finding: PointFinding, exact: ExactRisk | None) -> str:
    if exact is None:
        return "numerical"
    rational = all(phi.exact for phi in exact.phis) and not exact.risk.entropy
    return "exact" if rational and finding.verdict != "INCONCLUSIVE" else "interval"


def _frame(asked: Question, verdict: str, arithmetic: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "verdict": verdict,
        "arithmetic": arithmetic,
        "items": asked.items,
        "noise": asked.noise,
        "loss": asked.loss.to_json(),
        "surrogate": written_surrogate(asked.surrogate, arithmetic != "numerical"),
        "aggregation": None if asked.aggregated is None else asked.aggregated.to_json(),
        "mu": [],
        "alpha": [],
        "bounds": [],
        "gap": "0",
        "seed": asked.seed,
        "versions": {"rankbench": version("rankbench")},
    }
