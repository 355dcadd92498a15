"""Populations of voters on few items, drawn at random within a class of noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.theory.graphs import is_acyclic, is_low_noise, mean_difference_graph
from rankbench.theory.settings import GRAPHS

__all__ = ["Noise", "Population", "draw_populations", "paper_populations"]

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
    chosen = [setting for setting in GRAPHS if setting.name.startswith("Theorem") and is_low_noise(setting.mean)]
    return [Population(setting.name, setting.mean / setting.mean.sum()) for setting in chosen]


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
