"""A certificate: what `rankbench certify` answers, as a JSON text and in words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rankbench.certify.laws import Law, law_from_json
from rankbench.certify.words import NOISE_WORDS, loss_name, paragraph, surrogate_name, undecided

__all__ = ["Certificate"]


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
