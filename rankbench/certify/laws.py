"""A law gives structures exact probabilities; graphs summarize laws.

A graph is a weighted adjacency matrix of shape (m, m), entry [i, j] >= 0 the weight of i
over j, the diagonal 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.exact import ExactGraph, ExactScores

NoiseClass: TypeAlias = Literal["low", "dag", "any"]
"""Low noise by [DMJ13]_ Definition 4, a difference graph without cycles, or no condition."""


@dataclass(frozen=True)
class Law:
    """A distribution over finitely many structures of m items.

    Attributes
    ----------
    items : int
    support : tuple of (Fraction, structure)
        Weights above 0 with sum 1, and score vectors or graphs: tuples, or mappings of
        (i, j), items from 0, to weights above 0.
    """

    items: int
    support: tuple[tuple[Fraction, ExactScores | ExactGraph], ...]

    @property
    def of_graphs(self) -> bool:
        """Whether structures are graphs."""
        return isinstance(self.support[0][1], Mapping)

    @property
    def mean(self) -> dict[tuple[int, int], Fraction]:
        """The mean graph E[Y]."""
        total: dict[tuple[int, int], Fraction] = {}
        for weight, graph in self.support:
            if isinstance(graph, Mapping):
                for pair, value in graph.items():
                    total[pair] = total.get(pair, Fraction(0)) + weight * value
        return total

    def to_json(self) -> list[dict[str, Any]]:
        """Return mu as a certificate has it."""
        return [{"weight": str(weight), "structure": written_structure(s)} for weight, s in self.support]


def written_structure(structure: ExactScores | ExactGraph) -> Any:
    """Return a structure as a certificate has it: a list of scores, or ``{"1>2": weight}``."""
    if isinstance(structure, Mapping):
        return {f"{i + 1}>{j + 1}": str(w) for (i, j), w in sorted(structure.items())}
    return [str(score) for score in structure]


def leads(mean: Mapping[tuple[int, int], Fraction], m: int) -> dict[tuple[int, int], Fraction]:
    """Return ``E[Y_ij] - E[Y_ji]`` of all pairs."""
    zero = Fraction(0)
    return {(i, j): mean.get((i, j), zero) - mean.get((j, i), zero) for i, j in itertools.permutations(range(m), 2)}


def low_noise_shortfall(lead: Mapping[tuple[int, int], Fraction], m: int) -> str:
    """Say where Definition 4 does not hold; empty if it does."""
    for i, j, k in itertools.permutations(range(m), 3):
        if lead[i, j] > 0 and lead[j, k] > 0 and lead[i, k] < lead[i, j] + lead[j, k]:
            path = lead[i, j] + lead[j, k]
            return (
                f"item {i + 1} leads {j + 1} and {j + 1} leads {k + 1} by {path} together, but {i + 1} leads "
                f"{k + 1} by {lead[i, k]} only"
            )
    return ""


def why_not_in_class(noise: NoiseClass, law: Law) -> str:
    """Say why a law is not in a noise class; empty if it is. Laws of scores are in all of them.

    The leads of mean gains are differences of numbers, which add up along paths: Definition 4
    holds with equality.
    """
    if not law.of_graphs or noise == "any":
        return ""
    lead = leads(law.mean, law.items)
    if noise == "low" and (why := low_noise_shortfall(lead, law.items)):
        return why
    left = set(range(law.items))
    while left:
        sources = {i for i in left if not any(lead[j, i] > 0 for j in left - {i})}
        if not sources:
            return "the difference graph has a cycle among items " + ", ".join(str(i + 1) for i in sorted(left))
        left -= sources
    return ""


Graph = NDArray[np.float64]

ROUNDING = 1e-12
"""Relative error that sums of weights may have: differences below it are ties."""


def graph_of_edges(m: int, edges: dict[tuple[int, int], float]) -> Graph:
    """Return the graph over m items with these weights, items counted from 1 as the papers do."""
    matrix = np.zeros((m, m))
    for (i, j), weight in edges.items():
        matrix[i - 1, j - 1] = weight
    return matrix


def mean_difference_graph(mean: Graph) -> Graph:
    """Return ``[Y_ij - Y_ji]_+`` of a mean graph ([DMJ13]_ section 3.2.2), shape (m, m).

    Differences that are rounding errors of the weights become 0.
    """
    difference: Graph = np.maximum(mean - mean.T, 0.0)
    difference[difference <= ROUNDING * mean.max(initial=0.0)] = 0.0
    return difference


def mean_net_weights(mean: Graph) -> NDArray[np.float64]:
    """Return ``b_i = sum_j (a_ij - a_ji)``, shape (m,), which the linear loss looks at ([DMJ10]_ (15))."""
    net: NDArray[np.float64] = mean.sum(axis=1) - mean.sum(axis=0)
    return net


def is_acyclic(difference: Graph) -> bool:
    """Return whether a graph is a DAG: items without incoming edges can be taken away one by one."""
    left = np.ones(len(difference), dtype=np.bool_)
    while left.any():
        sources = left & ~(difference[left] > 0).any(axis=0)
        if not sources.any():
            return False
        left &= ~sources
    return True


def is_low_noise(mean: Graph) -> bool:
    """Return whether a population is low-noise ([DMJ13]_ Definition 4).

    Where the difference graph has edges i -> j and j -> k, the difference on (i, k) is at
    least their sum. The difference graph is then a DAG.

    Parameters
    ----------
    mean : ndarray of float64, shape (m, m)
        The mean graph E[Y].
    """
    lead = mean - mean.T
    edge = mean_difference_graph(mean) > 0
    slack = ROUNDING * mean.max(initial=0.0)
    path = edge[:, :, None] & edge[None, :, :]
    weight = lead[:, :, None] + lead[None, :, :]
    return bool((lead[:, None, :] >= weight - 4 * slack)[path].all())


def score_pair_graphs(
    scores: NDArray[np.float64], probabilities: NDArray[np.float64]
) -> tuple[list[Graph], list[float]]:
    """Return Cossock and Zhang's scores as graphs of one edge ([DMJ10]_ section 3.1).

    Somebody with scores y, row r of `scores` with its probability, is asked about a pair
    of items, uniform: one edge of weight ``|y_i - y_j|`` towards the item of lower score,
    so that ``a_ij - a_ji`` is proportional to the difference of mean scores. No edge where
    scores are equal.

    Parameters
    ----------
    scores : ndarray of float64, shape (R, m)
    probabilities : ndarray of float64, shape (R,)
    """
    m = scores.shape[1]
    share = 2.0 / (m * (m - 1))
    graphs, chances = [], []
    for row, chance in zip(scores, probabilities, strict=True):
        for i in range(m):
            for j in range(i + 1, m):
                better, worse = (i, j) if row[i] >= row[j] else (j, i)
                graphs.append(graph_of_edges(m, {(better + 1, worse + 1): float(row[better] - row[worse])}))
                chances.append(float(chance) * share)
    return graphs, chances


def ordering_graph(order: Sequence[int], weights: Sequence[float]) -> Graph:
    """Return a complete ordering as a graph whose weights depend on distance alone.

    Parameters
    ----------
    order : sequence of int
        Items from 1, the best first.
    weights : sequence of float
        Weight of a pair at distance 1, 2, ... in the order.
    """
    edges = {(order[a], order[b]): weights[b - a - 1] for a in range(len(order)) for b in range(a + 1, len(order))}
    return graph_of_edges(len(order), edges)
