"""Contenders that are fitted, and structures of all subsets of each query's judgments, as (19) defines its risk."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.methods.erm import ERM
from rankbench.methods.erm.fit import fit_composed
from rankbench.plugin.manager import get


def contender(spec: str) -> ERM:
    method = get(Method, spec)
    return method


def fitted(block: Block, method: ERM | str) -> Fitted:
    outcome = fit_composed(block, {"": contender(method) if isinstance(method, str) else method})[""]
    assert isinstance(outcome, Fitted), outcome
    assert outcome.theta is not None
    return outcome


def structures_of_subsets(
    block: Block, aggregator: Aggregator, k: float
) -> Iterator[tuple[slice, float, list[NDArray[np.float64]]]]:
    """Yield the rows of each judged query, its weight n_q / n, and the structures of min(k, n_q) judgments."""
    said = block.comparisons.without_ties()
    for q, count in enumerate(said.counts):
        low, high = block.design.offsets[q : q + 2]
        subsets = itertools.combinations(range(*said.offsets[q : q + 2]), int(min(k, count)))
        if count:
            made = [
                aggregator.aggregate(said.winners[s], said.losers[s], said.weights[s], high - low)
                for s in map(list, subsets)
            ]
            yield slice(low, high), count / len(said), made


def risk(block: Block, method: ERM, theta: NDArray[np.float64]) -> float:
    """Return the regularized risk (19) by enumerating all k-subsets of every query's judgments."""
    total = 0.5 * method.l2 * float(theta @ theta)
    for rows, share, structures in structures_of_subsets(block, method.aggregator, method.k):
        alpha = block.design.x[rows].astype(np.float64) @ theta
        total += share * float(np.mean([value(method, alpha, structure) for structure in structures]))
    return total


def value(method: ERM, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
    surrogate = method.surrogate
    if isinstance(surrogate, ScoreSurrogate):
        return surrogate.value_and_gradient(alpha, surrogate.target(structure))[0]
    i, j = np.nonzero(structure)
    factors, offsets = surrogate.edges(structure[i, j])
    return float(factors @ surrogate.phi(alpha[i] - alpha[j] - offsets))


def slope(block: Block, method: ERM, theta: NDArray[np.float64], step: float) -> list[float]:
    """Return the gradient of the risk, from differences."""
    axes = step * np.eye(len(theta))
    return [(risk(block, method, theta + e) - risk(block, method, theta - e)) / (2 * step) for e in axes]
