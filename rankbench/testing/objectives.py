"""A surrogate of one query as a function of alpha, whichever form it comes in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.testing import samples
from rankbench.testing.check_results import CheckSkipped
from rankbench.testing.subjects import Subject

__all__ = ["Objective", "objectives"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Objective:
    """The value and the gradient of a surrogate on one structure.

    Attributes
    ----------
    label : str
    m : int
    value, gradient : callable
        Of alpha, shape (m,).
    """

    label: str
    m: int
    value: Callable[[Vector], float]
    gradient: Callable[[Vector], Vector]


def objectives(subject: Subject) -> list[Objective]:
    """Return a surrogate on several structures.

    Raises
    ------
    CheckSkipped
        It is neither a surrogate of scores nor of edges.
    """
    it = subject.it
    rng = np.random.default_rng(31)
    if isinstance(it, ScoreSurrogate):
        structures = [rng.normal(size=2), rng.normal(size=6), rng.integers(0, 5, 5).astype(np.float64)]
        return [_of_scores(it, scores) for scores in structures]
    if isinstance(it, PairwiseSurrogate):
        return [_of_edges(it, samples.random_graph(m, m)) for m in (2, 5)]
    raise CheckSkipped("it is neither a surrogate of scores nor of pairs")


def _of_scores(it: ScoreSurrogate, scores: Vector) -> Objective:
    target = np.array(it.target(scores.copy()))
    return Objective(
        f"{len(scores)} items",
        len(scores),
        lambda alpha: float(it.value_and_gradient(alpha.copy(), target.copy())[0]),
        lambda alpha: np.asarray(it.value_and_gradient(alpha.copy(), target.copy())[1]),
    )


def _of_edges(it: PairwiseSurrogate, adjacency: Vector) -> Objective:
    m = len(adjacency)
    adjacency = adjacency if adjacency.any() else np.array([[0.0, 0.7], [0.2, 0.0]])
    i, j = np.nonzero(adjacency)
    weights, offsets = it.edges(adjacency[i, j])

    def gradient(alpha: Vector) -> Vector:
        slopes = weights * it.dphi(alpha[i] - alpha[j] - offsets)
        return np.asarray(np.bincount(i, slopes, m) - np.bincount(j, slopes, m))

    return Objective(
        f"{m} items, {len(i)} edges",
        m,
        lambda alpha: float(weights @ it.phi(alpha[i] - alpha[j] - offsets)),
        gradient,
    )
