"""A law gives structures exact probabilities, and belongs to classes of noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from rankbench.interfaces.exact import ExactGraph, ExactScores

NoiseClass: TypeAlias = Literal["low", "dag", "any", "independent"]
"""Low noise by [DMJ13]_ Definition 4, a difference graph without cycles, no condition, or independent scores."""


@dataclass(frozen=True)
class Law:
    """A distribution over finitely many structures of m items.

    Attributes
    ----------
    items : int
    support : tuple of (Fraction, structure)
        Weights above 0 with sum 1, and score vectors or graphs: tuples, or mappings of
        (i, j), items from 0, to weights above 0.
    """

    items: int
    support: tuple[tuple[Fraction, ExactScores | ExactGraph], ...]

    @property
    def of_graphs(self) -> bool:
        """True if structures are graphs."""
        return isinstance(self.support[0][1], Mapping)

    @property
    def mean(self) -> dict[tuple[int, int], Fraction]:
        """The mean graph E[Y]."""
        total: dict[tuple[int, int], Fraction] = {}
        for weight, graph in self.support:
            if isinstance(graph, Mapping):
                for pair, value in graph.items():
                    total[pair] = total.get(pair, Fraction(0)) + weight * value
        return total

    def to_json(self) -> list[dict[str, Any]]:
        """Return mu in a certificate's form."""
        return [{"weight": str(weight), "structure": written_structure(s)} for weight, s in self.support]


def written_structure(structure: ExactScores | ExactGraph) -> Any:
    """Return a structure in a certificate's form: a list of scores, or ``{"1>2": weight}``."""
    if isinstance(structure, Mapping):
        return {f"{i + 1}>{j + 1}": str(w) for (i, j), w in sorted(structure.items())}
    return [str(score) for score in structure]


def leads(mean: Mapping[tuple[int, int], Fraction], m: int) -> dict[tuple[int, int], Fraction]:
    """Return ``E[Y_ij] - E[Y_ji]`` of all pairs."""
    zero = Fraction(0)
    return {(i, j): mean.get((i, j), zero) - mean.get((j, i), zero) for i, j in itertools.permutations(range(m), 2)}


def net_weights_of(graph: ExactGraph, m: int) -> ExactScores:
    """Return each item's lead over all others together."""
    lead = leads(graph, m)
    return tuple(sum((lead[i, j] for j in range(m) if j != i), Fraction(0)) for i in range(m))


def why_not_in_class(noise: NoiseClass, law: Law) -> str:
    """Return why a law is not in a noise class, or ``""``. Laws of scores are in all but the last of them.

    The leads of mean gains are differences of numbers, which add up along paths: Definition 4
    holds with equality.
    """
    if noise == "independent":
        return _why_dependent(law)
    if not law.of_graphs or noise == "any":
        return ""
    lead = leads(law.mean, law.items)
    for i, j, k in itertools.permutations(range(law.items), 3) if noise == "low" else ():
        path = lead[i, j] + lead[j, k]
        if lead[i, j] > 0 and lead[j, k] > 0 and lead[i, k] < path:
            return (
                f"item {i + 1} leads {j + 1} and {j + 1} leads {k + 1} by {path} together, but {i + 1} leads "
                f"{k + 1} by {lead[i, k]} only"
            )
    left = set(range(law.items))
    while left:
        sources = {i for i in left if not any(lead[j, i] > 0 for j in left - {i})}
        if not sources:
            return "the difference graph has a cycle among items " + ", ".join(str(i + 1) for i in sorted(left))
        left -= sources
    return ""


def _why_dependent(law: Law) -> str:
    """Return why a law is no product of laws of single items, [DMJ13]_ before Lemma 1, or ``""``."""
    chances = dict[ExactScores, Fraction]()
    own: list[dict[Fraction, Fraction]] = [{} for _ in range(law.items)]
    for weight, scores in law.support:
        if isinstance(scores, Mapping):
            return "independence is of scores, and its structures are graphs"
        chances[scores] = chances.get(scores, Fraction(0)) + weight
        for of_item, score in zip(own, scores, strict=True):
            of_item[score] = of_item.get(score, Fraction(0)) + weight
    for scores in itertools.product(*own):
        product = math.prod(of_item[score] for of_item, score in zip(own, scores, strict=True))
        if (chance := chances.get(scores, Fraction(0))) != product:
            shown = ", ".join(map(str, scores))
            return f"scores ({shown}) have probability {chance}, not {product}, the product over items"
    return ""
