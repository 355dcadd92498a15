"""Queries of two items, as many as asked for: what losses, aggregators and optimizers make of them, by formula.

With two items everything has a formula in vectors: the win rate is the share of votes won less one half, the quadratic
risk is least squares, the pairwise logistic one is a logistic regression of votes, and a loss is one of two numbers.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from numpy.typing import NDArray

from rankbench.interfaces.method import Block, Fitted
from rankbench.interfaces.queries import Comparisons, Queries

RIDGE = 1e-3
LEAST_SQUARES = f"erm:aggregator=win-rate,surrogate=regression(normalize=false,gain=identity),lambda={RIDGE}"
LOGISTIC = f"erm:aggregator=average-adjacency,surrogate=pairwise-logistic,lambda={RIDGE},optimizer="
DRAWS = 200_000
SPECS = (LEAST_SQUARES, f"{LOGISTIC}newton", f"{LOGISTIC}lbfgs", f"{LOGISTIC}composite(c=0.2),draws={DRAWS}")


@dataclass(frozen=True)
class Pairs:
    """Queries of two items with four features, and three votes a query on average.

    Attributes
    ----------
    x : ndarray of float32, shape (Q, 2, d)
    labels : ndarray of float64, shape (Q, 2)
        0 and 1, or 0 and 3, in any order.
    won, lost : ndarray of int64, shape (Q,)
        Votes for the first item, and for the second one.
    """

    x: NDArray[np.float32]
    labels: NDArray[np.float64]
    won: NDArray[np.int64]
    lost: NDArray[np.int64]

    @classmethod
    def drawn(cls, queries: int) -> Pairs:
        rng = np.random.default_rng(20130501)
        x = rng.normal(size=(queries, 2, 4)).astype(np.float32)
        first = rng.random(queries) < 0.5
        labels = np.stack([first, ~first], axis=1) * rng.choice([1.0, 3.0], (queries, 1))
        votes = rng.poisson(3, queries)
        won = rng.binomial(votes, 1 / (1 + np.exp(x[:, 1, 0] - x[:, 0, 0])))
        return cls(x, labels, won, votes - won)

    @property
    def block(self) -> Block:
        queries, votes = len(self.x), self.won + self.lost
        first = np.repeat(np.resize([True, False], 2 * queries), np.stack([self.won, self.lost], axis=1).ravel())
        winners = np.where(first, 0, 1).astype(np.int32)
        said = Comparisons(np.concatenate([[0], np.cumsum(votes)]), winners, 1 - winners, np.ones(len(winners)))
        offsets = np.arange(0, 2 * queries + 1, 2)
        design = Queries([f"q{q}" for q in range(queries)], offsets, self.x.reshape(-1, 4), self.labels.ravel())
        return Block(design, said, len(winners), 0, (1, 2))

    @property
    def n(self) -> int:
        return int(self.won.sum() + self.lost.sum())

    @cached_property
    def difference(self) -> NDArray[np.float64]:
        """Features of the first item less those of the second, shape (Q, d)."""
        return self.x[:, 0].astype(np.float64) - self.x[:, 1]

    def least_squares(self) -> NDArray[np.float64]:
        """Return the minimizer of the mean over votes of half the mean squared distance to the win rates."""
        votes = self.won + self.lost
        weight = votes / (2 * self.n)
        rate = np.where(votes, self.won / np.maximum(votes, 1) - 0.5, 0)
        x = self.x.astype(np.float64)
        gram = np.einsum("q,qjd,qje->de", weight, x, x, optimize=True) + RIDGE * np.eye(x.shape[2])
        return np.linalg.solve(gram, (weight * rate) @ self.difference)

    def risk(self, theta: NDArray[np.float64]) -> float:
        """Return the ridge-penalized mean over votes of log(1 + exp(-margin))."""
        margin = self.difference @ theta
        said = self.won @ np.logaddexp(0, -margin) + self.lost @ np.logaddexp(0, margin)
        return float(said / self.n + RIDGE / 2 * theta @ theta)

    def logistic(self) -> NDArray[np.float64]:
        """Return its minimizer, by Newton's method."""
        theta = np.zeros(self.x.shape[2])
        for _ in range(30):
            chance = 1 / (1 + np.exp(-self.difference @ theta))
            votes = self.won + self.lost
            slope = (votes * chance - self.won) @ self.difference / self.n + RIDGE * theta
            bend = self.difference.T * (votes * chance * (1 - chance)) @ self.difference / self.n
            theta = theta - np.linalg.solve(bend + RIDGE * np.eye(len(theta)), slope)
        return theta


def fitted(pairs: Pairs) -> dict[str, Fitted]:
    from rankbench.methods.erm import ERM
    from rankbench.methods.erm.fit import fit_composed
    from rankbench.plugin.manager import get

    outcomes = fit_composed(pairs.block, {spec: get(ERM, spec) for spec in SPECS})
    found = {spec: outcome for spec, outcome in outcomes.items() if isinstance(outcome, Fitted)}
    assert found.keys() == outcomes.keys(), outcomes
    return found


def thetas_are_right(pairs: Pairs) -> None:
    """Minimizers to 1e-6; what 200,000 steps came to, to 1e-3 of the risk."""
    found = fitted(pairs)
    best = pairs.logistic()
    for spec, expected in ((SPECS[0], pairs.least_squares()), (SPECS[1], best), (SPECS[2], best)):
        assert found[spec].theta == pytest.approx(expected, abs=1e-6), spec
    theta = found[SPECS[3]].theta
    assert theta is not None
    least = pairs.risk(best)
    assert least <= pairs.risk(theta) <= least * (1 + 1e-3)


def losses_are_right(pairs: Pairs) -> None:
    """Every query's loss, to 1e-15: that of the right order, or that of the wrong one."""
    from rankbench.losses.evaluate import evaluate, evaluate_all
    from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
    from rankbench.losses.positions import NDCG, Precision

    rng = np.random.default_rng(1)
    alpha = rng.normal(size=(2, 2 * len(pairs.x)))
    offsets = np.arange(0, alpha.shape[1] + 1, 2)
    truth = pairs.labels[:, 0] - pairs.labels[:, 1]
    wrong = (alpha[:, ::2] - alpha[:, 1::2]) * truth < 0
    losses = {NDCG(): wrong * (1 - 1 / np.log2(3)), Precision(k=1): wrong * 1.0}
    found = evaluate_all(list(losses), alpha, pairs.labels.ravel(), offsets)
    for values, expected in zip(found, losses.values(), strict=True):
        assert np.abs(values - expected).max() <= 1e-15
    edges = np.zeros((len(truth), 2, 2))
    edges[:, 0, 1], edges[:, 1, 0] = np.maximum(truth, 0), np.maximum(-truth, 0)
    found = evaluate(PairwiseDisagreement(), alpha, lambda q: edges[q], offsets)
    assert np.abs(found - wrong * np.abs(truth)).max() <= 1e-15


if __name__ == "__main__":
    from test_fuzzed_files import peak_memory

    before = peak_memory()
    pairs = Pairs.drawn(int(sys.argv[1]))
    thetas_are_right(pairs)
    losses_are_right(pairs)
    print(json.dumps({"queries": len(pairs.x), "votes": pairs.n, "bytes at first": before, "bytes": peak_memory()}))
