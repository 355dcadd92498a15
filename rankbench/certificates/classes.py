"""Surrogates that are linear in the graph, with a piecewise linear phi, are decided for a whole noise class.

The mean graph is all that such a risk depends on, so that a class is a union of polyhedra. A
least point can be moved to scores whose differences are ends of pieces or ties: there
are finitely many. A violation there is a solution of linear inequalities, and that there is
none has a proof (Farkas). docs/reference/certificate-format.md has the argument and the inequalities.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rankbench.certificates.laws import NoiseClass
from rankbench.certificates.piecewise import solve
from rankbench.interfaces.exact import ConvexPhi

ZERO, ONE = Fraction(0), Fraction(1)

Pair = tuple[int, int]
Form = dict[str, Fraction]
Row = tuple[Form, Fraction]


@dataclass(frozen=True)
class ClassDecision:
    """Decision on a class of distributions.

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
        """Return the proofs in a certificate's form."""
        proofs = [
            {"part": part, "alpha": [str(a) for a in alpha], "multipliers": [str(y) for y in multipliers]}
            for part, alpha, multipliers in self.proofs
        ]
        return {"class": self.shown, "proofs": proofs}


def decidable(phi: ConvexPhi, m: int) -> bool:
    """Return whether classes can be decided of phi: at most 4 items and linear pieces, and bounded below."""
    return m <= 4 and phi.piecewise_linear and len(phi.pieces) <= 4 and _slopes(phi)[0] <= 0 <= _slopes(phi)[-1]


def decide_class(phi: ConvexPhi, noise: NoiseClass, difference: bool, m: int, deadline: float) -> ClassDecision:
    """Decide a class, with a proof or a mean graph that violates.

    Low noise is tried by way of all graphs without cycles first, which have fewer cells and
    hold it; only if these have a violation are its own polyhedra gone through.

    Parameters
    ----------
    deadline : float
        By `time.monotonic`; questions undecided then remain so.
    """
    classes: tuple[NoiseClass, ...] = ("dag", "low") if noise == "low" else (noise,)
    decision = ClassDecision(noise, ())
    for shown in classes:
        decision = _decide(phi, shown, difference, m, deadline)
        if decision.mean is None:
            return decision
    return decision


def _decide(phi: ConvexPhi, shown: NoiseClass, difference: bool, m: int, deadline: float) -> ClassDecision:
    proofs = []
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
    return connected({end for end, _ in phi.pieces if end is not None}, m)


def connected(ends: Collection[Fraction], m: int) -> list[tuple[Fraction, ...]]:
    """Return the scores, the least 0, whose differences at these ends, turned or not, and ties connect all items."""
    steps = {ZERO, *ends, *(-end for end in ends)}
    # Every connected set of differences has a tree; items join in any order, so all of them are tried.
    grown: set[frozenset[tuple[int, Fraction]]] = {frozenset({(0, ZERO)})}
    for _ in range(m - 1):
        grown = {
            one | {(new, value + step)}
            for one in grown
            for new in set(range(m)) - {item for item, _ in one}
            for value in {value for _, value in one}
            for step in steps
        }
    least = [(dict(one), min(value for _, value in one)) for one in grown]
    return sorted({tuple(scores[i] - low for i in range(m)) for scores, low in least})


def _cells(
    phi: ConvexPhi, shown: NoiseClass, difference: bool, m: int
) -> Iterator[tuple[str, tuple[Fraction, ...], list[Row]]]:
    pairs = list(itertools.combinations(range(m), 2))
    for alpha in corners(phi, m):
        if shown != "any":
            for part, ahead in noise_parts(m, shown):
                turned = [(a, b) for a, b in ahead if alpha[a] <= alpha[b]]
                if turned:
                    rows = [*_least_here(phi, difference, m, alpha, ahead), *_in_part(pairs, ahead, shown)]
                    yield part, alpha, [*rows, (_added([_lead(pair, -ONE) for pair in turned]), -ONE)]
        elif list(alpha) == sorted(alpha, reverse=True):
            for signs in itertools.product((1, -1), repeat=len(pairs)) if difference else [()]:
                ahead = [pair if sign > 0 else pair[::-1] for pair, sign in zip(pairs, signs, strict=False)]
                rows = _least_here(phi, difference, m, alpha, ahead) + [(_lead(pair, -ONE), ZERO) for pair in ahead]
                leads = "".join(f" {a + 1}>{b + 1}" for a, b in ahead)
                for order in itertools.islice(itertools.permutations(range(m)), 1, None):
                    turned = [(a, b) for a, b in pairs if order.index(a) > order.index(b)]
                    part = f"any {'>'.join(str(i + 1) for i in order)}{leads}"
                    yield part, alpha, [*rows, (_added([_lead(pair, ONE) for pair in turned]), -ONE)]


def noise_parts(m: int, shown: NoiseClass) -> Iterator[tuple[str, list[Pair]]]:
    """Return the polyhedra of a class, by who leads: all pairs, or every set of pairs that holds its paths' ends."""
    pairs = list(itertools.combinations(range(m), 2))
    if shown == "dag":
        yield "dag", pairs
        return
    for size in range(len(pairs) + 1):
        for held in itertools.combinations(pairs, size):
            if all((a, d) in held for (a, b), (c, d) in itertools.product(held, held) if b == c):
                yield "low " + ",".join(f"{a + 1}>{b + 1}" for a, b in held), list(held)


def _in_part(pairs: list[Pair], ahead: list[Pair], shown: NoiseClass) -> list[Row]:
    rows = [(_lead(pair, -ONE), ZERO) for pair in pairs]
    if shown == "low":
        rows += [(_lead(pair, ONE), ZERO) for pair in pairs if pair not in ahead]
        for (a, b), (c, d) in itertools.product(ahead, ahead):
            if b == c:
                rows.append((_added([_lead((a, b), ONE), _lead((c, d), ONE), _lead((a, d), -ONE)]), ZERO))
    return rows


def _least_here(phi: ConvexPhi, difference: bool, m: int, alpha: tuple[Fraction, ...], ahead: list[Pair]) -> list[Row]:
    """Return inequalities for: 0 is a subgradient of the risk at alpha."""
    ends, slopes = [end for end, _ in phi.pieces if end is not None], _slopes(phi)
    forces: list[list[Form]] = [[] for _ in range(m)]
    rooms: list[Row] = []
    for i, j in itertools.permutations(range(m), 2):
        if difference and (i, j) not in ahead:
            continue
        weight = _lead((i, j), ONE) if difference else {f"x{i}{j}": ONE}
        t = alpha[i] - alpha[j]
        piece = len([end for end in ends if end < t])
        force = _times(slopes[piece], weight)
        if t in ends:
            extra = {f"y{i}{j}": ONE}
            force = _added([force, extra])
            rooms.append((_added([extra, _times(slopes[piece] - slopes[piece + 1], weight)]), ZERO))
        forces[i].append(force)
        forces[j].append(_times(-ONE, force))
    rows: list[Row] = []
    for own in forces:
        net = _added(own)
        rows += [(net, ZERO), (_times(-ONE, net), ZERO)]
    return rows + rooms


def _lead(pair: Pair, factor: Fraction) -> Form:
    i, j = pair
    return {f"x{i}{j}": factor, f"x{j}{i}": -factor}


def _times(factor: Fraction, form: Form) -> Form:
    return {name: factor * value for name, value in form.items()}


def _added(forms: list[Form]) -> Form:
    total: Form = {}
    for form in forms:
        for name, value in form.items():
            total[name] = total.get(name, ZERO) + value
    return total
