"""The checker proves claims on a whole noise class by infeasible systems of linear inequalities.

docs/reference/certificate-format.md says why these systems are all there are. For each, the certificate has
multipliers that add its inequalities up to ``0 <= -1`` (Farkas), which is tested exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from rankbench.certificates.checking.numbers import Phi, check_keys, rational, rationals, require
from rankbench.certificates.checking.rules import check_name, check_rule, scale_of

MOST_PROOFS = 2500
"""Cells that are checked within seconds."""

Pair: TypeAlias = tuple[int, int]

Row: TypeAlias = tuple[dict[str, Fraction], Fraction]
"""Coefficients by variable, and the number that their sum is at most."""


class Cell(NamedTuple):
    """One system: a part of the class, and the scores alpha at which the surrogate should be least."""

    part: str
    alpha: tuple[Fraction, ...]
    rows: list[Row]


def check_cells(cert: Any, m: int) -> tuple[str, ...]:
    """Check the proof of CONSISTENT for a class."""
    require(m <= 4, "classes are decided for at most 4 items")
    pairwise = cert["arithmetic"] == "exact" and cert["loss"] == {"name": "pairwise", "normalize": False}
    require(pairwise, "classes are decided exactly, for the pairwise loss (10)")
    surrogate, aggregation = cert["surrogate"], cert["aggregation"]
    rule = surrogate["rule"] or {"rule": "none"}
    linear = rule["rule"] == "weighted" and rational(str(rule["power"])) == 1 and scale_of(rule) == 1
    require(linear, "classes are decided for surrogates that are linear in the structure")
    check_rule(rule)
    trusted = check_name(surrogate, cert["phis"])
    require(len(cert["phis"]) == 1, "there is one phi")
    phi = Phi(cert["phis"][0])
    slopes = [c[1] for _, c in phi.pieces]
    few = 1 <= len(slopes) <= 4 and not any(c[2] for _, c in phi.pieces)
    require(few, "phi must have at most four linear pieces")
    require(slopes[0] <= 0 <= slopes[-1], "phi is not bounded below")
    # A sum that is linear in the graph has the same mean for the mean of k graphs as for one.
    name = "average-adjacency" if aggregation is None else aggregation["name"]
    difference = name == "difference-graph" and aggregation["k"] == "inf"
    decided = difference or name == "average-adjacency"
    require(decided, "classes are decided without aggregator, of average-adjacency, or of difference-graph and all")
    check_keys(cert["cells"], ["class", "proofs"], "cells")
    shown, written = cert["cells"]["class"], cert["cells"]["proofs"]
    holds = shown in {"low": ("low", "dag"), "dag": ("dag",), "any": ("any",)}.get(cert["noise"], ())
    require(holds, "the class of the cells does not hold the noise class")
    require(isinstance(written, list) and len(written) <= MOST_PROOFS, f"there are at most {MOST_PROOFS} proofs")
    for proof in written:
        check_keys(proof, ["part", "alpha", "multipliers"], "a proof")
    proofs = {(proof["part"], tuple(rationals(proof["alpha"], m))): proof["multipliers"] for proof in written}
    require(len(proofs) == len(written), "a cell has two proofs")
    ends = [end for end, _ in phi.pieces if end is not None]
    for cell in _cells(m, shown, difference, ends, slopes):
        multipliers = proofs.pop((cell.part, cell.alpha), None)
        at = f"{cell.part} and alpha {[str(a) for a in cell.alpha]}"
        require(multipliers is not None, f"there is no proof for {at}")
        check_farkas(cell, rationals(multipliers, len(cell.rows)))
    require(not proofs, "there are proofs for cells that there are not")
    return tuple(trusted)


def check_farkas(cell: Cell, multipliers: list[Fraction]) -> None:
    """Check that multipliers add the rows of a cell up to ``0 <= -1``: it has no solution."""
    require(all(y >= 0 for y in multipliers), "a multiplier is below 0")
    used = [(y, row, most) for y, (row, most) in zip(multipliers, cell.rows, strict=True) if y]
    total, right = summed([_scaled(row, y) for y, row, _ in used]), sum(y * most for y, _, most in used)
    infeasible = all(value >= 0 for value in total.values()) and right < 0
    require(infeasible, f"the multipliers of {cell.part} do not show that there is no solution")


def _vertices(m: int, ends: list[Fraction]) -> list[tuple[Fraction, ...]]:
    """Return the scores, the least 0, whose differences tie all items together by ends of pieces and ties."""
    steps = sorted({Fraction(0), *ends, *(-e for e in ends)})
    found: set[tuple[Fraction, ...]] = set()
    todo: list[dict[int, Fraction]] = [{0: Fraction(0)}]
    seen: set[tuple[tuple[int, Fraction], ...]] = set()
    while todo:
        placed = todo.pop()
        if len(placed) == m:
            least = min(placed.values())
            found.add(tuple(placed[i] - least for i in range(m)))
            continue
        for new in set(range(m)) - set(placed):
            for base in set(placed.values()):
                for step in steps:
                    more = {**placed, new: base + step}
                    key = tuple(sorted(more.items()))
                    if key not in seen:
                        seen.add(key)
                        todo.append(more)
    return sorted(found)


def _cells(m: int, shown: str, difference: bool, ends: list[Fraction], slopes: list[Fraction]) -> Iterator[Cell]:
    for alpha in _vertices(m, ends):
        for part, leads, rows in _parts(m, shown, difference):
            wrong = list(_wrong(m, alpha, shown, part, leads))
            if wrong:
                shown_leads = leads if difference else list(itertools.permutations(range(m), 2))
                rows = [*_stationary(m, alpha, shown_leads, difference, ends, slopes), *rows]
            for name, pairs in wrong:
                yield Cell(name, alpha, [*rows, (summed([lead(pair, -1) for pair in pairs]), Fraction(-1))])


def _parts(m: int, shown: str, difference: bool) -> Iterator[tuple[str, list[Pair], list[Row]]]:
    """Return the polyhedra of a class: the leading items, and the inequalities for them.

    Items are numbered so that none leads one with a smaller number; of `any`, so that 1, 2, ... is the wrong order.
    """
    pairs = list(itertools.combinations(range(m), 2))
    ahead: list[Row] = [(lead(pair, -1), Fraction(0)) for pair in pairs]
    if shown == "dag":
        yield "dag", pairs, ahead
    elif shown == "any":
        for sign in itertools.product((1, -1), repeat=len(pairs)) if difference else [()]:
            leads = [(a, b) if s > 0 else (b, a) for (a, b), s in zip(pairs, sign, strict=False)]
            yield "any", leads, [(lead(pair, -1), Fraction(0)) for pair in leads]
    else:
        for leads in map(list, _subsets(pairs)):
            chains = [(p, q) for p, q in itertools.product(leads, leads) if p[1] == q[0]]
            if all((a, d) in leads for (a, _), (_, d) in chains):
                rows = ahead + [(lead(pair, 1), Fraction(0)) for pair in pairs if pair not in leads]
                for (a, b), (_, d) in chains:
                    rows.append((summed([lead((a, b), 1), lead((b, d), 1), lead((a, d), -1)]), Fraction(0)))
                yield "low " + ",".join(f"{a + 1}>{b + 1}" for a, b in leads), leads, rows


def _subsets(pairs: list[Pair]) -> Iterator[tuple[Pair, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(pairs, size) for size in range(len(pairs) + 1))


def _wrong(
    m: int, alpha: tuple[Fraction, ...], shown: str, part: str, leads: list[Pair]
) -> Iterator[tuple[str, list[Pair]]]:
    """Return the cells of a part: a name, and the leads whose sum is above 0 if alpha is next to wrong scores.

    Of `any`: orders that are better than 1, 2, ..., in whose closed cone alpha is.
    """
    if shown != "any":
        against = [(a, b) for a, b in leads if alpha[a] <= alpha[b]]
        if against:
            yield part, against
    elif all(a >= b for a, b in itertools.pairwise(alpha)):
        for order in itertools.permutations(range(m)):
            turned = [(b, a) for a, b in itertools.combinations(range(m), 2) if order.index(a) > order.index(b)]
            if turned:
                name = f"{part} {'>'.join(str(i + 1) for i in order)}"
                yield name + "".join(f" {a + 1}>{b + 1}" for a, b in leads), turned


def lead(pair: Pair, factor: int) -> dict[str, Fraction]:
    """Return ``factor (x_ij - x_ji)``."""
    i, j = pair
    return {f"x{i}{j}": Fraction(factor), f"x{j}{i}": Fraction(-factor)}


def summed(rows: list[dict[str, Fraction]]) -> dict[str, Fraction]:
    """Return the sum of rows."""
    total: dict[str, Fraction] = {}
    for row in rows:
        for variable, value in row.items():
            total[variable] = total.get(variable, Fraction(0)) + value
    return total


def _scaled(row: dict[str, Fraction], factor: Fraction) -> dict[str, Fraction]:
    return {variable: factor * value for variable, value in row.items()}


def _stationary(
    m: int,
    alpha: tuple[Fraction, ...],
    pairs: list[Pair],
    difference: bool,
    ends: list[Fraction],
    slopes: list[Fraction],
) -> list[Row]:
    """Return that 0 is a subgradient at alpha: for each item two rows, then one for each pair at an end of a piece."""
    balance: list[list[dict[str, Fraction]]] = [[] for _ in range(m)]
    free: list[Row] = []
    for i, j in sorted(pairs):
        z = lead((i, j), 1) if difference else {f"x{i}{j}": Fraction(1)}
        t = alpha[i] - alpha[j]
        at = sum(end < t for end in ends)
        force = _scaled(z, slopes[at])
        if t in ends:
            extra = {f"y{i}{j}": Fraction(1)}
            force = summed([force, extra])
            free.append((summed([extra, _scaled(z, slopes[at] - slopes[at + 1])]), Fraction(0)))
        balance[i].append(force)
        balance[j].append(_scaled(force, Fraction(-1)))
    nets = [summed(own) for own in balance]
    return [(_scaled(net, Fraction(sign)), Fraction(0)) for net in nets for sign in (1, -1)] + free
