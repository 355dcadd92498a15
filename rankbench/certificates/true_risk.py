"""The true risk of every order follows from a law, and so does the structure that a surrogate sees."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from rankbench.certificates.laws import Law, net_weights_of, written_structure
from rankbench.certificates.populations import Setting
from rankbench.core.gains import exact_discounts, exact_gains, exact_satisfaction
from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import sample_structure
from rankbench.interfaces.exact import ConvexPhi, ExactGraph, ExactScores, ExactSurrogate, PhiTerm
from rankbench.interfaces.surrogate import Loss, PairwiseSurrogate, ScoreSurrogate, Surrogate
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.losses.positions import ERR, NDCG, Precision

ItemOrder: TypeAlias = tuple[int, ...]
"""Items from 0, the best first, without ties."""


@dataclass(frozen=True)
class TrueLoss:
    """A loss with its tables in rational numbers.

    Attributes
    ----------
    loss : Loss
    graphs : bool
        Whether it is of graphs.
    table : tuple of Fraction
        Discounts ``1/F(1), ..., 1/F(m)``; empty for graphs.
    """

    loss: Loss
    graphs: bool
    table: tuple[Fraction, ...] = ()

    def gains(self, scores: ExactScores) -> list[Fraction]:
        """Return G(s_j).

        Raises
        ------
        SpecError
            They are irrational.
        """
        if isinstance(self.loss, ERR):
            found = exact_satisfaction(self.loss.gain, scores, self.loss.top)
        elif isinstance(self.loss, NDCG):
            found = exact_gains(self.loss.gain, scores)
        else:
            found = list(scores)
        if found is None:
            raise SpecError(f"the gains of {self.loss} are irrational for these scores: take whole grades and exp2")
        return found

    def risk(self, law: Law, order: ItemOrder) -> Fraction:
        """Return the expected loss of an order, exactly."""
        if self.graphs and not getattr(self.loss, "normalize", False):
            return self._value(law.mean, order)
        return sum((weight * self._value(s, order) for weight, s in law.support), Fraction(0))

    def _value(self, structure: Any, order: ItemOrder) -> Fraction:
        if isinstance(structure, Mapping):
            place = {item: at for at, item in enumerate(order)}
            total = sum((w for (i, j), w in structure.items() if place[i] > place[j]), Fraction(0))
            if isinstance(self.loss, PairwiseDisagreement) and self.loss.normalize and structure:
                return total / sum(structure.values(), Fraction(0))
            return total
        gained = self.gains(structure)
        if isinstance(self.loss, ERR):
            earned, seen = Fraction(0), Fraction(1)
            for item, discount in zip(order, self.table, strict=True):
                earned += discount * seen * gained[item]
                seen *= 1 - gained[item]
            return 1 - earned
        best = sum((g * d for g, d in zip(sorted(gained, reverse=True), self.table, strict=True)), Fraction(0))
        if best <= 0 or not any(structure):
            return Fraction(0)
        return 1 - sum((gained[i] * d for i, d in zip(order, self.table, strict=True)), Fraction(0)) / best

    def to_json(self) -> dict[str, Any]:
        """Return the loss in a certificate's form."""
        if isinstance(self.loss, PairwiseDisagreement):
            return {"name": "pairwise", "normalize": self.loss.normalize}
        table = [str(d) for d in self.table]
        if isinstance(self.loss, ERR):
            return {"name": "err", "top": int(self.loss.top), "discounts": table}
        return {"name": "ndcg", "gain": getattr(self.loss, "gain", "identity"), "discounts": table}


def true_loss(loss: Loss, m: int) -> TrueLoss:
    """Return a loss in rational numbers.

    Raises
    ------
    SpecError
        A loss that has none, or that calls every order of so few items right.
    """
    if isinstance(loss, PairwiseDisagreement):
        return TrueLoss(loss, True)
    if loss.structure == "edges":
        raise SpecError(f"rankbench cannot certify loss {loss}: its risk does not follow from the mean graph")
    if isinstance(loss, Precision):
        if loss.k >= m:
            raise SpecError(f"{loss} calls every order of {m} items right: take precision:k=1")
        return TrueLoss(loss, False, tuple(Fraction(int(j < loss.k)) for j in range(m)))
    if isinstance(loss, NDCG) and loss.gain in ("exp2", "identity"):
        return TrueLoss(loss, False, tuple(exact_discounts(loss.discount, m, loss.cutoff)))
    if isinstance(loss, ERR) and loss.gain == "exp2" and loss.top == int(loss.top):
        return TrueLoss(loss, False, tuple(exact_discounts(loss.discount, m, loss.cutoff)))
    if not isinstance(loss, NDCG | ERR):
        raise SpecError(f"rankbench cannot certify loss {loss}; take pairwise-disagreement, precision, ndcg or err")
    raise SpecError(f"loss {loss} cannot be written in rational numbers; take gain=exp2 or identity")


