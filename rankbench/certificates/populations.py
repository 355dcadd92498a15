"""Populations of the papers' proofs, and random ones, belong to a noise class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import StructureKind


@dataclass(frozen=True, eq=False)
class Setting:
    """A distribution mu over finitely many structures of one query.

    Attributes
    ----------
    name : str
        As tables show it.
    text : str
        Description with its source, in a sentence.
    structures : tuple of ndarray of float64
        Graphs, shape (m, m), or score vectors, shape (m,).
    probabilities : tuple of float
        Of each structure; they sum to 1.
    """

    name: str
    text: str
    structures: tuple[NDArray[np.float64], ...]
    probabilities: tuple[float, ...]

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean structure E[Y], or E[s]."""
        total = np.zeros_like(self.structures[0])
        for structure, probability in zip(self.structures, self.probabilities, strict=True):
            total += probability * structure
        return total


Graph: TypeAlias = NDArray[np.float64]
"""Weights, shape (m, m): entry [i, j] >= 0 is that of i over j, the diagonal 0."""

ROUNDING = 1e-12
"""Relative error that sums of weights may have: differences below it are ties."""


def mean_difference_graph(mean: Graph) -> Graph:
    """Return ``[Y_ij - Y_ji]_+`` of a mean graph ([DMJ13]_ section 3.2.2), shape (m, m).

    Differences that are rounding errors of the weights become 0.
    """
    difference: Graph = np.maximum(mean - mean.T, 0.0)
    difference[difference <= ROUNDING * mean.max(initial=0.0)] = 0.0
    return difference


def is_acyclic(difference: Graph) -> bool:
    """Return whether a graph is a DAG: items without incoming edges can be removed one by one."""
    left = np.ones(len(difference), dtype=np.bool_)
    while left.any():
        sources = left & ~(difference[left] > 0).any(axis=0)
        if not sources.any():
            return False
        left &= ~sources
    return True


def _of_graphs(name: str, text: str, *edges: tuple[float, dict[tuple[int, int], float]]) -> Setting:
    """Return a setting of graphs over 3 items, counted from 1 as the papers do."""
    graphs = []
    for _, weights in edges:
        graphs.append(np.zeros((3, 3)))
        for (i, j), weight in weights.items():
            graphs[-1][i - 1, j - 1] = weight
    return Setting(name, text, tuple(graphs), tuple(probability for probability, _ in edges))


def _of_scores(name: str, text: str, *scores: tuple[float, tuple[float, ...]]) -> Setting:
    return Setting(name, text, tuple(np.array(s) for _, s in scores), tuple(p for p, _ in scores))


GRAPHS: tuple[Setting, ...] = (
    _of_graphs(
        "Theorem 2 (low noise)",
        "two graphs with probability 1/2 each, Y_12 = 1 and Y_13 = 3, or Y_23 = 1/10 and Y_31 = 1 "
        "([DMJ13] section 10.2)",
        (0.5, {(1, 2): 1.0, (1, 3): 3.0}),
        (0.5, {(2, 3): 0.1, (3, 1): 1.0}),
    ),
    _of_graphs(
        "Theorem 3 (low noise)",
        "one edge of weight 1: 1 over 2, 2 over 3, 1 over 3 or 3 over 1 with probabilities .25, .01, .5, .24. "
        "In [DMJ13] section 10.3, G2 and G3 change places between the weights and the risk",
        (0.25, {(1, 2): 1.0}),
        (0.01, {(2, 3): 1.0}),
        (0.5, {(1, 3): 1.0}),
        (0.24, {(3, 1): 1.0}),
    ),
    _of_graphs(
        "Cossock-Zhang (low noise)",
        "scores (1, 1, 6) or (6, 10, 0) with probability 1/2 each, asked about one uniform pair. All such scores are "
        "low-noise ([DMJ10] section 3.1); (12) fails on these",
        (1 / 6, {}),
        (1 / 6, {(3, 1): 5.0}),
        (1 / 6, {(3, 2): 5.0}),
        (1 / 6, {(2, 1): 4.0}),
        (1 / 6, {(1, 3): 6.0}),
        (1 / 6, {(2, 3): 10.0}),
    ),
    _of_graphs(
        "proof of Theorem 2 as printed (acyclic)",
        "as Theorem 2 but Y_31 = 2.5. The inequalities printed in [DMJ13] section 10.2 hold, low noise does not "
        "(it also needs Y_13 - Y_31 >= Y_12 + Y_23)",
        (0.5, {(1, 2): 1.0, (1, 3): 3.0}),
        (0.5, {(2, 3): 0.1, (3, 1): 2.5}),
    ),
    _of_graphs(
        "Theorem 13 holds (acyclic)",
        "Y_12 = Y_23 = Y_13 = 1: not low-noise, but net weights order all pairs as the difference graph does",
        (1.0, {(1, 2): 1.0, (2, 3): 1.0, (1, 3): 1.0}),
    ),
    _of_graphs(
        "Theorem 13 fails (acyclic)",
        "Y_12 = 0.4, Y_23 = 1: item 2 beats more than it loses, so that net weights put it before item 1",
        (1.0, {(1, 2): 0.4, (2, 3): 1.0}),
    ),
    _of_graphs(
        "order-preserving (acyclic)",
        "orderings 1, 2, 3 with probability .55 and 2, 3, 1 with .45, every pair of weight 1. No weights by distance "
        "make it low-noise with 1, 2, 3 the best order ([DMJ10] section 3.1). That takes a probability above 2/3; "
        "some weights make it low-noise with 2, 1, 3 the best",
        (0.55, {(1, 2): 1.0, (2, 3): 1.0, (1, 3): 1.0}),
        (0.45, {(2, 3): 1.0, (3, 1): 1.0, (2, 1): 1.0}),
    ),
    _of_graphs(
        "cycle",
        "Y_12 = 3, Y_23 = 1.1, Y_31 = 1: any order has a loss, the least is that of 1, 2, 3",
        (1.0, {(1, 2): 3.0, (2, 3): 1.1, (3, 1): 1.0}),
    ),
)
"""For losses of graphs."""

