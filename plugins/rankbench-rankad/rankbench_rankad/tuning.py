"""Choosing sigma and lambda by cross-validation on the ranks of the training points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench_rankad.margins import Floats, MarginLoss
from rankbench_rankad.objective import Objective, minimize
from rankbench_rankad.pairs import LevelPairs, concordance
from rankbench_rankad.rbf import RbfMap

__all__ = ["LAMBDAS", "SIGMAS", "Problem", "choose"]

SIGMAS = (0.1, 0.25, 0.5, 1.0, 2.0)
"""Tried bandwidths, in median distances of the training points."""

LAMBDAS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Tried penalties, in the order in which each starts from the one before."""

TOLERANCE, STEPS = 1e-4, 100
"""Of the fits that are only compared."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The training data: points, their densities, and the levels to separate.

    Attributes
    ----------
    points : ndarray of float64, shape (n, d)
    density : ndarray of float64, shape (n,)
        The statistic G.
    levels : ndarray of int64, shape (n,)
    loss : MarginLoss
    anchors_per_point : float
        Points at infinity for each training point; 0: none, the paper's objective.
    """

    points: Floats
    density: Floats
    levels: NDArray[np.int64]
    loss: MarginLoss
    anchors_per_point: float

    def objective(self, features: Floats, l2: float, rows: NDArray[np.int64] | None = None) -> Objective:
        """Return the objective on some of the points, on all of them by default."""
        chosen = np.arange(len(self.points)) if rows is None else rows
        anchors = round(self.anchors_per_point * len(chosen))
        return Objective(features[chosen], LevelPairs(self.levels[chosen]), self.loss, l2, anchors)


def choose(
    problem: Problem,
    landmarks: Floats,
    sigmas: tuple[float, ...],
    lambdas: tuple[float, ...],
    folds: int,
    generator: np.random.Generator,
) -> tuple[float, float]:
    """Return the (sigma, lambda) whose fits order the density of left-out points best.

    Judged by the share of pairs of left-out points with different G that come out in the
    order of G, summed over folds; the first of equally good ones wins.

    Parameters
    ----------
    problem : Problem
    landmarks : ndarray of float64, shape (m, d)
        That span the functions.
    sigmas : tuple of float
        Bandwidths, as distances.
    lambdas : tuple of float
        Decreasing, so that each fit starts from a smoother one.
    folds : int
        In [2, n].
    """
    if len(sigmas) == len(lambdas) == 1:
        return sigmas[0], lambdas[0]
    fold = generator.permutation(len(problem.points)) % folds
    best, chosen = -1.0, (sigmas[0], lambdas[0])
    for sigma in sigmas:
        features = RbfMap.from_landmarks(landmarks, sigma).coordinates(problem.points)
        agreement = np.zeros(len(lambdas))
        for left_out in range(folds):
            rows, test = np.flatnonzero(fold != left_out), np.flatnonzero(fold == left_out)
            theta: Floats | None = None
            for i, l2 in enumerate(lambdas):
                theta = minimize(problem.objective(features, l2, rows), theta, TOLERANCE, STEPS).theta
                agreement[i] += concordance(problem.density[test], features[test] @ theta)
        top = int(np.argmax(agreement))
        if agreement[top] > best:
            best, chosen = float(agreement[top]), (sigma, lambdas[top])
    return chosen
