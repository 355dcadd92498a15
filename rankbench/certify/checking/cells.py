"""The checker proves claims on a whole noise class by infeasible systems of linear inequalities.

docs/certificates.md says why these systems are all there are. For each, the certificate has
multipliers that add its inequalities up to ``0 <= -1`` (Farkas), which is tested exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from rankbench.certify.checking.numbers import Phi, Rejected, rational, rationals
from rankbench.certify.checking.rules import check_name, check_rule, scale_of

MOST_PROOFS = 2500
"""Cells that are checked within seconds."""

Row: TypeAlias = tuple[dict[str, Fraction], Fraction]
"""Coefficients by variable, and the number that their sum is at most."""


class Cell(NamedTuple):
    """One system: which part of the class, and at which scores alpha the surrogate should be least."""

    part: str
    alpha: tuple[Fraction, ...]
    rows: list[Row]


def check_cells(cert: Any, m: int) -> tuple[str, ...]:
    """Check the proof of CONSISTENT for a class."""
    if m > 4:
        raise Rejected("classes are decided for at most 4 items")
    if cert["arithmetic"] != "exact" or cert["loss"] != {"name": "pairwise", "normalize": False}:
        raise Rejected("classes are decided exactly, for the pairwise loss (10)")
    surrogate, aggregation = cert["surrogate"], cert["aggregation"]
    rule = surrogate["rule"]
    if rule is not None:
        check_rule(rule)
    if rule is None or rule["rule"] != "weighted" or rational(str(rule["power"])) != 1 or scale_of(rule) != 1:
        raise Rejected("classes are decided for surrogates that are linear in the structure")
    trusted = check_name(surrogate, cert["phis"])
    if len(cert["phis"]) != 1:
        raise Rejected("there is one phi")
    phi = Phi(cert["phis"][0])
    slopes = [c[1] for _, c in phi.pieces]
    if not phi.pieces or any(c[2] for _, c in phi.pieces) or len(phi.pieces) > 4:
        raise Rejected("phi must have at most four linear pieces")
    # A sum that is linear in the graph is, of the mean of k graphs, on average what it is of one.
    name = "average-adjacency" if aggregation is None else aggregation["name"]
    if name == "difference-graph" and aggregation["k"] != "inf":
        raise Rejected("classes are decided for the difference graph of all judgments, not of some")
    if name not in ("average-adjacency", "difference-graph"):
        raise Rejected(f"classes are not decided for the aggregator {str(name)[:40]!r}")
    if set(cert["cells"]) != {"class", "proofs"}:
        raise Rejected("cells have a class and proofs")
    shown = cert["cells"]["class"]
    if shown not in {"low": ("low", "dag"), "dag": ("dag",), "any": ("any",)}[cert["noise"]]:
        raise Rejected("the cells are not those of a class that holds the noise class")
    if slopes[0] > 0 or slopes[-1] < 0:
        raise Rejected("phi is not bounded below")
    ends = [end for end, _ in phi.pieces if end is not None]
    written = cert["cells"]["proofs"]
    if not isinstance(written, list) or len(written) > MOST_PROOFS:
        raise Rejected(f"there are at most {MOST_PROOFS} proofs")
    if any(set(proof) != {"part", "alpha", "multipliers"} for proof in written):
        raise Rejected("a proof has part, alpha and multipliers")
    proofs = {(proof["part"], tuple(rationals(proof["alpha"], m))): proof["multipliers"] for proof in written}
    if len(proofs) != len(written):
        raise Rejected("a cell has two proofs")
    count = 0
    for cell in _cells(m, shown, name == "difference-graph", ends, slopes):
        if (cell.part, cell.alpha) not in proofs:
            raise Rejected(f"there is no proof for {cell.part} and alpha {[str(a) for a in cell.alpha]}")
        _check_farkas(cell, rationals(proofs[cell.part, cell.alpha], len(cell.rows)))
        count += 1
    if count != len(proofs):
        raise Rejected("there are proofs for cells that there are not")
    return tuple(trusted)


def _check_farkas(cell: Cell, multipliers: list[Fraction]) -> None:
    if any(y < 0 for y in multipliers):
        raise Rejected("a multiplier is below 0")
    total: dict[str, Fraction] = {}
    right = Fraction(0)
    for y, (row, most) in zip(multipliers, cell.rows, strict=True):
        if y:
            right += y * most
            for variable, value in row.items():
                total[variable] = total.get(variable, Fraction(0)) + y * value
    if any(value < 0 for value in total.values()) or right >= 0:
        raise Rejected(f"the multipliers of {cell.part} do not show that there is no solution")


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
    pairs = list(itertools.combinations(range(m), 2))
    for alpha in _vertices(m, ends):
        if shown == "any":
            yield from _any(m, alpha, pairs, difference, ends, slopes)
            continue
        for part, leads in _parts(m, pairs, shown):
            against = [(a, b) for a, b in leads if alpha[a] <= alpha[b]]
            if not against:
                continue
            seen = {(i, j): {(i, j)} for i, j in itertools.permutations(range(m), 2)}
            if difference:
                seen = {pair: {pair} if pair in leads else set() for pair in seen}
            rows = _stationary(m, alpha, seen, difference, ends, slopes)
            rows += _class_rows(m, pairs, leads, shown)
            rows.append((_sum([_lead(p, -1) for p in against]), Fraction(-1)))
            yield Cell(part, alpha, rows)


def _parts(m: int, pairs: list[tuple[int, int]], shown: str) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Return the polyhedra of a class, items numbered so that nobody leads one with a smaller number."""
    if shown == "dag":
        yield "dag", pairs
        return
    for size in range(len(pairs) + 1):
        for chosen in itertools.combinations(pairs, size):
            if all((a, d) in chosen for a, b in chosen for c, d in chosen if b == c):
                yield "low " + ",".join(f"{a + 1}>{b + 1}" for a, b in chosen), list(chosen)


