"""Scores that are zero in exact arithmetic make no targets, whoever computes them."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import examples
from enumeration import contender, fitted
from hypothesis import given
from hypothesis import strategies as st

from rankbench.interfaces.aggregator import ComparisonAggregator
from rankbench.interfaces.method import Block
from rankbench.interfaces.queries import Comparisons, Queries
from rankbench.methods.erm import ERM
from rankbench.methods.erm import fit as composed
from rankbench.surrogates.order_preserving import OrderPreserving
from rankbench.surrogates.regression import Regression

CYCLE = ([0, 1, 2], [1, 2, 0])
SPECS = [
    "erm:aggregator=kemeny",
    "erm:aggregator=eigenvector(scale=log),surrogate=regression(gain=identity)",
    "erm:aggregator=rank-centrality(scale=log),surrogate=regression(gain=identity)",
    "erm:aggregator=net-weights,surrogate=regression(gain=identity)",
    "erm:aggregator=kemeny,surrogate=order-preserving,optimizer=newton",
    "erm:aggregator=kemeny,surrogate=cross-entropy,optimizer=newton",
    "erm:aggregator=limit-scores,surrogate=regression(gain=identity)",
    "erm:aggregator=kemeny,optimizer=composite,draws=50",
]


class Third(ComparisonAggregator):
    """Wins less losses in thirds, added up one after the other: a cycle leaves rounding."""

    name = "third"
    source = "test"

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        scores = np.zeros(m)
        for winner, loser, weight in zip(winners, losers, weights, strict=True):
            for part in (0.1, 0.2):
                scores[winner] += part * weight
            scores[loser] -= 0.3 * weight
        return scores


def judged(winners: list[int], losers: list[int], weight: float = 1.0, labels: float = 0.1) -> Block:
    """Make a block of one query with three items, and features that tell items apart."""
    x = np.array([[1.0, 0.0], [0.5, 1.0], [-0.25, 2.0]], dtype=np.float32)
    queries = Queries(["q"], np.array([0, 3]), x, np.full(3, labels))
    said = Comparisons(
        np.array([0, len(winners)]), np.array(winners, np.int32), np.array(losers, np.int32),
        np.full(len(winners), weight),
    )  # fmt: skip
    return Block(queries, said, len(winners), 0, (1, 2, 3))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("spec", SPECS)
def test_a_cycle_says_nothing(spec: str) -> None:
    for repeats in (1, 3):
        block = judged(CYCLE[0] * repeats, CYCLE[1] * repeats, 0.1)
        assert not fitted(block, contender(spec)).theta.any()


def test_a_plugins_rounding_makes_no_target() -> None:
    scores = Third().aggregate(np.array(CYCLE[0], np.int32), np.array(CYCLE[1], np.int32), np.full(3, 0.7), 3)
    assert scores.any()
    for surrogate in (Regression(gain="identity"), Regression(), OrderPreserving()):
        method = ERM(aggregator=Third(), surrogate=surrogate, optimizer="newton")
        assert not fitted(judged(*CYCLE, 0.7), method).theta.any()
    assert fitted(judged(*CYCLE, 0.7), ERM(aggregator=Third(), k=2, draws=50)).theta.any()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("aggregator", ["net-weights", "borda"])
def test_the_unit_of_weights_does_not_matter(aggregator: str) -> None:
    """Small scores are not rounding because they are small: weights of 2^-60 are as good as 1."""
    method = contender(f"erm:aggregator={aggregator},surrogate=regression(gain=identity)")
    wanted = fitted(judged([0, 1, 0], [1, 2, 2]), method).theta
    assert wanted.any()
    for weight in (2.0**-60, 2.0**60):
        np.testing.assert_array_equal(fitted(judged([0, 1, 0], [1, 2, 2], weight), method).theta, wanted)
        assert not fitted(judged(*CYCLE, 0.1 * weight), method).theta.any()


def test_a_normalizer_that_is_rounding_divides_nothing() -> None:
    """The best score is 0 up to rounding, and with cutoff=1 it is all of Z(s)."""
    scores = np.array([1e-16, -1.0, -2.0])
    surrogate = Regression(gain="identity", cutoff=1)
    assert not surrogate.target(scores).any()
    kernel = surrogate.target_kernel()
    out = np.ones(3)
    kernel.function(scores, kernel.params, np.zeros(kernel.work(3)), out)
    assert not out.any()


@given(
    pairs=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 2)), min_size=1, max_size=9),
    order=st.permutations(range(3)),
    aggregator=st.sampled_from(["kemeny", "net-weights", "borda", "eigenvector(scale=log)", "mean-log-odds"]),
)
@examples(40)
def test_items_of_other_numbers_get_the_same_targets(
    pairs: list[tuple[int, int]], order: list[int], aggregator: str
) -> None:
    winners = [i for i, _ in pairs]
    losers = [(i + step) % 3 for i, step in pairs]
    found = []
    for name in (list(range(3)), order):
        block = judged([name[i] for i in winners], [name[i] for i in losers], 0.1)
        fits = composed._Fits(block, {"": contender(f"erm:aggregator={aggregator}")}, 10, True)
        found.append(fits.complete[0])
    np.testing.assert_allclose(found[1][np.array(order)], found[0], atol=1e-9)
