"""Cells of laws: polytopes of weights in which a surrogate's risk and the true excess of an order are linear."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from rankbench.certificates.classes import noise_parts
from rankbench.certificates.laws import Law
from rankbench.certificates.question import Question
from rankbench.certificates.true_risk import ItemOrder, exact_risk
from rankbench.errors import SpecError
from rankbench.interfaces.exact import ConvexPhi, ExactGraph, ExactScores, ExactSurrogate, pairwise_terms
from rankbench.interfaces.surrogate import PairwiseSurrogate

ZERO, ONE = Fraction(0), Fraction(1)

StructureSet: TypeAlias = Sequence[ExactScores | ExactGraph]
PerStructure: TypeAlias = tuple[Fraction, ...]
"""One number for each structure."""


@dataclass(frozen=True)
class LawCell:
    """Laws over K structures, with weights in a polytope.

    Attributes
    ----------
    gaps : dict of ItemOrder to PerStructure
        By wrong order, how much its loss exceeds that of the cell's right order, for each structure.
    rows : tuple of PerStructure
        ``row . weights >= 0`` holds in the cell.
    corners : tuple of PerStructure
        Vertices of the polytope.
    risks : tuple of ExactSurrogate, or None
        The risk is their sum with the law's weights; None if the surrogate has no exact form. On the
        difference graph, one alone may have factors below 0; the sum has none within the cell.
    """

    gaps: dict[ItemOrder, PerStructure]
    rows: tuple[PerStructure, ...]
    corners: tuple[PerStructure, ...]
    risks: tuple[ExactSurrogate, ...] | None


def law_cells(asked: Question, structures: StructureSet, law: PerStructure | None = None) -> list[LawCell]:
    """Return cells that cover all laws of a noise class, or one law, with a right order for each.

    Where a relabelling of items changes neither the structures nor the surrogate, the cells of one order stand for all.

    Raises
    ------
    SpecError
        The surrogate's risk is not linear in the law's weights after aggregation.
    """
    orders = list(itertools.permutations(range(asked.items)))
    losses = {o: tuple(asked.loss.risk(Law(asked.items, ((ONE, s),)), o) for s in structures) for o in orders}
    phi = _difference_phi(asked)
    own = [_risk(asked, structure) for structure in structures]
    rights = orders[:1] if law is None and _symmetric(asked, structures) else orders
    units = [tuple(Fraction(int(i == j)) for j in range(len(structures))) for i in range(len(structures))]
    fixed = [] if law is None else [tuple(x - w for x in row) for w, row in zip(law, units, strict=True)]
    cells = []
    for right in rights:
        gaps = {o: tuple(a - b for a, b in zip(losses[o], losses[right], strict=True)) for o in orders if o != right}
        for rows, ahead in _polytopes(asked, structures, right, phi is not None):
            risks = own if phi is None else _on_leads(asked.items, phi, structures, ahead)
            exact = tuple(risk for risk in risks if risk is not None)
            if corners := clipped(units, [*rows, *fixed]):
                whole = exact if len(exact) == len(structures) else None
                cells.append(LawCell(gaps, (*rows, *fixed), tuple(corners), whole))
    return cells


def _difference_phi(asked: Question) -> ConvexPhi | None:
    """Return the phi of a surrogate that sees the difference graph of all judgments; None of one that sees each."""
    if asked.aggregated is None:
        return None
    surrogate, name, k = asked.surrogate, asked.aggregated.aggregator.name, asked.aggregated.k
    if isinstance(surrogate, PairwiseSurrogate) and surrogate.linear:
        phi = surrogate.exact_phi()
        if name == "average-adjacency" or (name == "difference-graph" and k == math.inf and phi is not None):
            return phi if name == "difference-graph" else None
    if name == "net-weights" and "score-linear" in surrogate.properties:
        return None
    raise SpecError(
        f"the risk of {surrogate} on {asked.aggregated.aggregator} is not linear in the law; a calibration function "
        "needs that. Take a pairwise surrogate with form=weighted,power=1 on difference-graph, or no aggregator"
    )


def _risk(asked: Question, structure: ExactScores | ExactGraph) -> ExactSurrogate | None:
    stated = exact_risk(asked.surrogate, Law(asked.items, ((ONE, structure),)), asked.loss)
    return None if stated is None else stated.risk


def _lead(structures: StructureSet, i: int, j: int) -> PerStructure:
    return tuple(s.get((i, j), ZERO) - s.get((j, i), ZERO) if isinstance(s, Mapping) else ZERO for s in structures)


def _on_leads(
    m: int, phi: ConvexPhi, structures: StructureSet, ahead: Sequence[tuple[int, int]]
) -> list[ExactSurrogate | None]:
    leads = {pair: _lead(structures, *pair) for pair in ahead}
    edges = [{pair: (lead[at], ZERO) for pair, lead in leads.items()} for at in range(len(structures))]
    return [pairwise_terms(m, own, phi) for own in edges]


def _polytopes(
    asked: Question, structures: StructureSet, right: ItemOrder, signed: bool
) -> Iterator[tuple[list[PerStructure], list[tuple[int, int]]]]:
    """Return rows of each polytope and the pairs led by the first item: all pairs, if it is `signed`."""
    pairs = list(itertools.combinations(range(asked.items), 2))
    leads = {(a, b): _lead(structures, right[a], right[b]) for a, b in itertools.permutations(range(asked.items), 2)}
    if asked.noise == "any" or not asked.loss.graphs:
        for signs in itertools.product((1, -1), repeat=len(pairs) if signed else 0):
            ahead = [pair if sign > 0 else pair[::-1] for pair, sign in zip(pairs, signs, strict=False)]
            yield [leads[pair] for pair in ahead], [(right[a], right[b]) for a, b in ahead]
        return
    kept: list[tuple[set[tuple[int, int]], set[tuple[int, int, int]]]] = []
    for _, held in sorted(noise_parts(asked.items, asked.noise), key=lambda part: -len(part[1])):
        paths = {(a, b, d) for (a, b), (c, d) in itertools.product(held, held) if b == c and asked.noise == "low"}
        if any(set(held) <= other and paths >= others for other, others in kept):
            continue
        kept.append((set(held), paths))
        rows = [leads[pair] for pair in pairs] + [leads[b, a] for a, b in pairs if (a, b) not in held]
        for a, b, d in paths:
            rows.append(tuple(z - x - y for x, y, z in zip(leads[a, b], leads[b, d], leads[a, d], strict=True)))
        yield rows, [(right[a], right[b]) for a, b in held]


def _symmetric(asked: Question, structures: StructureSet) -> bool:
    """Return whether structures and surrogate are unchanged when items are relabelled."""
    if "equivariant" not in asked.surrogate.properties:
        return False

    def relabelled(s: ExactScores | ExactGraph, to: ItemOrder) -> object:
        if isinstance(s, Mapping):
            return frozenset(((to[i], to[j]), weight) for (i, j), weight in s.items())
        return tuple(s[item] for item in to)

    turned = [{relabelled(s, to) for s in structures} for to in itertools.permutations(range(asked.items))]
    return all(one == turned[0] for one in turned)


def clipped(corners: list[PerStructure], rows: Sequence[PerStructure]) -> list[PerStructure]:
    """Return the vertices of a simplex cut by half-spaces ``row . weights >= 0`` (double description)."""
    done: list[PerStructure] = []
    for row in rows:
        done.append(row)
        height = {corner: dot(row, corner) for corner in corners}
        made = [
            tuple((height[a] * y - height[b] * x) / (height[a] - height[b]) for x, y in zip(a, b, strict=True))
            for a, b in itertools.product(corners, corners)
            if height[a] > 0 > height[b]
        ]
        left = dict.fromkeys([corner for corner in corners if height[corner] >= 0] + made)
        tight = {c: {k for k, x in enumerate((*c, *(dot(own, c) for own in done))) if x == 0} for c in left}
        corners = [c for c in left if not any(tight[c] < tight[other] for other in left)]
    return corners


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """Return the sum of products."""
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)
