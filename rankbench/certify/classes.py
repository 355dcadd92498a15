"""The decision covers a whole noise class for surrogates that are linear in the graph with a piecewise linear phi.

The mean graph is all that such a risk depends on, so that a class is a union of polyhedra. A
least point can be moved to scores whose differences are ends of pieces or ties, of which there
are finitely many. A violation there is a solution of linear inequalities, and that there is
none has a proof (Farkas). docs/certificates.md has the argument and the inequalities.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rankbench.certify.laws import NoiseClass
from rankbench.certify.piecewise import solve
from rankbench.interfaces.exact import ConvexPhi

ZERO, ONE = Fraction(0), Fraction(1)

Pair = tuple[int, int]
Form = dict[str, Fraction]


@dataclass(frozen=True)
class ClassDecision:
    """What became of a class.

    Attributes
    ----------
    shown : str
        The class whose cells were gone through: one that holds the class asked for.
    proofs : tuple of (part, alpha, multipliers)
        Of the cells without a violation.
    mean : dict, optional
        A mean graph with a violation, if a cell has one.
    left : int
        Cells that time did not suffice for.
    """

    shown: NoiseClass
    proofs: tuple[tuple[str, tuple[Fraction, ...], tuple[Fraction, ...]], ...]
    mean: dict[Pair, Fraction] | None = None
    left: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the proofs as a certificate has them."""
        proofs = [
            {"part": part, "alpha": [str(a) for a in alpha], "multipliers": [str(y) for y in multipliers]}
            for part, alpha, multipliers in self.proofs
        ]
        return {"class": self.shown, "proofs": proofs}


def decidable(phi: ConvexPhi | None, linear: bool, aggregator: str, m: int) -> bool:
    """Return whether a class can be decided: at most 4 items, and what the module says."""
    if phi is None or not phi.piecewise_linear or not linear or len(phi.pieces) > 4:
        return False
    slopes = _slopes(phi)
    return m <= 4 and aggregator in ("", "average-adjacency", "difference-graph") and slopes[0] <= 0 <= slopes[-1]


def decide_class(phi: ConvexPhi, noise: NoiseClass, difference: bool, m: int, deadline: float) -> ClassDecision:
    """Decide a class, with a proof or a mean graph that violates.

    Low noise is tried by way of all graphs without cycles first, which have fewer cells and
    hold it; only if these have a violation are its own polyhedra gone through.

    Parameters
    ----------
    deadline : float
        By `time.monotonic`: what is not decided then is left.
    """
    classes: tuple[NoiseClass, ...] = ("dag", "low") if noise == "low" else (noise,)
    decision = ClassDecision(noise, ())
    for shown in classes:
        decision = _decide(phi, shown, difference, m, deadline)
        if decision.mean is None:
            return decision
    return decision


def _decide(phi: ConvexPhi, shown: NoiseClass, difference: bool, m: int, deadline: float) -> ClassDecision:
    proofs: list[tuple[str, tuple[Fraction, ...], tuple[Fraction, ...]]] = []
    left = 0
    for part, alpha, rows in _cells(phi, shown, difference, m):
        if time.monotonic() > deadline:
            left += 1
            continue
        variables = sorted({name for form, _ in rows for name in form})
        matrix = [[form.get(name, ZERO) for name in variables] for form, _ in rows]
        solved = solve(matrix, [most for _, most in rows], [ZERO] * len(variables))
        if solved is None or solved.feasible:
            x = dict(zip(variables, solved.x if solved else (), strict=False))
            mean = {(i, j): x.get(f"x{i}{j}", ZERO) for i, j in itertools.permutations(range(m), 2)}
            return ClassDecision(shown, (), {pair: weight for pair, weight in mean.items() if weight}, left)
        proofs.append((part, alpha, solved.y))
    return ClassDecision(shown, tuple(proofs), None, left)


def _slopes(phi: ConvexPhi) -> list[Fraction]:
    return [coefficients[1] if len(coefficients) > 1 else ZERO for _, coefficients in phi.pieces]


def corners(phi: ConvexPhi, m: int) -> list[tuple[Fraction, ...]]:
    """Return the scores, the least 0, whose differences at ends of pieces and ties connect all items."""
    ends = [end for end, _ in phi.pieces if end is not None]
    steps = {ZERO, *ends, *(-end for end in ends)}
    # Every connected set of differences has a tree; items join in any order, so all of them are tried.
    grown: set[frozenset[tuple[int, Fraction]]] = {frozenset({(0, ZERO)})}
    for _ in range(m - 1):
        grown = {
            one | {(new, value + step)}
            for one in grown
            for new in range(m)
            if new not in {item for item, _ in one}
            for value in {value for _, value in one}
            for step in steps
        }
    found = set()
    for one in grown:
        scores = dict(one)
        least = min(scores.values())
        found.add(tuple(scores[i] - least for i in range(m)))
    return sorted(found)