def orders_of(loss: TrueLoss, law: Law) -> tuple[list[ItemOrder], list[ItemOrder]]:
    """Return the right orders and the wrong ones.

    Orders without ties are enough: a tie's risk is that of one way to break it (10), or the mean
    over all, so that the closed cone of a weak order lies in that of an order of its own side.
    """
    risks = {order: loss.risk(law, order) for order in itertools.permutations(range(law.items))}
    least = min(risks.values())
    right = [order for order, risk in risks.items() if risk == least]
    return right, [order for order in risks if order not in right]


EXACT_AGGREGATORS = ("average-adjacency", "difference-graph", "net-weights")
"""Whose structures are rational numbers."""

MOST_DRAWS = 20_000
"""Judgments in all ways to draw k of mu, in any order."""

SCORE_DIGITS = 12
"""Decimals of scores that an aggregator computes in double precision: proofs are for the rounded scores."""

LARGEST_SCORE = 1000.0
"""Of these, as of all structures."""

MOST_STRUCTURES = 400
"""That a law may have after aggregation."""


@dataclass(frozen=True)
class Aggregated:
    """An aggregation: the aggregator, and the number of judgments."""

    aggregator: Aggregator
    k: float = math.inf

    def to_json(self) -> dict[str, Any]:
        """Return it in a certificate's form."""
        return {"name": str(self.aggregator), "k": "inf" if math.isinf(self.k) else int(self.k)}


@dataclass(frozen=True)
class ExactRisk:
    """The surrogate's risk under a law.

    Attributes
    ----------
    parts : tuple of (Fraction, structure, ExactSurrogate)
        For every structure that it sees.
    phis : tuple of ConvexPhi
        The distinct ones, by number.
    risk : ExactSurrogate
        The mean, equal terms as one, in the order of phi, coefficients and offset.
    """

    parts: tuple[tuple[Fraction, ExactScores | ExactGraph, ExactSurrogate], ...]
    phis: tuple[ConvexPhi, ...]
    risk: ExactSurrogate

    @property
    def linear_pieces(self) -> bool:
        """True if the risk is piecewise linear, by exact pieces."""
        return bool(self.risk.terms) and all(phi.piecewise_linear for phi in self.phis)


def law_after_aggregation(law: Law, aggregated: Aggregated | None) -> Law:
    """Return the law after aggregation: of ``s(Y_1..Y_k)`` for independent Y of mu.

    Raises
    ------
    SpecError
        Aggregation makes too many structures.
    """
    if aggregated is None:
        return law
    m, aggregator = law.items, aggregated.aggregator
    if math.isinf(aggregated.k):
        return Law(m, ((Fraction(1), _aggregate(aggregator, law.mean, m)),))
    k = int(aggregated.k)
    if math.comb(len(law.support) + k - 1, k) * k > MOST_DRAWS:
        raise SpecError(f"there are too many ways to draw {k} judgments; take a smaller k, or inf")
    found: dict[tuple[Any, ...], Fraction] = {}
    for chosen in itertools.combinations_with_replacement(range(len(law.support)), k):
        chance, graph = Fraction(math.factorial(k)), dict[tuple[int, int], Fraction]()
        for at in sorted(set(chosen)):
            weight, own = law.support[at]
            times = chosen.count(at)
            chance *= weight**times / math.factorial(times)
            for pair, value in (own if isinstance(own, Mapping) else {}).items():
                graph[pair] = graph.get(pair, Fraction(0)) + value * times / k
        key = tuple(sorted(graph.items()))
        found[key] = found.get(key, Fraction(0)) + chance
        if len(found) > MOST_STRUCTURES:
            raise SpecError(f"k={k} judgments make more than {MOST_STRUCTURES} structures; take a smaller k, or inf")
    return Law(m, tuple((p, _aggregate(aggregator, dict(key), m)) for key, p in found.items()))


def _aggregate(aggregator: Aggregator, mean: Mapping[tuple[int, int], Fraction], m: int) -> ExactScores | ExactGraph:
    if aggregator.name == "average-adjacency":
        return dict(mean)
    if aggregator.name == "difference-graph":
        differences = {(i, j): w - mean.get((j, i), Fraction(0)) for (i, j), w in mean.items()}
        return {pair: d for pair, d in differences.items() if d > 0}
    if aggregator.name == "net-weights":
        return net_weights_of(mean, m)
    if aggregator.structure != "scores" or aggregator.judgments != "comparisons":
        raise SpecError(f"rankbench cannot certify aggregator {aggregator}: it makes no scores of comparisons")
    pairs = sorted(mean)
    winners, losers = (np.array([pair[at] for pair in pairs], dtype=np.int32) for at in (0, 1))
    weights = np.array([float(mean[pair]) for pair in pairs])
    scores = sample_structure(aggregator, winners, losers, weights, m)
    if not (np.isfinite(scores).all() and np.abs(scores).max(initial=0.0) <= LARGEST_SCORE):
        raise SpecError(f"aggregator {aggregator} makes scores that rankbench cannot certify: {scores.tolist()}")
    return tuple(Fraction(round(float(s) * 10**SCORE_DIGITS), 10**SCORE_DIGITS) for s in scores)


