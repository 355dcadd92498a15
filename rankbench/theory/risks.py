"""Conditional risks of surrogates on a finite population, exactly, no draws; of losses see `Loss.expected`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.loss import Loss
from rankbench.kinds.surrogate import PairwiseSurrogate, ScoreSurrogate, Surrogate
from rankbench.losses.err import ERRFamily
from rankbench.losses.ndcg import NDCGFamily
from rankbench.theory.graphs import mean_difference_graph, mean_net_weights
from rankbench.theory.settings import Setting

__all__ = ["AggregationName", "RiskFunction", "surrogate_risk"]

AggregationName: TypeAlias = Literal["none", "mean", "difference"]
"""What a surrogate sees of a population of graphs: single ones, their mean, or its difference graph."""

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
    seen = [(p, _seen(surrogate, loss, s)) for s, p in _limit(setting, aggregation)]
    if isinstance(surrogate, PairwiseSurrogate):
        return _pairwise(surrogate, seen)
    if isinstance(surrogate, ScoreSurrogate):
        return _scored(surrogate, seen)
    raise TypeError(f"surrogate {surrogate.name!r} is neither of edges nor of scores")


def _limit(setting: Setting, aggregation: AggregationName) -> list[tuple[Structure, float]]:
    if aggregation == "none":
        return list(zip(setting.structures, setting.probabilities, strict=True))
    return [(setting.mean if aggregation == "mean" else mean_difference_graph(setting.mean), 1.0)]


def _seen(surrogate: Surrogate, loss: Loss, structure: Structure) -> Structure:
    if (structure.ndim == 2) == (surrogate.structure == "edges"):
        return structure
    if structure.ndim == 2:
        return mean_net_weights(structure)
    gain = loss.gain_of(structure) if isinstance(loss, NDCGFamily | ERRFamily) else structure
    return np.maximum(gain[:, None] - gain[None, :], 0.0)


def _scored(surrogate: ScoreSurrogate, seen: list[tuple[float, Structure]]) -> RiskFunction:
    targets = [(probability, surrogate.target(scores)) for probability, scores in seen]

    def risk(alpha: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        total, slope = 0.0, np.zeros_like(alpha)
        for probability, target in targets:
            value, gradient = surrogate.value_and_gradient(alpha, target)
            total += probability * value
            slope += probability * gradient
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
