"""Known laws of the papers, and independent computations that certificates are held against."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import getitem
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.optimize import minimize

import rankbench
from rankbench.certificates.check import check
from rankbench.certificates.checking.numbers import Rejected
from rankbench.certificates.floats import jets
from rankbench.interfaces.exact import ConvexPhi

THEOREM_2 = [
    {"weight": "1/2", "structure": {"1>2": "1", "1>3": "3"}},
    {"weight": "1/2", "structure": {"2>3": "1/10", "3>1": "1"}},
]
THEOREM_3 = [
    {"weight": "1/4", "structure": {"1>2": "1"}},
    {"weight": "1/100", "structure": {"2>3": "1"}},
    {"weight": "1/2", "structure": {"1>3": "1"}},
    {"weight": "6/25", "structure": {"3>1": "1"}},
]
GRADES = [{"weight": "3/5", "structure": ["1", "0", "0"]}, {"weight": "2/5", "structure": ["0", "2", "2"]}]
RELEVANCE = [np.array(grades, dtype=float) for grades in itertools.product((0, 1), repeat=3) if any(grades)]
PHIS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "pairwise-logistic": lambda t: np.logaddexp(0.0, -t),
    "pairwise-exponential": lambda t: np.exp(-t),
    "pairwise-squared-hinge": lambda t: np.maximum(1.0 - t, 0.0) ** 2,
    "pairwise-squared": lambda t: (1.0 - t) ** 2,
    "pairwise-hinge": lambda t: np.maximum(1.0 - t, 0.0),
}


def pairwise_risk(phi: Callable[[np.ndarray], np.ndarray], mu: Any, margin: bool = False) -> Callable[[Any], float]:
    """Return the surrogate's risk (12) or (13), written down naively."""

    def risk(alpha: Any) -> float:
        total = 0.0
        for entry in mu:
            for edge, weight in entry["structure"].items():
                i, j = (int(part) - 1 for part in edge.split(">"))
                w, p = float(Fraction(weight)), float(Fraction(entry["weight"]))
                t = alpha[i] - alpha[j]
                total += p * float(phi(np.array(t - w)) if margin else w * phi(np.array(t)))
        return total

    return risk


def disagreement(mu: Any, order: tuple[int, ...]) -> Fraction:
    """Return the expected pairwise loss of an order, naively."""
    total = Fraction(0)
    for entry in mu:
        for edge, weight in entry["structure"].items():
            i, j = (int(part) - 1 for part in edge.split(">"))
            if order.index(i) > order.index(j):
                total += Fraction(entry["weight"]) * Fraction(weight)
    return total


def sides(mu: Any, m: int, true: Callable[[Any, tuple[int, ...]], Fraction]) -> tuple[list, list]:
    """Return right and wrong orders."""
    risks = {order: true(mu, order) for order in itertools.permutations(range(m))}
    least = min(risks.values())
    return [o for o, r in risks.items() if r == least], [o for o, r in risks.items() if r > least]


def least(risk: Callable[[Any], float], order: tuple[int, ...]) -> float:
    """Return the least risk on an order's closed cone, by SciPy from several starts."""
    m = len(order)

    def moved(z: np.ndarray) -> float:
        alpha = np.zeros(m)
        for place, item in enumerate(order):
            alpha[item] = -np.abs(z[:place]).sum()
        return risk(alpha)

    found = [
        minimize(moved, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 6000}).fun
        for start in (np.full(m - 1, 0.3), np.full(m - 1, 2.0), np.linspace(0.05, 1.0, m - 1))
    ]
    return float(min(found))


def margin(risk: Callable[[Any], float], right: list, wrong: list) -> float:
    """Return by how much the least risk of the wrong orders is below that of the right ones."""
    return min(least(risk, o) for o in right) - min(least(risk, o) for o in wrong)


def is_low_noise(mean: np.ndarray) -> bool:
    """Return whether Definition 4 holds of a mean graph, up to rounding."""
    lead, m = mean - mean.T, len(mean)
    chains = [c for c in itertools.permutations(range(m), 3) if min(lead[c[0], c[1]], lead[c[1], c[2]]) > 1e-12]
    return all(lead[i, k] >= lead[i, j] + lead[j, k] - 1e-12 * mean.max() for i, j, k in chains)


class StatedPhi(rankbench.PairwiseSurrogate):
    """Charge what phi as it is stated says."""

    name: ClassVar[str] = "test-stated-phi"
    source: ClassVar[str] = "these tests"
    properties: ClassVar[frozenset] = frozenset({"convex", "shift-invariant"})
    stated: ClassVar[ConvexPhi] = ConvexPhi()

    def phi(self, margin):
        return jets(self.stated, margin)[0]

    def dphi(self, margin):
        return jets(self.stated, margin)[1]

    def exact_phi(self):
        return self.stated


def of_phi(phi: ConvexPhi) -> StatedPhi:
    """Return a surrogate with this phi."""
    return type("OfPhi", (StatedPhi,), {"__module__": __name__, "stated": phi})()


THEIRS = {"surrogate/name": "theirs", "surrogate/distribution": "somebody 1.0"}
"""Changes that make a surrogate somebody else's."""

GONE = object()
"""In the place of a value that is taken away."""


def changed(content: dict, changes: dict[str, object]) -> dict:
    """Return a certificate with other values at some places, which are named like ``mu/0/weight``."""
    other = copy.deepcopy(content)
    for place, value in changes.items():
        *path, last = (int(key) if key.isdigit() else key for key in place.split("/"))
        holder = reduce(getitem, path, other)
        if value is GONE:
            del holder[last]
        else:
            holder[last] = value
    return other


def refused(content: object, why: str = ".") -> None:
    """Assert that the checker rejects a certificate, and says why."""
    with pytest.raises(Rejected, match=why):
        check(json.dumps(content).encode())