SCORES: tuple[Setting, ...] = (
    _of_scores("known grades", "grades (3, 2, 0), always", (1.0, (3.0, 2.0, 0.0))),
    _of_scores(
        "Z differs",
        "grades (1, 0, 0) with probability .6, (0, 2, 2) with .4: gains count most in the query with the smaller Z(s)",
        (0.6, (1.0, 0.0, 0.0)),
        (0.4, (0.0, 2.0, 2.0)),
    ),
    _of_scores(
        "same grades permuted",
        "grades (1, 2, 0) with probability .3, (1, 0, 2) with .7: Z(s) is always the same",
        (0.3, (1.0, 2.0, 0.0)),
        (0.7, (1.0, 0.0, 2.0)),
    ),
    _of_scores(
        "independent",
        "independent grades: item 1 has 4 or 0 with probability 1/2 each, item 2 always 2, item 3 3 or 0 with .4 and "
        ".6. Lemma 1 of [DMJ13] applies",
        (0.2, (4.0, 2.0, 3.0)),
        (0.3, (4.0, 2.0, 0.0)),
        (0.2, (0.0, 2.0, 3.0)),
        (0.3, (0.0, 2.0, 0.0)),
    ),
    _of_scores(
        "correlated",
        "grades (4, 4, 0) with probability .5, (4, 0, 0) with .05, (0, 0, 4) with .45. A user whom item 1 does not "
        "satisfy wants item 3, not item 2: the order of means is not the best for ERR",
        (0.5, (4.0, 4.0, 0.0)),
        (0.05, (4.0, 0.0, 0.0)),
        (0.45, (0.0, 0.0, 4.0)),
    ),
)
"""For losses of score vectors."""


def settings(structure: StructureKind) -> tuple[Setting, ...]:
    """Return the settings with structures of a kind."""
    return GRAPHS if structure == "edges" else SCORES


Noise: TypeAlias = Literal["low-noise", "acyclic", "cyclic"]
"""Of the difference graph: low noise by Definition 4, no cycle, or a cycle."""


@dataclass(frozen=True, eq=False)
class Population:
    """The law of one vote "i over j".

    Attributes
    ----------
    name : str
    votes : ndarray of float64, shape (m, m)
        Probability of each vote; they sum to 1. A vote is a graph of one edge of weight
        1, so that this is the mean graph E[Y].
    """

    name: str
    votes: NDArray[np.float64]


def draw_populations(noise: Noise, count: int, m: int, state: NDArray[np.uint64]) -> list[Population]:
    r"""Draw populations of m items.

    Items stand in a hidden order, 0 first. Item i leads j by :math:`d_{ij}`, made of
    independent standard exponential variables E:

    - ``low-noise``: E for neighbors; for others the largest :math:`d_{ik} + d_{kj}` of an
      item k between them, plus E, which is Definition 4;
    - ``acyclic``: E for all pairs, the first item ahead;
    - ``cyclic``: E for all pairs, either item ahead with probability 1/2; drawn again until
      there is a cycle.

    On every pair, noise (m - 1) E is added in both directions alike. Items are then put in
    a random order, and weights divided by their sum.

    Parameters
    ----------
    noise : {"low-noise", "acyclic", "cyclic"}
    count : int
    m : int
        At least 2; 3 for a cycle.
    state : ndarray of uint64, shape (4,)
        Of the generator; advanced.
    """
    return [Population(f"{noise} {p + 1}", _votes(noise, m, state)) for p in range(count)]


def paper_populations() -> list[Population]:
    """Return the low-noise populations of Theorems 2 and 3 as votes: their mean graphs, divided by their sums.

    The risk of a surrogate that is linear in the graph is that of the paper's own judgments,
    up to a factor.
    """
    return [Population(setting.name, setting.mean / setting.mean.sum()) for setting in GRAPHS[:2]]


def _votes(noise: Noise, m: int, state: NDArray[np.uint64]) -> NDArray[np.float64]:
    from rankbench.kernels.random import below

    lead = _leads(noise, m, state)
    while noise == "cyclic" and is_acyclic(mean_difference_graph(np.maximum(lead, 0.0))):
        lead = _leads(noise, m, state)
    votes = np.maximum(lead, 0.0)
    for i in range(m):
        for j in range(i + 1, m):
            both = (m - 1) * _exponential(state)
            votes[i, j] += both
            votes[j, i] += both
    order = np.arange(m)
    for i in range(m - 1, 0, -1):
        j = below(state, i + 1)
        order[i], order[j] = order[j], order[i]
    placed: NDArray[np.float64] = votes[np.ix_(order, order)]
    placed /= placed.sum()
    return placed


def _leads(noise: Noise, m: int, state: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return d, skew-symmetric, shape (m, m)."""
    from rankbench.kernels.random import uniform

    lead = np.zeros((m, m))
    for distance in range(1, m):
        for i in range(m - distance):
            j = i + distance
            d = _exponential(state)
            if noise == "cyclic" and uniform(state) < 0.5:
                d = -d
            elif noise == "low-noise":
                d += max((lead[i, k] + lead[k, j] for k in range(i + 1, j)), default=0.0)
            lead[i, j], lead[j, i] = d, -d
    return lead


def _exponential(state: NDArray[np.uint64]) -> float:
    from rankbench.kernels.random import uniform

    return -math.log1p(-uniform(state))
