"""The search decides whether a surrogate is consistent for a loss within a noise class, and keeps its proof."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator
from typing import Any

from rankbench.certify.certificate import Certificate
from rankbench.certify.check import SCHEMA
from rankbench.certify.classes import ClassDecision, decide_class
from rankbench.certify.floats import float_risk, on_cone, somewhere
from rankbench.certify.laws import Law, NoiseClass, why_not_in_class
from rankbench.certify.numerical import NumericalFinding, decide_numerically, lowest
from rankbench.certify.pointwise import PointFinding, decide_at
from rankbench.certify.probe import risk_of
from rankbench.certify.question import Asked, accepted_certificate, descending_items, linear_pieces, written_surrogate
from rankbench.certify.search import draws, in_two_graphs, small_graphs, smaller, suspicious, widened
from rankbench.certify.true_risk import (
    ExactRisk,
    ItemOrder,
    orders_of,
    parts_to_json,
    phi_to_json,
    risk_to_json,
    seen_law,
)
from rankbench.core.code_digest import version
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.surrogate import Loss, PairwiseSurrogate, Surrogate

EDGE = 1e-9
"""What stands for the gap of an equality, which is a violation too."""

BOUNDARIES = 12
"""Equalities that are found before the search for a strict inequality is given up."""


MOST_UNDECIDED = 0.02
"""Share of laws that could not be decided, up to which a search is said to have found nothing."""

BATCH = 100
"""Laws that are screened together."""

CLEAR = 1e-4
"""Gap that a small counterexample must have to be taken."""

SEEN = 1e-7
"""Margins below this are not looked for: they could not be told from rounding."""


def certificate_of(
    surrogate: Surrogate,
    *,
    loss: Loss,
    noise: NoiseClass,
    items: int,
    aggregator: Aggregator | None,
    k: float,
    seconds: float,
    laws: int | None,
    law: Law | None,
    seed: int,
) -> Certificate:
    """Answer a question of which every part is at hand; see `rankbench.certify.certify.certify`, which reads texts.

    Parameters
    ----------
    surrogate, loss, noise, items, aggregator, k, laws, seed
        As `certify` has them.
    seconds : float
        Of the search.
    law : Law, optional
        To decide, instead of a search; it says how many items there are.

    Raises
    ------
    SpecError
        Parameters that do not go together.
    InputError
        A law that is not in the noise class, or under which nothing is wrong.
    PluginError
        The surrogate breaks a promise.
    """
    asked = _Question.from_parts(surrogate, loss, noise, items, aggregator, k, law, seed)
    return asked.answer(seconds, laws, law)


class _Question(Asked):
    """What is asked, and how it is answered."""

    def answer(self, seconds: float, laws: int | None, law: Law | None) -> Certificate:
        """Decide the law that is given, or search."""
        probed = self.probe()
        found = self._search(time.monotonic() + seconds, seconds, laws) if law is None else self._given(law)
        probed.again()
        return found

    def _given(self, law: Law) -> Certificate:
        if law.of_graphs != self.loss.graphs:
            raise InputError(f"loss {self.loss.loss} is of {'graphs' if self.loss.graphs else 'scores'}, mu is not")
        if why := why_not_in_class(self.noise, law):
            raise InputError(f"mu is not in the noise class {self.noise!r}: {why}; --noise any has no condition")
        _, wrong, _ = orders_of(self.loss, law)
        if not wrong:
            raise InputError("every order has the same loss under this mu: there is nothing to get wrong")
        finding, exact = self._decide(law)
        return self._certificate(finding, law, exact, {})

    def _decide(self, law: Law) -> tuple[PointFinding | NumericalFinding, ExactRisk | None]:
        right, wrong, _ = orders_of(self.loss, law)
        seen = seen_law(law, self.aggregated)
        exact = self.exact(seen)
        if exact is not None:
            return decide_at(exact.risk, right, wrong), exact
        risk = risk_of(self.surrogate, seen, self.loss)
        return decide_numerically(risk, self.items, self.shift_invariant, right, wrong), None

    def _judge(self, law: Law) -> float:
        """Return by how much wrong orders win under a law; 0 or less: they do not. In double precision."""
        right, wrong, _ = orders_of(self.loss, law)
        if not wrong:
            return -1.0
        exact = self.exact(seen_law(law, self.aggregated))
        if exact is None or linear_pieces(exact):
            finding, _ = self._decide(law)
            if finding.verdict == "VIOLATION_BOUNDARY":
                return EDGE
            return finding.margin if finding.verdict == "VIOLATION" else -1.0
        risk = float_risk(exact.risk)
        alpha = somewhere(risk, self.items)
        if descending_items(alpha) in right:
            return -1.0
        least, margin = risk(alpha)[0], math.inf
        for order in right:
            margin = min(margin, risk(on_cone(risk, order))[0] - least)
            if margin < SEEN:
                return -1.0
        return margin

    def _screened(self, law: Law, right: list[ItemOrder]) -> bool:
        """Return whether the least point anywhere may be in a wrong order: cheap, in double precision."""
        seen = seen_law(law, self.aggregated)
        exact = self.exact(seen)
        if exact is None:
            return (
                descending_items(lowest(risk_of(self.surrogate, seen, self.loss), self.items, self.shift_invariant))
                not in right
            )
        return linear_pieces(exact) or descending_items(somewhere(float_risk(exact.risk), self.items)) not in right

    def _search(self, deadline: float, seconds: float, laws: int | None) -> Certificate:
        decision: ClassDecision | None = None
        if self.decidable():
            decision = self._decided(deadline)
            if decision.mean is None and not decision.left:
                return self._consistent(decision)
        count = inconclusive = boundaries = 0
        known = boundary = None
        if decision is not None and decision.mean is not None:
            known = in_two_graphs(decision.mean, self.items)
        for law in draws(self.loss.graphs, self.noise, self.items, self.seed):
            if time.monotonic() > deadline or (laws is not None and count >= laws) or boundaries >= BOUNDARIES:
                break
            count += 1
            right, wrong, _ = orders_of(self.loss, law)
            if not wrong or not self._screened(law, right):
                continue
            finding, _ = self._decide(law)
            inconclusive += finding.verdict == "INCONCLUSIVE"
            if finding.verdict == "VIOLATION":
                return self._small(law, self._searched(count, inconclusive))
            if finding.verdict == "VIOLATION_BOUNDARY":
                boundary, boundaries = boundary or law, boundaries + 1
        searched = self._searched(count, inconclusive)
        if known is not None:
            finding, exact = self._decide(known)
            return self._certificate(finding, known, exact, searched)
        if boundary is not None:
            return self._small(boundary, searched)
        if decision is not None and decision.left:
            searched["cells_left"] = decision.left
            return self._certificate(PointFinding("INCONCLUSIVE", 0.0), None, None, searched)
        if laws is None:
            searched["budget"] = f"{seconds:g}s"
        if inconclusive > max(1, MOST_UNDECIDED * count):
            return self._certificate(PointFinding("INCONCLUSIVE", 0.0), None, None, searched)
        return self._claims_nothing("NO_COUNTEREXAMPLE_FOUND", searched)

    def _searched(self, count: int, inconclusive: int) -> dict[str, Any]:
        sampler = "single edges, leads superadditive" if self.noise == "low" else "single edges"
        return {
            "laws": count,
            "inconclusive": inconclusive,
            "sampler": sampler if self.loss.graphs else "up to four vectors of grades from 0 to 4",
        }

    def _small(self, law: Law, searched: dict[str, Any]) -> Certificate:
        """Return the certificate of a violation, of a law made easy to follow."""
        merge = self.loss.graphs and isinstance(self.surrogate, PairwiseSurrogate) and self.surrogate.linear
        for one in (self._smallest(law, merge), law):
            finding, exact = self._decide(one)
            if finding.verdict in ("VIOLATION", "VIOLATION_BOUNDARY"):
                return self._certificate(finding, one, exact, searched)
        raise AssertionError("a violation was found")

    def _smallest(self, law: Law, merge: bool) -> Law:
        """Return a law with a violation that a person can follow: one of few edges, or one made of `law`."""
        exact = self.exact(seen_law(law, self.aggregated))
        if self.loss.graphs and self.items > 2 and exact is not None and not linear_pieces(exact):
            for one in self._suspects(small_graphs(self.noise, self.items)):
                if self._judge(one) > CLEAR:
                    return in_two_graphs(one.mean, self.items) if merge else one
        return smaller(widened(law, self.noise, self._judge), self.noise, self._judge, merge)

    def _suspects(self, laws: Iterable[Law]) -> Iterator[Law]:
        """Return the laws that a screen of many at once takes for violations."""
        rest = iter(laws)
        while batch := list(itertools.islice(rest, BATCH)):
            exact = [self.exact(seen_law(law, self.aggregated)) for law in batch]
            known = [one for one in exact if one is not None and one.risk.terms]
            pairs = all(sum(term.coefficients) == 0 for one in known for term in one.risk.terms)
            if len(known) < len(batch) or not pairs or len({one.phis for one in known}) != 1 or self.noise == "any":
                yield from batch
                continue
            for law, suspected in zip(batch, suspicious(batch, known), strict=True):
                if suspected:
                    yield law

    def _decided(self, deadline: float) -> ClassDecision:
        phi = self.surrogate.exact_phi()  # type: ignore[attr-defined]
        difference = self.aggregated is not None and self.aggregated.aggregator.name == "difference-graph"
        return decide_class(phi, self.noise, difference, self.items, deadline)

    def _consistent(self, decision: ClassDecision) -> Certificate:
        content = self._frame("CONSISTENT", "exact")
        content |= {
            "phis": [phi_to_json(self.surrogate.exact_phi())],  # type: ignore[attr-defined]
            "cells": decision.to_json(),
            "gap": "0",
            "searched": {"cells": len(decision.proofs)},
        }
        return accepted_certificate(Certificate(content))

    def _claims_nothing(self, verdict: str, searched: dict[str, Any]) -> Certificate:
        seen = seen_law(next(draws(self.loss.graphs, self.noise, self.items, 0)), self.aggregated)
        arithmetic = "numerical" if self.exact(seen) is None else "interval"
        return accepted_certificate(Certificate({**self._frame(verdict, arithmetic), "searched": searched}))

    def _certificate(
        self,
        finding: PointFinding | NumericalFinding,
        law: Law | None,
        exact: ExactRisk | None,
        searched: dict[str, Any],
    ) -> Certificate:
        if law is None or finding.verdict == "INCONCLUSIVE":
            arithmetic = "exact" if law is None else "numerical" if exact is None else "interval"
            content = self._frame("INCONCLUSIVE", arithmetic)
            margin = {"margin": f"{finding.margin:.6g}"} if law else {}
            content |= {"mu": law.to_json() if law else [], "searched": {**searched, **margin}}
            return accepted_certificate(Certificate(content))
        rational = exact is not None and all(phi.exact for phi in exact.phis) and not exact.risk.entropy
        content = self._frame(finding.verdict, "numerical" if exact is None else "exact" if rational else "interval")
        content |= {"mu": law.to_json(), "alpha": [str(a) for a in finding.alpha]}
        if exact is not None:
            content |= {
                "seen": parts_to_json(exact),
                "phis": [phi_to_json(phi) for phi in exact.phis],
                "risk": risk_to_json(exact.risk, exact.phis),
            }
        elif self.aggregated is not None:
            content["seen"] = seen_law(law, self.aggregated).to_json()
        content |= {
            "alpha_value": str(finding.alpha_value),
            "bounds": [bound.to_json() for bound in finding.bounds],
            "gap": str(finding.gap),
            "searched": searched,
        }
        return accepted_certificate(Certificate(content))

    def _frame(self, verdict: str, arithmetic: str) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "verdict": verdict,
            "arithmetic": arithmetic,
            "items": self.items,
            "noise": self.noise,
            "loss": self.loss.to_json(),
            "surrogate": written_surrogate(self.surrogate, arithmetic != "numerical"),
            "aggregation": None if self.aggregated is None else self.aggregated.to_json(),
            "mu": [],
            "alpha": [],
            "bounds": [],
            "gap": "0",
            "seed": self.seed,
            "versions": {"rankbench": version("rankbench")},
        }
