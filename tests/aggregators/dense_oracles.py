"""Dense solutions of what the package solves on sparse pairs: oracles, in O(m^3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from rankbench.interfaces.queries import Comparisons

_TOLERANCE = 1e-12
_ROUNDING = 1e-14
_SHORTEST = 1e-10
_MAX_STEPS = 200


def sums(
    winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the observed pairs, low < high, and the weight of what either won."""
    wins = np.zeros((m, m))
    np.add.at(wins, (winners, losers), weights)
    low, high = np.nonzero(np.triu(wins + wins.T))
    return low, high, wins[low, high], wins[high, low]


def bradley_terry(
    winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int, ridge: float
) -> NDArray[np.float64]:
    """Return Bradley-Terry scores by Newton's method with the dense Hessian."""

    def objective(scores: NDArray[np.float64]) -> float:
        margin = scores[low] - scores[high]
        losses = forward @ np.logaddexp(0, -margin) + backward @ np.logaddexp(0, margin)
        return float(losses + ridge / 2 * scores @ scores)

    low, high, forward, backward = sums(winners, losers, weights, m)
    scores = np.zeros(m)
    for _ in range(200):
        p = expit(scores[low] - scores[high])
        slope = (forward + backward) * p - forward
        gradient = ridge * scores + np.bincount(low, slope, m) - np.bincount(high, slope, m)
        curvature = (forward + backward) * p * (1 - p)
        hessian = np.diag(ridge + np.bincount(low, curvature, m) + np.bincount(high, curvature, m))
        hessian[low, high] = hessian[high, low] = -curvature
        step = solve(hessian, gradient, assume_a="pos")
        decrease = float(gradient @ step)
        if decrease <= 1e-28 * max(1.0, float(scores @ scores)):
            break
        value, length = objective(scores), 1.0
        # Rounding of the objective hides decreases below a few units in its last place.
        while objective(scores - length * step) > value * (1 + 1e-14) - 1e-4 * length * decrease:
            length /= 2
        scores = scores - length * step
    return scores


def davidson(comparisons: Comparisons, m: int, ridge: float) -> tuple[NDArray[np.float64], float]:
    """Return the scores of Davidson's model and nu, by Newton's method with the dense Hessian."""
    winners, losers, weights = comparisons.winners, comparisons.losers, comparisons.weights
    tied = comparisons.ties
    if tied is None or not tied.any():
        return bradley_terry(winners, losers, weights, m, ridge), 0.0
    if tied.all():
        return np.zeros(m), float("inf")
    whole = comparisons.without_ties()
    low, high, forward, backward = sums(whole.winners, whole.losers, whole.weights, m)
    played, ties = forward + backward, float(weights[tied].sum())
    # The last entry is log(nu); at equal scores its best value is this.
    theta = np.zeros(m + 1)
    theta[m] = np.log(2 * ties / (played.sum() - ties))
    penalty = np.full(m + 1, ridge)
    penalty[m] = 0.0

    def derivatives(theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        half = (theta[low] - theta[high]) / 2
        top = np.maximum(np.abs(half), theta[m])
        first, second, tie = np.exp(half - top), np.exp(-half - top), np.exp(theta[m] - top)
        whole = first + second + tie
        first, second, tie = first / whole, second / whole, tie / whole
        # By half the difference of the scores, and by log(nu).
        slope = (played * (first - second) - (forward - backward)) / 2
        gradient = penalty * theta
        gradient[:m] += np.bincount(low, slope, m) - np.bincount(high, slope, m)
        gradient[m] += played @ tie - ties
        curve = played * (first + second - (first - second) ** 2) / 4
        cross = -played * tie * (first - second) / 2
        hessian = np.diag(penalty)
        hessian[low, high] = hessian[high, low] = -curve
        hessian[range(m), range(m)] += np.bincount(low, curve, m) + np.bincount(high, curve, m)
        hessian[m, :m] = hessian[:m, m] = np.bincount(low, cross, m) - np.bincount(high, cross, m)
        hessian[m, m] = played @ (tie * (1 - tie))
        return gradient, hessian

    gradient, hessian = derivatives(theta)
    norm = float(np.linalg.norm(gradient))
    enough = max(_TOLERANCE * min(1.0, norm), _ROUNDING * float(played.sum()) / m)
    for _ in range(_MAX_STEPS):
        if norm <= enough:
            break
        step, length = solve(hessian, gradient, assume_a="pos"), 1.0
        # Backtracking on the gradient's norm [EW94]_: it is small at the minimum, where the
        # objective is a small difference of large sums.
        while length > _SHORTEST:
            trial = theta - length * step
            gradient, hessian = derivatives(trial)
            if float(np.linalg.norm(gradient)) <= (1 - 1e-4 * length) * norm:
                break
            length /= 2
        else:
            break
        theta, norm = trial, float(np.linalg.norm(gradient))
    return theta[:m], float(np.exp(theta[m]))


def least_squares_scores(preferences: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Minimize (22) by a dense factorization; the scores of each connected component sum to zero."""
    observed = np.where(mask, preferences, 0.0)
    omega = mask.astype(np.float64)
    laplacian = np.diag(omega.sum(axis=1)) - omega
    _, component = connected_components(mask, directed=False)
    same = component[:, None] == component[None, :]
    # The null space holds what is constant on components. Adding the projector on it makes
    # the matrix invertible and leaves the solution alone: no rank has to be guessed.
    projector = same / same.sum(axis=1)
    scores: NDArray[np.float64] = solve(laplacian + projector, observed.sum(axis=1), assume_a="pos")
    return scores
