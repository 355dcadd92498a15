"""Mean log-odds, Borda counts, win rates, budgeted scores and net weights: the formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from aggregator_samples import compiled, matrix, samples
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.aggregators.edges import AverageAdjacency, DifferenceGraph
from rankbench.aggregators.kernels.rates import parameters
from rankbench.aggregators.log_odds import MeanLogOdds
from rankbench.aggregators.rates import Borda, Budgeted, NetWeights, WinRate


@pytest.mark.parametrize("frequencies", ["counts", "joint"])
@given(sample=samples())
@examples(40)
def test_formula(frequencies, sample):
    m = sample[-1]
    w = matrix(*sample)
    if frequencies == "joint":
        w /= w.sum()
    expected = [
        sum(math.log((w[i, j] + 0.3) / (w[j, i] + 0.3)) for j in range(m) if j != i) / (m - 1) for i in range(m)
    ]
    scores = MeanLogOdds(smoothing=0.3, frequencies=frequencies).aggregate(*sample)
    assert scores == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_counts_beyond_the_table_of_logarithms():
    # One pair on both sides of the end of the table.
    size = len(parameters(0.5, joint=False)) - 2
    for forward in (size - 1, size, size + 1):
        winners = np.array([0] * forward + [1], dtype=np.int32)
        scores = compiled(MeanLogOdds(), winners, 1 - winners, np.ones(forward + 1), 2)
        assert scores[0] == pytest.approx(math.log((forward + 0.5) / 1.5), rel=1e-14)


@given(sample=samples(weighted=False))
@examples(25)
def test_balanced_pairs_cancel_exactly(sample):
    # Items that nothing tells apart must be tied to the last bit, not to 1e-16.
    winners, losers, weights, m = sample
    both = np.concatenate([winners, losers]), np.concatenate([losers, winners]), np.concatenate([weights, weights])
    assert np.all(compiled(MeanLogOdds(), *both, m) == 0)


@given(sample=samples())
@examples(40)
def test_borda_is_a_times_one(sample):
    p = matrix(*sample) / sample[2].sum()
    assert Borda().aggregate(*sample) == pytest.approx((p - p.T) @ np.ones(sample[-1]), rel=1e-9, abs=1e-12)


@given(sample=samples())
@examples(40)
def test_net_weights_are_row_sums_less_column_sums_of_the_average_graph(sample):
    expected = [
        (g := graph.aggregate(*sample)).sum(axis=1) - g.sum(axis=0) for graph in (AverageAdjacency(), DifferenceGraph())
    ]
    scores, size = NetWeights().aggregate(*sample), sample[2].sum()
    assert scores == pytest.approx(expected[0], rel=1e-9, abs=1e-12 * size)
    assert scores == pytest.approx(expected[1], rel=1e-9, abs=1e-12 * size)
    assert compiled(NetWeights(), *sample) == pytest.approx(scores, rel=1e-12, abs=1e-12 * size)
    assert scores == pytest.approx(Borda().aggregate(*sample) * size / len(sample[2]), rel=1e-9, abs=1e-12 * size)


@given(sample=samples())
@examples(40)
def test_win_rate_formula(sample):
    w = matrix(*sample)
    scores = WinRate().aggregate(*sample)
    for i in range(sample[-1]):
        won, lost = w[i].sum(), w[:, i].sum()
        expected = won / (won + lost) - 0.5 if won + lost else 0.0
        assert scores[i] == pytest.approx(expected, abs=1e-12)


def chances(w):
    """Return the conditional frequencies P(j beats l), 1/2 where nothing was observed."""
    return np.divide(w, w + w.T, out=np.full(w.shape, 0.5), where=(w + w.T) > 0)


@given(sample=samples())
@examples(40)
def test_budgeted_formula_and_its_equivalence_with_borda(sample):
    m = sample[-1]
    p = chances(matrix(*sample))
    scores = compiled(Budgeted(), *sample)
    winning = (p.sum(axis=1) - 0.5) / (m - 1)
    assert scores + 0.5 == pytest.approx(winning, abs=1e-12)
    # The paper's statement: an increasing affine function of A 1 with A = P - P^T.
    assert scores + 0.5 == pytest.approx(0.5 + (p - p.T).sum(axis=1) / (2 * (m - 1)), abs=1e-12)


@given(m=st.integers(2, 7), n=st.integers(1, 6), data=st.data())
@examples(40)
def test_budgeted_is_the_borda_count_if_all_pairs_meet_equally_often(m, n, data):
    i, j = (np.tile(side, n) for side in np.triu_indices(m, 1))
    first = np.array(data.draw(st.lists(st.booleans(), min_size=len(i), max_size=len(i))))
    sample = np.where(first, i, j).astype(np.int32), np.where(first, j, i).astype(np.int32), np.ones(len(i)), m
    assert compiled(Borda(), *sample) == pytest.approx(4 / m * compiled(Budgeted(), *sample), abs=1e-12)
    assert compiled(WinRate(), *sample) == pytest.approx(compiled(Budgeted(), *sample), abs=1e-12)


def test_budgeted_does_not_depend_on_whom_an_item_met_how_often():
    # Item 0 beat 1 once and lost to 2 once; then it beat 1 ninety-nine times more.
    few = np.array([0, 2], dtype=np.int32), np.array([1, 0], dtype=np.int32), np.ones(2), 3
    many = np.array([0, 2], dtype=np.int32), np.array([1, 0], dtype=np.int32), np.array([100.0, 1.0]), 3
    assert compiled(Budgeted(), *few) == pytest.approx([0, -0.25, 0.25])
    assert np.array_equal(compiled(Budgeted(), *few), compiled(Budgeted(), *many))
    assert compiled(WinRate(), *many)[0] > 0.4


@pytest.mark.parametrize("votes", [200, 300, 70_000])
def test_many_judgments_of_a_pair_have_the_logarithm_of_their_ratio(votes: int) -> None:
    """Beyond a table of logarithms, and beyond 16 bits; the larger item wins a third."""
    winners = (np.arange(votes) % 3 == 0).astype(np.int32)
    lost = float(winners.sum())
    lead = math.log((votes - lost + 0.5) / (lost + 0.5))
    scores = compiled(MeanLogOdds(smoothing=0.5), winners, 1 - winners, np.ones(votes), 2)
    assert scores.tolist() == pytest.approx([lead, -lead], abs=1e-12)
