"""A law gives structures exact probabilities; graphs summarize laws.

A graph is a weighted adjacency matrix of shape (m, m), entry [i, j] >= 0 the weight of i
over j, the diagonal 0.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.interfaces.exact import ExactGraph, ExactScores

NoiseClass: TypeAlias = Literal["low", "dag", "any"]
"""Low noise by [DMJ13]_ Definition 4, a difference graph without cycles, or no condition."""

FEWEST, MOST = 2, 5
"""Items."""

MOST_STRUCTURES = 60
"""That a law may have: as many as a checker goes through within seconds."""

MOST_BITS = 2000
"""Of the common denominator of a law's numbers, so that a checker adds them within seconds."""

_NUMBER = re.compile(r"-?[0-9]+(/[0-9]+|\.[0-9]+)?", re.ASCII)


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


def law_from_json(written: object, items: int | None = None) -> Law:
    """Read a law as certificates have it.

    Raises
    ------
    InputError
        Anything else, numbers that are no rationals, weights that do not sum to exactly 1.
    """
    if isinstance(written, Mapping) and "mu" in written:
        items = written.get("items", items)
        if items is not None and (isinstance(items, bool) or not isinstance(items, int)):
            raise InputError(f"the number of items is {str(items)[:40]!r}; write a whole number from 2 to 5")
        written = written["mu"]
    if not isinstance(written, list | tuple) or not written:
        raise InputError('mu is a list of {"weight": "1/2", "structure": ...}')
    if len(written) > MOST_STRUCTURES:
        raise InputError(f"mu has {len(written)} structures; at most {MOST_STRUCTURES} can be certified")
    m = items or _items_of(written)
    if not FEWEST <= m <= MOST:
        raise InputError(f"mu has {m} items; 2 to 5 can be certified")
    support = tuple((_number(_entry(e, "weight")), _structure(_entry(e, "structure"), m)) for e in written)
    if any(weight <= 0 for weight, _ in support):
        raise InputError("a weight of mu is not above 0")
    total = sum((weight for weight, _ in support), Fraction(0))
    if total != 1:
        raise InputError(f"the weights of mu sum to {total}, not to 1; write them as rationals, like 1/3")
    if len({isinstance(s, Mapping) for _, s in support}) != 1:
        raise InputError("mu has graphs and score vectors; it takes one kind")
    if _common(support).bit_length() > MOST_BITS:
        raise InputError(f"the numbers of mu have a common denominator of more than {MOST_BITS:,} bits; round them")
    return Law(m, support)


def _common(support: tuple[tuple[Fraction, ExactScores | ExactGraph], ...]) -> int:
    """Return the least common denominator of a law's numbers."""
    values = [s.values() if isinstance(s, Mapping) else s for _, s in support]
    return math.lcm(*(w.denominator for w, _ in support), *(x.denominator for own in values for x in own))


def _entry(written: object, key: str) -> Any:
    if not isinstance(written, Mapping) or key not in written:
        raise InputError(f'an entry of mu has no {key!r}: it is {{"weight": "1/2", "structure": ...}}')
    return written[key]


def _number(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction):
        raise InputError(f'{str(value)[:40]!r} is no rational number; write 3, or "1/3" or "0.25" in quotes')
    if isinstance(value, str) and (len(value) > 30 or not _NUMBER.fullmatch(value)):
        raise InputError(f'{str(value)[:40]!r} is no rational number; write 3, or "1/3" or "0.25" in quotes')
    try:
        number = Fraction(value)
    except ZeroDivisionError:
        raise InputError(f'{value!r} is no rational number; write 3, or "1/3" or "0.25" in quotes') from None
    if abs(number) > 1000:
        raise InputError("a number of mu is beyond 1000")
    return number


def _ends(edge: object, m: int) -> tuple[int, int]:
    parts = str(edge).split(">")
    if len(parts) != 2 or not all(p.isascii() and p.isdigit() and len(p) < 4 for p in parts):
        raise InputError(f'{str(edge)[:40]!r} is no edge; write "1>2" for item 1 over item 2')
    i, j = (int(p) for p in parts)
    if not (1 <= i <= m and 1 <= j <= m and i != j):
        raise InputError(f"the edge {edge!r} is not between two of {m} items, counted from 1")
    return i - 1, j - 1


def _structure(written: object, m: int) -> ExactScores | ExactGraph:
    if isinstance(written, Mapping):
        graph = {_ends(edge, m): _number(weight) for edge, weight in written.items()}
        if len(graph) != len(written):
            raise InputError("a graph has an edge twice")
        if any(weight <= 0 for weight in graph.values()):
            raise InputError("a weight of an edge is not above 0; leave edges out that there are not")
        return graph
    if not isinstance(written, list | tuple) or len(written) != m:
        raise InputError(f'a structure is a list of {m} scores, or an object of edges like {{"1>2": "3"}}')
    return tuple(_number(score) for score in written)


def _items_of(written: Any) -> int:
    structures = [_entry(e, "structure") for e in written]
    if isinstance(structures[0], Mapping):
        return max((max(_ends(edge, 999)) + 1 for s in structures if isinstance(s, Mapping) for edge in s), default=0)
    return len(structures[0]) if isinstance(structures[0], list | tuple) else 0


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
