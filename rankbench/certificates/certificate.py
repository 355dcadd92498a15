"""A certificate is written as JSON and as text; laws are read in the same JSON form."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rankbench.certificates.check import check
from rankbench.certificates.checking.bounds import maximal
from rankbench.certificates.checking.law import law as checked_law
from rankbench.certificates.checking.law import named, true_risks
from rankbench.certificates.checking.numbers import Rejected
from rankbench.certificates.laws import Law, leads
from rankbench.certificates.theorems import WORDS
from rankbench.core.code_digest import distribution_of, version
from rankbench.errors import InputError, PluginError, RankbenchError
from rankbench.interfaces.exact import ExactGraph, ExactScores
from rankbench.interfaces.surrogate import Surrogate

NOISE_WORDS = {"low": "low noise", "dag": "mean preferences without cycles", "any": "any mean preferences"}


def noise_words(noise: str, graphs: bool) -> str:
    """Return a description of a class of noise; grades have a single one."""
    if noise == "independent":
        return "any distribution of grades that are independent between items"
    return NOISE_WORDS[noise] if graphs else "any distribution of grades"


def law_from_json(written: object, items: int) -> Law:
    """Read a law as the checker reads a certificate's; whole numbers may be without quotes.

    Raises
    ------
    InputError
        The checker rejects it.
    """
    try:
        texts = _texts(written)
        m = len(texts[0]["structure"]) if isinstance(texts[0]["structure"], list) else items
        support = checked_law(texts, m)
    except Rejected as error:
        raise InputError(f"mu: {error}") from None
    except (KeyError, IndexError, TypeError, ValueError):
        raise InputError('mu is a list of {"weight": "1/2", "structure": {"1>2": "3"} or ["2", "0", "1"]}') from None
    return Law(m, tuple((weight, tuple(s) if isinstance(s, list) else s) for weight, s in support))


def _texts(value: object) -> Any:
    """Return plain values with whole and rational numbers as texts."""
    if isinstance(value, Mapping):
        return {key: _texts(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(entry) for entry in value]
    return str(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else value


def difference_edges(law: Law) -> dict[tuple[int, int], Fraction]:
    """Return the edges of the difference graph of a law of graphs, with their weights."""
    return {pair: lead for pair, lead in leads(law.mean, law.items).items() if lead > 0}


def shown(number: Fraction) -> str:
    """Return a number in short form: decimals if three suffice, else a short fraction, else an approximation."""
    if (number * 1000).denominator == 1:
        return f"{float(number):.3f}".rstrip("0").rstrip(".")
    return short(number)


def short(number: Fraction | float) -> str:
    """Return a number as a short fraction, or about."""
    return str(number) if isinstance(number, Fraction) and number.denominator < 1000 else f"{float(number):.4g}"


_HEADLINES = {
    "VIOLATION": "not consistent.",
    "VIOLATION_BOUNDARY": "not consistent: wrong orders reach the least surrogate risk.",
    "CONSISTENT_AT_MU": "consistent under this one distribution (which says nothing of others).",
}


@dataclass(frozen=True, repr=False)
class Certificate:
    """An answer of `rankbench.certify`.

    Attributes
    ----------
    content : dict
        Plain values, in the format of docs/reference/certificate-format.md.
    """

    content: dict[str, Any]

    @property
    def verdict(self) -> str:
        """VIOLATION, VIOLATION_BOUNDARY, CONSISTENT, CONSISTENT_AT_MU, NO_COUNTEREXAMPLE_FOUND or INCONCLUSIVE."""
        return str(self.content["verdict"])

    @property
    def rigorous(self) -> bool:
        """True for exact or interval arithmetic, false for a numerical certificate."""
        return bool(self.content["arithmetic"] != "numerical")

    @property
    def gap(self) -> Fraction:
        """Distance between the least surrogate risks of both sides; 0 without a strict claim."""
        return Fraction(self.content["gap"])

    @property
    def law(self) -> Law | None:
        """The distribution mu, if the verdict is about one."""
        return law_from_json(self.content["mu"], self.content["items"]) if self.content["mu"] else None

    @property
    def alpha(self) -> tuple[Fraction, ...]:
        """Scores that the surrogate prefers; empty if the verdict is not about one law."""
        return tuple(Fraction(a) for a in self.content["alpha"])

    @property
    def surrogate(self) -> str:
        """The surrogate, and the aggregation that it is on."""
        surrogate, aggregation = self.content["surrogate"], self.content["aggregation"]
        margin = ":form=margin" if surrogate["parameters"].get("form") == "margin" else ""
        after = f" on {aggregation['name']} (k={aggregation['k']})" if aggregation else ""
        return f"{surrogate['name']}{margin}{after}"

    @property
    def loss(self) -> str:
        """The loss in a word."""
        name, table = self.content["loss"]["name"], self.content["loss"].get("discounts", [])
        if name == "ndcg" and set(table) <= {"0", "1"}:
            return f"precision at {table.count('1')}"
        return {"pairwise": "pairwise disagreement", "ndcg": "NDCG", "err": "ERR"}[name]

    @property
    def noise(self) -> str:
        """Description of the class of noise; grades have a single one."""
        return noise_words(self.content["noise"], self.content["loss"]["name"] == "pairwise")

    @property
    def label(self) -> str:
        """The verdict, with its evidence."""
        label = self.verdict
        if label == "NO_COUNTEREXAMPLE_FOUND":
            searched = self.content["searched"]
            label += f" ({searched['laws']:,} distributions: {searched['sampler']})"
        elif label == "INCONCLUSIVE":
            label += f" ({self._undecided()})"
        elif label == "CONSISTENT":
            label += f" ({self.noise})"
        return label if self.rigorous else f"{label}, numerical"

    def __repr__(self) -> str:
        return f"<certificate: {self.surrogate} for {self.loss}: {self.label}>"

    def _undecided(self) -> str:
        """Return the reason why a question is undecided."""
        searched = self.content["searched"]
        if self.content["mu"]:
            return f"margin {searched['margin']}"
        if "cells_left" in searched:
            return f"{searched['cells_left']:,} cells of the proof are left"
        return f"{searched['inconclusive']:,} of {searched['laws']:,} distributions too close to call"

    def right_orders(self, limit: int = 6) -> str:
        """Return the orders of least true risk, as in ``1>2>3``; beyond `limit`, only their number."""
        m = self.content["items"]
        risks = true_risks(self.content["loss"], checked_law(self.content["mu"], m), m)
        least = min(risks.values())
        found = [named(levels) for levels in maximal([levels for levels, risk in risks.items() if risk == least])]
        return ", ".join(found if len(found) <= limit else [*found[:limit], f"and {len(found) - limit} more"])

    @property
    def preferred_order(self) -> str:
        """The weak order of the scores that the surrogate prefers."""
        values = sorted(set(self.alpha), reverse=True)
        return named(tuple(tuple(i for i, a in enumerate(self.alpha) if a == value) for value in values))

    def headline(self) -> str:
        """Return question and answer in a sentence."""
        content, searched = self.content, self.content.get("searched", {})
        found = {
            "NO_COUNTEREXAMPLE_FOUND": f"no counterexample was found among {searched.get('laws', 0):,} distributions.",
            "CONSISTENT": "consistent.",
            **_HEADLINES,
        }
        said = found.get(self.verdict) or f"nothing was decided ({self._undecided()})."
        return f"{self.surrogate} for {self.loss}, {content['items']} items, {self.noise}: {said}"

    def explanation(self) -> str:
        """Return the reasons of the answer in a paragraph; empty where nothing was decided."""
        content, searched = self.content, self.content.get("searched", {})
        if self.verdict == "NO_COUNTEREXAMPLE_FOUND":
            count = searched["inconclusive"]
            left = f"; {count:,} of them were too close to call" if count else ""
            return (
                f"Searched: {searched['sampler']}, seed {content['seed']}{left}. That is no proof that there is none."
            )
        if self.verdict == "CONSISTENT":
            proof = (
                f"A theorem proves it: {WORDS[content['theorem']['name']]}."
                if "theorem" in content
                else f"The proof has {len(content['cells']['proofs']):,} cells, each a system of linear inequalities "
                "without a solution."
            )
            return (
                "Minimizing the surrogate's risk orders the items rightly, whatever the distribution in this class. "
                f"{proof}"
            )
        law = self.law
        if law is None or self.verdict == "INCONCLUSIVE":
            return ""
        right, scores = self.right_orders(), ", ".join(map(shown, self.alpha))
        gap, least = float(self.gap), float(Fraction(content["alpha_value"]))
        found = {
            "CONSISTENT_AT_MU": f"The surrogate's risk is least among these; at scores ({scores}) it is at least "
            f"{gap:.4g} below that of every wrong order.",
            "VIOLATION": f"Scores ({scores}), which order the items {self.preferred_order}, have a surrogate risk of "
            f"at most {least:.6g}; right orders have at least {gap:.4g} more. Minimizing the surrogate ends "
            "in a wrong order.",
            "VIOLATION_BOUNDARY": f"Scores ({scores}), which order the items {self.preferred_order}, have the least "
            f"surrogate risk of all, {least:.6g}. Wrong orders come as near to it as one likes: their infimum is the "
            "same (gap 0), so that a minimizer need not be right.",
        }
        parts = [
            _law_in_words(law),
            f"The {'orders' if ',' in right else 'order'} of least loss: {right}.",
            found[self.verdict],
        ]
        if not self.rigorous:
            parts.append(
                "The verdict is numerical: values and gradients are the surrogate's own, in double precision, not "
                "exact numbers or intervals."
            )
        return " ".join(parts)

    def words(self) -> str:
        """Return the result as a paragraph."""
        return f"{self.headline()} {self.explanation()}".rstrip()

    def to_bytes(self) -> bytes:
        """Return the JSON text."""
        return (json.dumps(self.content, indent=1) + "\n").encode()

    def write(self, path: Path | str) -> None:
        """Write the JSON text."""
        Path(path).write_bytes(self.to_bytes())

    def accepted(self) -> Certificate:
        """Return this certificate if the checker accepts it.

        Raises
        ------
        PluginError
            It does not, and the surrogate is a plugin's, which may state itself otherwise than it computes.
        RankbenchError
            It does not, and the surrogate is rankbench's own.
        """
        try:
            check(self.to_bytes())
        except Rejected as error:
            if self.content["surrogate"]["distribution"].startswith("rankbench "):
                raise RankbenchError(
                    f"the checker rejects a certificate that was just made, please report it: {error}"
                ) from None
            raise PluginError(
                f"the checker rejects what surrogate {self.content['surrogate']['name']} says of itself in exact "
                f"numbers: {error}"
            ) from None
        return self


def _law_in_words(law: Law) -> str:
    rows = "; ".join(f"{_structure_in_words(s)} with probability {weight}" for weight, s in law.support)
    if not law.of_graphs:
        return f"Grades of the items {', '.join(str(item + 1) for item in range(law.items))} are {rows}."
    leads = ", ".join(f"{i + 1} leads {j + 1} by {shown(w)}" for (i, j), w in sorted(difference_edges(law).items()))
    return f"Judgments say {rows}. On average {leads or 'nobody leads'}."


def _structure_in_words(structure: ExactScores | ExactGraph) -> str:
    if isinstance(structure, Mapping):
        edges = ", ".join(f"{i + 1} over {j + 1} by {shown(w)}" for (i, j), w in sorted(structure.items()))
        return edges or "nothing"
    return f"({', '.join(map(shown, structure))})"


def written_surrogate(surrogate: Surrogate, exact: bool) -> dict[str, Any]:
    """Return the surrogate's identity: name, parameters, distribution, hash of its source, and its rule if exact."""
    name = distribution_of(type(surrogate).__module__)
    rule = surrogate.exact_rule() if exact and hasattr(surrogate, "exact_rule") else None
    return {
        "name": surrogate.name,
        "parameters": {key: _plain(value) for key, value in surrogate.config().items() if key != "name"},
        "distribution": f"{name} {version(name)}" if name else "unknown",
        "source_sha256": source_hash(type(surrogate)),
        "rule": None if rule is None else {key: _plain(value) for key, value in rule.items()},
    }


def source_hash(defined: type) -> str:
    """Return the SHA-256 of the file that defines a class, or ``unknown``."""
    try:
        return hashlib.sha256(Path(inspect.getfile(defined)).read_bytes()).hexdigest()
    except (OSError, TypeError):
        return "unknown"


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return str(Fraction(value)) if isinstance(value, float) else str(value)