def _cells(
    phi: ConvexPhi, shown: NoiseClass, difference: bool, m: int
) -> Iterator[tuple[str, tuple[Fraction, ...], list[tuple[Form, Fraction]]]]:
    for alpha in corners(phi, m):
        if shown == "any":
            if all(alpha[i] >= alpha[i + 1] for i in range(m - 1)):
                yield from _cells_of_any(phi, difference, m, alpha)
            continue
        for part, ahead in _parts(m, shown):
            turned = [(a, b) for a, b in ahead if alpha[a] <= alpha[b]]
            if turned:
                rows = _least_here(phi, difference, m, alpha, ahead)
                rows += _in_part(m, ahead, shown)
                rows.append((_added([_lead(pair, -ONE) for pair in turned]), -ONE))
                yield part, alpha, rows


def _parts(m: int, shown: NoiseClass) -> list[tuple[str, list[Pair]]]:
    pairs = list(itertools.combinations(range(m), 2))
    if shown == "dag":
        return [("dag", pairs)]
    found = []
    for size in range(len(pairs) + 1):
        for chosen in itertools.combinations(pairs, size):
            held = set(chosen)
            if all((a, c) in held for a, b in chosen for b2, c in chosen if b == b2):
                found.append(("low " + ",".join(f"{a + 1}>{b + 1}" for a, b in chosen), list(chosen)))
    return found


def _in_part(m: int, ahead: list[Pair], shown: NoiseClass) -> list[tuple[Form, Fraction]]:
    pairs = list(itertools.combinations(range(m), 2))
    rows = [(_lead(pair, -ONE), ZERO) for pair in pairs]
    if shown == "low":
        rows += [(_lead(pair, ONE), ZERO) for pair in pairs if pair not in ahead]
        for first, second in itertools.product(ahead, repeat=2):
            if first[1] == second[0]:
                path = [_lead(first, ONE), _lead(second, ONE), _lead((first[0], second[1]), -ONE)]
                rows.append((_added(path), ZERO))
    return rows


def _cells_of_any(
    phi: ConvexPhi, difference: bool, m: int, alpha: tuple[Fraction, ...]
) -> Iterator[tuple[str, tuple[Fraction, ...], list[tuple[Form, Fraction]]]]:
    pairs = list(itertools.combinations(range(m), 2))
    for signs in itertools.product((1, -1), repeat=len(pairs)) if difference else [()]:
        ahead = [pair if sign > 0 else pair[::-1] for pair, sign in zip(pairs, signs, strict=False)]
        rows = _least_here(phi, difference, m, alpha, ahead)
        rows += [(_lead((a, b), -ONE), ZERO) for a, b in ahead]
        for order in itertools.permutations(range(m)):
            turned = [(a, b) for a, b in pairs if order.index(a) > order.index(b)]
            if turned:
                part = "any " + ">".join(str(i + 1) for i in order)
                part += "".join(f" {a + 1}>{b + 1}" for a, b in ahead)
                yield part, alpha, [*rows, (_added([_lead(pair, ONE) for pair in turned]), -ONE)]


def _least_here(
    phi: ConvexPhi, difference: bool, m: int, alpha: tuple[Fraction, ...], ahead: list[Pair]
) -> list[tuple[Form, Fraction]]:
    """Return inequalities for: 0 is a subgradient of the risk at alpha."""
    ends, slopes = [end for end, _ in phi.pieces if end is not None], _slopes(phi)
    forces: dict[Pair, Form] = {}
    rooms: list[tuple[Form, Fraction]] = []
    for i, j in itertools.permutations(range(m), 2):
        if difference and (i, j) not in ahead:
            continue
        weight = _lead((i, j), ONE) if difference else {f"x{i}{j}": ONE}
        t = alpha[i] - alpha[j]
        piece = len([end for end in ends if end < t])
        force = {name: slopes[piece] * value for name, value in weight.items()}
        if t in ends:
            extra = {f"y{i}{j}": ONE}
            force = _added([force, extra])
            height = slopes[piece + 1] - slopes[piece]
            rooms.append((_added([extra, {name: -height * value for name, value in weight.items()}]), ZERO))
        forces[i, j] = force
    rows: list[tuple[Form, Fraction]] = []
    for item in range(m):
        net = _added(
            [
                force if i == item else {n: -v for n, v in force.items()}
                for (i, j), force in forces.items()
                if item in (i, j)
            ]
        )
        rows += [(net, ZERO), ({name: -value for name, value in net.items()}, ZERO)]
    return rows + rooms


def _lead(pair: Pair, factor: Fraction) -> Form:
    i, j = pair
    return {f"x{i}{j}": factor, f"x{j}{i}": -factor}


def _added(forms: list[Form]) -> Form:
    total: Form = {}
    for form in forms:
        for name, value in form.items():
            total[name] = total.get(name, ZERO) + value
    return total
