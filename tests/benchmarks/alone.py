"""One stochastic contender at a time, as one would write it without lockstep."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankbench.interfaces.method import Block, StepOptimizer
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.methods.erm import ERM


def plain_numpy(block: Block, contender: ERM, steps: int) -> NDArray[np.float64]:
    """Average the iterates of one contender: NumPy for sampling, scoring and gradients."""
    draw = np.random.default_rng(0)
    said, items, x = block.comparisons, block.design.offsets, block.design.x.astype(np.float64)
    surrogate, optimizer = contender.surrogate, contender.optimizer
    assert isinstance(surrogate, ScoreSurrogate)
    assert isinstance(optimizer, StepOptimizer)
    theta, total, state = np.zeros(x.shape[1]), np.zeros(x.shape[1]), np.zeros(0)
    for t in range(1, steps + 1):
        q = int(np.searchsorted(said.offsets, draw.integers(len(said)), side="right")) - 1
        first, last = said.offsets[q : q + 2]
        k = int(min(contender.k, last - first))
        chosen = first + draw.choice(last - first, size=k, replace=False)
        features = x[items[q] : items[q + 1]]
        scores = contender.aggregator.aggregate(
            said.winners[chosen], said.losers[chosen], said.weights[chosen], len(features)
        )
        _, gradient = surrogate.value_and_gradient(features @ theta, surrogate.target(scores))
        theta = optimizer.step(theta, features.T @ gradient, t, contender.penalty, state)
        total += theta
    return total / steps


@njit(nogil=True)
def leanest(
    x: NDArray[np.float64], target: NDArray[np.float64], m: int, steps: int, c: float, l2: float
) -> NDArray[np.float64]:
    """Average the composite steps (25) for regression (28): targets at hand, nothing drawn, no tile."""
    d, queries = x.shape[1], x.shape[0] // m
    theta, total = np.zeros(d), np.zeros(d)
    alpha, gradient = np.empty(m), np.empty(d)
    for t in range(1, steps + 1):
        low = (t * 7919) % queries * m  # any order of queries costs the same
        features = x[low : low + m]
        np.dot(features, theta, alpha)
        for i in range(m):
            alpha[i] = (alpha[i] - target[low + i]) / m
        np.dot(alpha, features, gradient)
        size = c / np.sqrt(t)
        for j in range(d):
            theta[j] = (theta[j] - size * gradient[j]) / (1.0 + size * l2)
            total[j] += theta[j]
    return total / steps
