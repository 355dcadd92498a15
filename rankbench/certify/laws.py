"""A law gives structures exact probabilities, and belongs to classes of noise."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from rankbench.interfaces.exact import ExactGraph, ExactScores

NoiseClass: TypeAlias = Literal["low", "dag", "any"]
"""Low noise by [DMJ13]_ Definition 4, a difference graph without cycles, or no condition."""


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
        """Return mu as a certificate has it."""
        return [{"weight": str(weight), "structure": written_structure(s)} for weight, s in self.support]


def written_structure(structure: ExactScores | ExactGraph) -> Any:
    """Return a structure as a certificate has it: a list of scores, or ``{"1>2": weight}``."""
    if isinstance(structure, Mapping):
        return {f"{i + 1}>{j + 1}": str(w) for (i, j), w in sorted(structure.items())}
    return [str(score) for score in structure]


def leads(mean: Mapping[tuple[int, int], Fraction], m: int) -> dict[tuple[int, int], Fraction]:
    """Return ``E[Y_ij] - E[Y_ji]`` of all pairs."""
    zero = Fraction(0)
    return {(i, j): mean.get((i, j), zero) - mean.get((j, i), zero) for i, j in itertools.permutations(range(m), 2)}


def net_weights_of(graph: ExactGraph, m: int) -> ExactScores:
    """Return by how much each item leads all others together."""
    lead = leads(graph, m)
    return tuple(sum((lead[i, j] for j in range(m) if j != i), Fraction(0)) for i in range(m))


def why_not_in_class(noise: NoiseClass, law: Law) -> str:
    """Say why a law is not in a noise class; empty if it is. Laws of scores are in all of them.

    The leads of mean gains are differences of numbers, which add up along paths: Definition 4
    holds with equality.
    """
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