def _class_rows(m: int, pairs: list[tuple[int, int]], leads: list[tuple[int, int]], shown: str) -> list[Row]:
    rows: list[Row] = [(_lead(pair, -1), Fraction(0)) for pair in pairs]
    if shown == "low":
        rows += [(_lead(pair, 1), Fraction(0)) for pair in pairs if pair not in leads]
        for (a, b), (c, d) in itertools.product(leads, leads):
            if b == c:
                rows.append((_sum([_lead((a, b), 1), _lead((c, d), 1), _lead((a, d), -1)]), Fraction(0)))
    return rows


def _any(
    m: int,
    alpha: tuple[Fraction, ...],
    pairs: list[tuple[int, int]],
    difference: bool,
    ends: list[Fraction],
    slopes: list[Fraction],
) -> Iterator[Cell]:
    """Return cells in which the order 1, 2, ... is worse than another one, and alpha is in its closed cone."""
    if any(a < b for a, b in itertools.pairwise(alpha)):
        return
    signs = itertools.product((1, -1), repeat=len(pairs)) if difference else [()]
    for sign in signs:
        leads = [(a, b) if s > 0 else (b, a) for (a, b), s in zip(pairs, sign, strict=False)]
        seen = {(i, j): {(i, j)} for i, j in itertools.permutations(range(m), 2)}
        if difference:
            seen = {pair: {pair} if pair in leads else set() for pair in seen}
        rows = _stationary(m, alpha, seen, difference, ends, slopes)
        rows += [(_lead(pair, -1), Fraction(0)) for pair in leads]
        for order in itertools.permutations(range(m)):
            place = {item: at for at, item in enumerate(order)}
            turned = [(a, b) for a, b in pairs if place[a] > place[b]]
            if turned:
                part = "any " + ">".join(str(i + 1) for i in order)
                part += "".join(f" {a + 1}>{b + 1}" for a, b in leads)
                yield Cell(part, alpha, [*rows, (_sum([_lead(p, 1) for p in turned]), Fraction(-1))])


def _lead(pair: tuple[int, int], factor: int) -> dict[str, Fraction]:
    """Return ``factor (x_ij - x_ji)``."""
    i, j = pair
    return {f"x{i}{j}": Fraction(factor), f"x{j}{i}": Fraction(-factor)}


def _sum(rows: list[dict[str, Fraction]]) -> dict[str, Fraction]:
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
    seen: dict[tuple[int, int], set[tuple[int, int]]],
    difference: bool,
    ends: list[Fraction],
    slopes: list[Fraction],
) -> list[Row]:
    """Return that 0 is a subgradient at alpha: for each item two rows, then one for each pair at an end of a piece."""
    balance: list[list[dict[str, Fraction]]] = [[] for _ in range(m)]
    free: list[Row] = []
    for i, j in itertools.permutations(range(m), 2):
        if not seen[i, j]:
            continue
        z = _lead((i, j), 1) if difference else {f"x{i}{j}": Fraction(1)}
        t = alpha[i] - alpha[j]
        at = sum(end < t for end in ends)
        force = _scaled(z, slopes[at])
        if t in ends:
            force = _sum([force, {f"y{i}{j}": Fraction(1)}])
            room = _scaled(z, slopes[at] - slopes[at + 1])
            free.append((_sum([{f"y{i}{j}": Fraction(1)}, room]), Fraction(0)))
        balance[i].append(force)
        balance[j].append(_scaled(force, Fraction(-1)))
    rows: list[Row] = []
    for own in balance:
        net = _sum(own)
        rows += [(net, Fraction(0)), (_scaled(net, Fraction(-1)), Fraction(0))]
    return rows + free