def exact_risk(surrogate: Surrogate, seen: Law, loss: TrueLoss) -> ExactRisk | None:
    """Return the surrogate's risk in exact numbers; None if it does not state itself so."""
    parts = []
    for weight, structure in seen.support:
        stated = _stated(surrogate, structure, seen.items, loss)
        if stated is None:
            return None
        parts.append((weight, structure, stated))
    phis = tuple(dict.fromkeys(term.phi for _, _, stated in parts for term in stated.terms))
    return ExactRisk(tuple(parts), phis, merged([(w, stated) for w, _, stated in parts], phis, seen.items))


def _stated(surrogate: Surrogate, structure: ExactScores | ExactGraph, m: int, loss: TrueLoss) -> ExactSurrogate | None:
    if isinstance(surrogate, PairwiseSurrogate):
        return surrogate.exact(m, structure if isinstance(structure, Mapping) else _leads(loss.gains(structure)))
    if isinstance(surrogate, ScoreSurrogate):
        return surrogate.exact(net_weights_of(structure, m) if isinstance(structure, Mapping) else structure)
    return None


def _leads(gained: list[Fraction]) -> dict[tuple[int, int], Fraction]:
    pairs = itertools.permutations(range(len(gained)), 2)
    return {(i, j): gained[i] - gained[j] for i, j in pairs if gained[i] > gained[j]}


def merged(parts: list[tuple[Fraction, ExactSurrogate]], phis: tuple[ConvexPhi, ...], m: int) -> ExactSurrogate:
    """Return the mean of sums, equal terms as one."""
    factors: dict[tuple[int, tuple[int, ...], Fraction], Fraction] = {}
    linear, entropy = [Fraction(0)] * m, Fraction(0)
    for weight, stated in parts:
        for term in stated.terms:
            if term.factor:
                key = (phis.index(term.phi), tuple(term.coefficients), term.offset)
                factors[key] = factors.get(key, Fraction(0)) + weight * term.factor
        linear = [total + weight * own for total, own in zip(linear, stated.linear, strict=True)]
        entropy += weight * stated.entropy
    terms = tuple(PhiTerm(factors[key], key[1], key[2], phis[key[0]]) for key in sorted(factors))
    return ExactSurrogate(terms, tuple(linear), entropy)


def setting_of(seen: Law) -> Setting:
    """Return a law in double precision, as `rankbench.certificates.populations` takes it."""
    structures = []
    for _, s in seen.support:
        if isinstance(s, Mapping):
            graph = np.zeros((seen.items, seen.items))
            for pair, weight in s.items():
                graph[pair] = float(weight)
            structures.append(graph)
        else:
            structures.append(np.array([float(score) for score in s]))
    return Setting("mu", "as given", tuple(structures), tuple(float(w) for w, _ in seen.support))


def risk_to_json(risk: ExactSurrogate, phis: tuple[ConvexPhi, ...]) -> dict[str, Any]:
    """Return a sum in a certificate's form."""
    terms = [
        {
            "factor": str(term.factor),
            "form": list(term.coefficients),
            "offset": str(term.offset),
            "phi": phis.index(term.phi),
        }
        for term in risk.terms
    ]
    return {"terms": terms, "linear": [str(x) for x in risk.linear], "entropy": str(risk.entropy)}


def parts_to_json(exact: ExactRisk) -> list[dict[str, Any]]:
    """Return the structures that the surrogate sees in a certificate's form."""
    return [
        {
            "weight": str(weight),
            "structure": written_structure(structure),
            "surrogate": risk_to_json(stated, exact.phis),
        }
        for weight, structure, stated in exact.parts
    ]


def phi_to_json(phi: ConvexPhi) -> dict[str, Any]:
    """Return a phi in a certificate's form."""
    if phi.pieces:
        pieces: list[dict[str, Any]] = []
        for end, coefficients in phi.pieces:
            piece: dict[str, Any] = {} if end is None else {"until": str(end)}
            pieces.append({**piece, "coefficients": [str(c) for c in coefficients]})
        return {"pieces": pieces}
    written: dict[str, Any] = {"expression": phi.expression}
    return written if phi.infimum is None else {**written, "infimum": str(phi.infimum)}
