"""Full gradients of risks, against the same sums by NumPy over every comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from turns import against

from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.optimizers.problems import PairwiseProblem
from rankbench.optimizers.score_problem import ScoreProblem
from rankbench.plugin.manager import get

QUERIES, M, D, N = 200, 50, 64, 100_000
OFFSETS = np.arange(QUERIES + 1) * M


def judged() -> tuple[np.ndarray, Comparisons]:
    rng = np.random.default_rng(0)
    winners = rng.integers(0, M, N)
    losers = (winners + rng.integers(1, M, N)) % M
    ends = np.linspace(0, N, QUERIES + 1).astype(np.int64)
    said = Comparisons(ends, winners.astype(np.int32), losers.astype(np.int32), np.ones(N))
    return rng.normal(size=(QUERIES * M, D)), said


def test_gradient_of_a_pairwise_surrogate(benchmark: Any) -> None:
    x, said = judged()
    theta = np.random.default_rng(1).normal(size=D) / 10
    problem = PairwiseProblem(x, OFFSETS, said, get(PairwiseSurrogate, "pairwise-logistic"))
    base = np.repeat(OFFSETS[:-1], said.counts)
    rows = x[base + said.winners] - x[base + said.losers]

    def numpy() -> tuple[float, np.ndarray]:
        margin = rows @ theta
        return float(np.logaddexp(0, -margin).mean()), -(expit(-margin) @ rows) / N

    value, gradient = problem.value_and_gradient(theta)
    expected, slope = numpy()
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=1e-7, atol=1e-10)
    against(benchmark, lambda: problem.value_and_gradient(theta), numpy, "NumPy", at_least=1.0)


def test_gradient_of_a_score_surrogate(benchmark: Any) -> None:
    """Of (28), query by query; NumPy has all queries as one array, which it may since they are equally long."""
    x, _ = judged()
    rng = np.random.default_rng(2)
    theta, target = rng.normal(size=D) / 10, rng.normal(size=len(x))
    shares = np.full(QUERIES, 1 / QUERIES)
    problem = ScoreProblem(x, OFFSETS, target.copy(), shares, get(ScoreSurrogate, "regression"))

    def numpy() -> tuple[float, np.ndarray]:
        gap = x @ theta - target
        return float(gap @ gap) / (2 * len(gap)), gap @ x / len(gap)

    _, gradient = problem.value_and_gradient(theta)
    np.testing.assert_allclose(gradient, numpy()[1], rtol=1e-8, atol=1e-12)
    against(benchmark, lambda: problem.value_and_gradient(theta), numpy, "NumPy, queries of one length")
