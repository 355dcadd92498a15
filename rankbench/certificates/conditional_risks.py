"""Conditional risks of losses and surrogates are computed in floats (Definition 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.certificates.populations import Setting, mean_difference_graph
from rankbench.interfaces.surrogate import Loss, PairwiseSurrogate, ScoreSurrogate, Surrogate
from rankbench.losses.positions import ERRFamily, NDCGFamily

AggregationName: TypeAlias = Literal["none", "mean", "difference"]
"""Input of a surrogate from a population of graphs: single ones, their mean, or its difference graph."""

RiskFunction: TypeAlias = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]
"""Scores alpha, shape (m,), to the risk and a subgradient, shape (m,)."""

Structure: TypeAlias = NDArray[np.float64]


def surrogate_risk(
    surrogate: Surrogate, setting: Setting, loss: Loss, aggregation: AggregationName = "none"
) -> RiskFunction:
    r"""Return the conditional risk ``l_phi(alpha, mu) = int phi(alpha, s) dmu(s)``, [DMJ13]_ (5).

    A surrogate of edges sees a score vector as the graph with weights
    ``[G(s_i) - G(s_j)]_+``, G that of the loss; a surrogate of scores sees a graph's net
    weights :math:`b_i = \sum_j (a_ij - a_ji)`, all that the linear loss depends on.

    Parameters
    ----------
    surrogate : PairwiseSurrogate or ScoreSurrogate
    setting : Setting
    loss : Loss
    aggregation : {"none", "mean", "difference"}
        Of graphs: with aggregation mu is a point mass at the limit (section 5.3).
    """
    law = list(zip(setting.probabilities, setting.structures, strict=True))
    if aggregation != "none":
        law = [(1.0, setting.mean if aggregation == "mean" else mean_difference_graph(setting.mean))]
    seen = [(probability, _seen(surrogate, loss, structure)) for probability, structure in law]
    if isinstance(surrogate, PairwiseSurrogate):
        return _pairwise(surrogate, seen)
    if isinstance(surrogate, ScoreSurrogate):
        return _scored(surrogate, seen)
    raise TypeError(f"surrogate {surrogate.name!r} is neither of edges nor of scores")


def _seen(surrogate: Surrogate, loss: Loss, structure: Structure) -> Structure:
    if (structure.ndim == 2) == (surrogate.structure == "edges"):
        return structure
    if structure.ndim == 2:
        return np.asarray(structure.sum(axis=1) - structure.sum(axis=0))
    gain = loss.gain_of(structure) if isinstance(loss, NDCGFamily | ERRFamily) else structure
    return np.maximum(gain[:, None] - gain[None, :], 0.0)


def _scored(surrogate: ScoreSurrogate, seen: list[tuple[float, Structure]]) -> RiskFunction:
    targets = [
        (probability, surrogate.checked_numbers("target", surrogate.target(scores))) for probability, scores in seen
    ]

    def risk(alpha: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        total, slope = 0.0, np.zeros_like(alpha)
        for probability, target in targets:
            value, gradient = surrogate.value_and_gradient(alpha, target)
            total += probability * value
            slope += probability * surrogate.checked_numbers("value_and_gradient", gradient)
        return total, slope

    return risk


def _pairwise(surrogate: PairwiseSurrogate, seen: list[tuple[float, Structure]]) -> RiskFunction:
    tails, heads, factors, offsets = [], [], [], []
    for probability, graph in seen:
        tail, head = np.nonzero(graph)
        factor, offset = surrogate.edges(graph[tail, head])
        tails.append(tail)
        heads.append(head)
        factors.append(probability * factor)
        offsets.append(offset)
    tail, head = np.concatenate(tails), np.concatenate(heads)
    factor, offset = np.concatenate(factors), np.concatenate(offsets)

    def risk(alpha: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = alpha[tail] - alpha[head] - offset
        slopes = factor * surrogate.dphi(margin)
        gradient = np.zeros(len(alpha))
        np.add.at(gradient, tail, slopes)
        np.subtract.at(gradient, head, slopes)
        return float(factor @ surrogate.phi(margin)), gradient

    return risk


FAR = 50.0
"""Largest difference of neighbors: where an infimum is not attained, phi is next to it there."""

CUTS = 200
"""Planes that `_cutting_planes` may add."""


def representative(order: Sequence[int]) -> NDArray[np.float64]:
    """Return scores that order items so, shape (m,): m for the first item, down to 1."""
    scores = np.empty(len(order))
    scores[list(order)] = np.arange(len(order), 0, -1)
    return scores


def least_risk_on_cone(risk: RiskFunction, order: Sequence[int], smooth: bool, shift_invariant: bool) -> float:
    """Return the least risk over the closed cone ``alpha_order[0] >= alpha_order[1] >= ...``.

    By continuity that is the infimum over the open cone. The cone is parameterized by the
    differences of neighbors, in [0, `FAR`], and the last score, 0 where only differences
    matter. Smooth risks are minimized by L-BFGS-B, others by cutting planes, which end
    after finitely many steps for piecewise linear ones.

    Parameters
    ----------
    risk : RiskFunction
        Convex.
    order : sequence of int
        Items from 0, the best first.
    smooth, shift_invariant : bool
        Declaration of the surrogate.
    """
    m = len(order)
    # Column k: the items that are at least k + 1 places from the end; the first is all of them.
    basis = np.tri(m)[::-1][np.argsort(order)]
    bounds = [(-2 * FAR, 2 * FAR) if not shift_invariant else (0.0, 0.0), *[(0.0, FAR)] * (m - 1)]

    def moved(z: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = risk(basis @ z)
        return value, basis.T @ gradient

    start = np.concatenate([[0.0], np.full(m - 1, 0.5)])
    return least_in_box(moved, start, bounds)[0] if smooth else _cutting_planes(moved, start, bounds)


def least_in_box(
    risk: RiskFunction, start: NDArray[np.float64], bounds: list[tuple[float, float]]
) -> tuple[float, NDArray[np.float64]]:
    """Return the least risk within bounds, and where, by L-BFGS-B."""
    from scipy.optimize import minimize

    best = np.inf
    options = {"ftol": 0.0, "gtol": 1e-11, "maxiter": 500}
    for _ in range(2):  # near the end the line search may fail on rounding: once more from there
        found = minimize(risk, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        best, start = min(best, float(found.fun)), found.x
    return best, start


def _cutting_planes(risk: RiskFunction, start: NDArray[np.float64], bounds: list[tuple[float, float]]) -> float:
    """Minimize the largest of tangent planes, cut at its minimizer, until it touches (Kelley 1960)."""
    from scipy.optimize import linprog

    d = len(start)
    point, best = start, np.inf
    rows: list[NDArray[np.float64]] = []
    sides: list[float] = []
    for _ in range(CUTS):
        value, gradient = risk(point)
        best = min(best, value)
        rows.append(np.append(gradient, -1.0))
        sides.append(float(gradient @ point) - value)
        found = linprog(
            np.append(np.zeros(d), 1.0), A_ub=np.array(rows), b_ub=sides, bounds=[*bounds, (None, None)], method="highs"
        )
        if found.x is None or best - found.fun <= 1e-11 * max(1.0, abs(best)):
            break
        point = found.x[:d]
    return best


TOLERANCE = 1e-9
"""Differences of risks below this are called 0: double precision cannot tell them apart."""


@dataclass(frozen=True)
class Consistency:
    """Effect of minimizing a surrogate on one population.

    Attributes
    ----------
    gap : float
        Least surrogate risk of the orders that are not optimal, less that of the optimal
        ones. Above 0: structure-consistent here. Below 0: every minimizing sequence ends
        in an order that is not optimal. 0: some do. inf where all orders are optimal.
    excess : float
        Largest true risk, in excess of the least one, that scores can keep having while
        their surrogate risk goes to its infimum. 0 where the gap is above 0.
    """

    gap: float
    excess: float

    @property
    def verdict(self) -> float:
        """1: consistent on this population; -1: not; 0: at the boundary, which is not either."""
        return float(np.sign(self.gap))


def consistency_in(
    surrogate: Surrogate, setting: Setting, loss: Loss, aggregation: AggregationName = "none"
) -> Consistency:
    """Compare the surrogate's infima over the orders of least true risk and over the others.

    Only strict orders are looked at. That is enough for losses whose value at a tie lies
    between those of the orders that break it, as it does if ties are averaged over or
    charged in one direction (10): the closed cone of every order without least risk, ties
    or not, then lies in that of a strict one.

    Parameters
    ----------
    surrogate : Surrogate
    setting : Setting
        On few items: all m! orders are gone through.
    loss : Loss
    aggregation : {"none", "mean", "difference"}
        Input of the surrogate, see `surrogate_risk`.
    """
    excess, infima = suboptimality(surrogate, setting, loss, aggregation)
    optimal = excess == 0
    if optimal.all():
        return Consistency(np.inf, 0.0)
    gap = float(infima[~optimal].min() - infima[optimal].min())
    if abs(gap) <= TOLERANCE:
        gap = 0.0
    attained = infima <= infima.min() + TOLERANCE
    return Consistency(gap, float(excess[attained].max()))


def suboptimality(
    surrogate: Surrogate, setting: Setting, loss: Loss, aggregation: AggregationName = "none"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the true excess and the least surrogate risk of every order, shape (m!,).

    H(eps, mu) of [DMJ13]_ (9) is the least one among orders with a true excess of eps or more, less the least of all.

    Parameters
    ----------
    surrogate, setting, loss, aggregation
        As of `consistency_in`.
    """
    risk = surrogate_risk(surrogate, setting, loss, aggregation)
    orders = list(permutations(range(setting.structures[0].shape[0])))
    smooth, shift = ("smooth" in surrogate.properties, "shift-invariant" in surrogate.properties)
    infima = np.array([least_risk_on_cone(risk, order, smooth, shift) for order in orders])
    law = np.array(setting.structures), np.array(setting.probabilities)
    risks = np.array([loss.expected(representative(order), *law) for order in orders])
    excess = risks - risks.min()
    excess[excess <= TOLERANCE] = 0.0
    return excess, infima
