"""A certificate has a form in JSON and one in words."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from rankbench.certify.checking.bounds import maximal
from rankbench.certify.checking.law import law as checked_law
from rankbench.certify.checking.law import named, true_risks
from rankbench.certify.laws import Law, law_from_json, leads

NOISE_WORDS = {"low": "low noise", "dag": "mean preferences without cycles", "any": "any mean preferences"}

Content: TypeAlias = Mapping[str, Any]
"""Of a certificate."""


def noise_words(content: Content) -> str:
    """Return the class of noise in words; of grades there is one."""
    return NOISE_WORDS[content["noise"]] if content["loss"]["name"] == "pairwise" else "any distribution of grades"


def surrogate_name(content: Content) -> str:
    """Return the surrogate, and the aggregation that it is on."""
    aggregation = content["aggregation"]
    after = f" on {aggregation['name']} (k={aggregation['k']})" if aggregation else ""
    margin = content["surrogate"]["parameters"].get("form") == "margin"
    return f"{content['surrogate']['name']}{':form=margin' if margin else ''}{after}"


def loss_name(content: Content) -> str:
    """Return the loss in a word."""
    name, table = content["loss"]["name"], content["loss"].get("discounts", [])
    if name == "ndcg" and set(table) <= {"0", "1"}:
        return f"precision at {table.count('1')}"
    return {"pairwise": "pairwise disagreement", "ndcg": "NDCG", "err": "ERR"}[name]


def difference_edges(law: Law) -> dict[tuple[int, int], Fraction]:
    """Return the edges of the difference graph of a law of graphs, with their weights."""
    lead = leads(law.mean, law.items)
    return {pair: lead[pair] for pair in itertools.permutations(range(law.items), 2) if lead[pair] > 0}


def paragraph(content: Content) -> str:
    """Return what was found, in a paragraph."""
    subject = f"{surrogate_name(content)} for {loss_name(content)}, {content['items']} items, {noise_words(content)}"
    verdict, searched = content["verdict"], content.get("searched", {})
    if verdict == "NO_COUNTEREXAMPLE_FOUND":
        count = searched["inconclusive"]
        left = f"; {count:,} of them were too close to call" if count else ""
        return (
            f"{subject}: no counterexample was found among {searched['laws']:,} distributions ({searched['sampler']}, "
            f"seed {content['seed']}){left}. That is no proof that there is none."
        )
    if verdict == "CONSISTENT":
        return (
            f"{subject}: consistent. Minimizing the surrogate's risk orders the items rightly, whatever the "
            f"distribution in this class. The proof has {len(content['cells']['proofs']):,} cells, each a system of "
            f"linear inequalities without a solution."
        )
    if verdict == "INCONCLUSIVE":
        return f"{subject}: nothing was decided ({undecided(content)})."
    law = law_from_json(content["mu"], content["items"])
    gap, least = float(Fraction(content["gap"])), float(Fraction(content["alpha_value"]))
    parts = [f"{subject}: {_HEADLINES[verdict]}", _law_in_words(law)]
    right, wins = right_orders(content), preferred_order(content)
    parts.append(f"The {'order' if len(right) == 1 else 'orders'} of least loss: {', '.join(right)}.")
    scores = ", ".join(shown(a) for a in map(Fraction, content["alpha"]))
    if verdict == "CONSISTENT_AT_MU":
        parts.append(
            f"The surrogate's risk is least among these; at scores ({scores}) it is at least "
            f"{gap:.4g} below that of every wrong order."
        )
    elif verdict == "VIOLATION":
        parts.append(
            f"Scores ({scores}), which order the items {wins}, have a surrogate risk of at most "
            f"{least:.6g}; those of the right orders have at least "
            f"{gap:.4g} more. Who minimizes the surrogate ends in a wrong order."
        )
    else:
        parts.append(
            f"Scores ({scores}), which order the items {wins}, have the least surrogate risk of all, "
            f"{least:.6g}, and wrong orders come as near to it as one likes: the "
            f"infimum outside of the right orders is the same (gap 0), so that a minimizer need not be right."
        )
    if content["arithmetic"] == "numerical":
        parts.append(
            "The verdict is numerical: values and gradients are the surrogate's own, in double precision, not exact "
            "numbers or intervals."
        )
    return " ".join(parts)


def undecided(content: Content) -> str:
    """Return what kept a question from being decided."""
    searched = content["searched"]
    if content["mu"]:
        return f"margin {searched['margin']}"
    if "cells_left" in searched:
        return f"{searched['cells_left']:,} cells of the proof are left"
    return f"{searched['inconclusive']:,} of {searched['laws']:,} distributions too close to call"


_HEADLINES = {
    "VIOLATION": "not consistent.",
    "VIOLATION_BOUNDARY": "not consistent, at the boundary.",
    "CONSISTENT_AT_MU": "consistent under this one distribution (which says nothing of others).",
}


def _law_in_words(law: Law) -> str:
    if not law.of_graphs:
        rows = [
            f"({', '.join(shown(x) for x in s if isinstance(x, Fraction))}) with probability {w}"
            for w, s in law.support
        ]
        numbers = ", ".join(str(item + 1) for item in range(law.items))
        return f"Grades of the items {numbers} are {'; '.join(rows)}."
    rows = []
    for weight, graph in law.support:
        if isinstance(graph, Mapping):
            edges = ", ".join(f"{i + 1} over {j + 1} by {shown(w)}" for (i, j), w in sorted(graph.items()))
            rows.append(f"{edges or 'nothing'} with probability {weight}")
    leads = ", ".join(f"{i + 1} leads {j + 1} by {shown(w)}" for (i, j), w in sorted(difference_edges(law).items()))
    return f"Judgments say {'; '.join(rows)}. On average {leads or 'nobody leads'}."


def right_orders(content: Content, limit: int = 6) -> list[str]:
    """Return the orders of least true risk, as in ``1>2>3``; of more than `limit`, how many others there are."""
    mu, m = checked_law(content["mu"], content["items"]), content["items"]
    risks = true_risks(content["loss"], mu, m)
    least = min(risks.values())
    found = [named(levels) for levels in maximal([levels for levels, risk in risks.items() if risk == least])]
    return found if len(found) <= limit else [*found[:limit], f"and {len(found) - limit} more"]


def preferred_order(content: Content) -> str:
    """Return the weak order of the scores that the surrogate prefers."""
    alpha = [Fraction(a) for a in content["alpha"]]
    levels = [[i for i, a in enumerate(alpha) if a == value] for value in sorted(set(alpha), reverse=True)]
    return ">".join("=".join(str(i + 1) for i in level) for level in levels)


def shown(number: Fraction) -> str:
    """Return a number as short as it can be told: decimals where three suffice, else a short fraction, else about."""
    if (number * 1000).denominator == 1:
        return f"{float(number):.3f}".rstrip("0").rstrip(".")
    return str(number) if number.denominator < 1000 else f"{float(number):.4g}"


@dataclass(frozen=True, repr=False)
class Certificate:
    """An answer of `rankbench.certify`.

    Attributes
    ----------
    content : dict
        As docs/certificates.md describes it; plain values.
    """

    content: dict[str, Any]

    @property
    def verdict(self) -> str:
        """VIOLATION, VIOLATION_BOUNDARY, CONSISTENT, CONSISTENT_AT_MU, NO_COUNTEREXAMPLE_FOUND or INCONCLUSIVE."""
        return str(self.content["verdict"])

    @property
    def rigorous(self) -> bool:
        """Whether it was made in exact or interval arithmetic; else it is numerical."""
        return bool(self.content["arithmetic"] != "numerical")

    @property
    def gap(self) -> Fraction:
        """How much less the least surrogate risk is on the winning side; 0 where nothing strict is claimed."""
        return Fraction(self.content["gap"])

    @property
    def law(self) -> Law | None:
        """The distribution mu, if the verdict is about one."""
        return law_from_json(self.content["mu"], self.content["items"]) if self.content["mu"] else None

    @property
    def alpha(self) -> tuple[Fraction, ...]:
        """Scores that the surrogate prefers; empty if the verdict is not about one law."""
        return tuple(Fraction(a) for a in self.content["alpha"])

    def to_bytes(self) -> bytes:
        """Return the JSON text."""
        return (json.dumps(self.content, indent=1) + "\n").encode()

    def write(self, path: Path | str) -> None:
        """Write the JSON text."""
        Path(path).write_bytes(self.to_bytes())

    @property
    def surrogate(self) -> str:
        """The surrogate, and what it is on."""
        return surrogate_name(self.content)

    @property
    def loss(self) -> str:
        """The loss in a word."""
        return loss_name(self.content)

    def words(self) -> str:
        """Return a paragraph that says what was found."""
        return paragraph(self.content)

    @property
    def label(self) -> str:
        """The verdict, with what it rests on."""
        searched = self.content.get("searched", {})
        label = self.verdict
        if self.verdict == "NO_COUNTEREXAMPLE_FOUND":
            label += f" ({searched['laws']:,} distributions: {searched['sampler']})"
        if self.verdict == "INCONCLUSIVE":
            label += f" ({undecided(self.content)})"
        if self.verdict == "CONSISTENT":
            label += f" ({NOISE_WORDS[self.content['noise']]})"
        return label if self.rigorous else f"{label}, numerical"

    def __repr__(self) -> str:
        return f"<certificate: {self.surrogate} for {self.loss}: {self.label}>"
