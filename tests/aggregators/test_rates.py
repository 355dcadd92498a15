"""Mean log-odds, Borda counts, win rates, budgeted scores, net weights and least squares: the formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from aggregator_samples import btl_sample, compiled, matrix, samples
from amounts import examples
from dense_oracles import least_squares_scores
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import connected_components

from rankbench.aggregators.edges import AverageAdjacency, DifferenceGraph
from rankbench.aggregators.eigenvector import Eigenvector, GeometricMean, PageRank, RankCentrality
from rankbench.aggregators.kernels.rates import parameters
from rankbench.aggregators.rates import (
    Borda,
    Budgeted,
    LimitScores,
    MeanLogOdds,
    NetWeights,
    ThurstoneMosteller,
    WinRate,
)
from rankbench.data.simulators.btl import limit_scores
from rankbench.interfaces.aggregator_calls import label_structure, sample_structure
from rankbench.interfaces.queries import Queries


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


LABELS = np.array([0.0, 0.0, 1.0, 2.0, 3.5])


def wins_against_each(labels):
    p = 1 / (1 + np.exp(labels[None, :] - labels[:, None]))
    np.fill_diagonal(p, 0)
    return p


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


def test_limit_of_budgeted_whatever_the_frequencies_of_the_pairs():
    rng = np.random.default_rng(5)
    m = len(LABELS)
    i, j = np.triu_indices(m, 1)
    pair = rng.choice(len(i), size=400_000, p=np.arange(1, len(i) + 1) / (len(i) * (len(i) + 1) / 2))
    first = rng.random(len(pair)) < 1 / (1 + np.exp(LABELS[j[pair]] - LABELS[i[pair]]))
    winners, losers = np.where(first, i[pair], j[pair]), np.where(first, j[pair], i[pair])
    limit = wins_against_each(LABELS).sum(axis=1) / (m - 1) - 0.5
    sample = winners.astype(np.int32), losers.astype(np.int32), np.ones(len(pair)), m
    fewest = len(pair) / (len(i) * (len(i) + 1) / 2)
    assert np.all(np.abs(compiled(Budgeted(), *sample) - limit) < 4.5 * 0.5 / np.sqrt((m - 1) * 0.9 * fewest))
    assert np.abs(compiled(WinRate(), *sample) - limit).max() > 0.01


@st.composite
def masked(draw):
    """Draw a skew-symmetric A and a symmetric mask, connected or not."""
    m = draw(st.integers(2, 8))
    upper = draw(arrays(np.float64, (m, m), elements=st.floats(-5, 5)))
    a = np.triu(upper, 1) - np.triu(upper, 1).T
    mask = np.triu(draw(arrays(np.bool_, (m, m))), 1)
    return a, mask | mask.T


@given(masked())
@examples(100)
def test_minimizes_22(case):
    # Least squares in its own words: one row an observed pair; lstsq has the least norm.
    a, mask = case
    m = len(a)
    rows = np.argwhere(mask)
    scores = least_squares_scores(a, mask)
    _, component = connected_components(mask, directed=False)
    assert np.abs(np.bincount(component, scores)).max() < 1e-9
    if not len(rows):
        assert np.all(scores == 0)
        return
    design = np.eye(m)[rows[:, 0]] - np.eye(m)[rows[:, 1]]
    expected = np.linalg.lstsq(design, a[mask], rcond=1e-10)[0]
    assert scores == pytest.approx(expected, abs=1e-9)


@given(sample=samples())
@examples(50)
def test_aggregates_smoothed_log_odds(sample):
    w = matrix(*sample)
    mask = (w + w.T) > 0
    expected = least_squares_scores(np.log((w + 0.2) / (w.T + 0.2)), mask)
    scores = compiled(ThurstoneMosteller(smoothing=0.2), *sample)
    assert scores == pytest.approx(expected, abs=1e-9)
    assert ThurstoneMosteller(smoothing=0.2).aggregate(*sample) == pytest.approx(expected, abs=1e-9)
    _, component = connected_components(mask, directed=False)
    assert np.abs(np.bincount(component, scores)).max() < 1e-9


@pytest.mark.parametrize("reverse", [False, True])
def test_a_long_path_is_solved_exactly(reverse):
    # The worst-conditioned graph: scores are partial sums of the log-odds along the path.
    m = 150
    rng = np.random.default_rng(3)
    items = rng.permutation(m) if reverse else np.arange(m)
    weights = rng.uniform(0.5, 20, size=m - 1)
    steps = np.log((weights + 0.5) / 0.5)
    expected = np.concatenate([[0.0], -np.cumsum(steps)])
    scores = compiled(ThurstoneMosteller(), items[:-1].astype(np.int32), items[1:].astype(np.int32), weights, m)
    assert scores[items] == pytest.approx(expected - expected.mean(), rel=1e-9, abs=1e-9)


labels = arrays(np.float64, st.integers(2, 9), elements=st.floats(-5, 5))


@given(labels, st.floats(-3, 3))
@examples(60)
def test_formula_and_shift_invariance(r, shift):
    expected = [
        sum(math.log1p(math.exp(a - b)) - math.log1p(math.exp(b - a)) for j, b in enumerate(r) if j != i) / (len(r) - 1)
        for i, a in enumerate(r)
    ]
    scores = LimitScores().from_labels(r)
    assert scores == pytest.approx(expected, abs=1e-12)
    assert LimitScores().from_labels(r + shift) == pytest.approx(scores, abs=1e-11)
    assert abs(scores.sum()) < 1e-11
    queries = Queries(["q"], np.array([0, len(r)]), np.zeros((len(r), 1), np.float32), r)
    assert limit_scores(queries) == pytest.approx(scores, abs=1e-12)


def test_truth_and_judgments_are_not_confused():
    one = np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32), np.ones(1), 2
    assert LimitScores.needs_truth
    with pytest.raises(TypeError, match="works on labels"):
        sample_structure(LimitScores(), *one)
    with pytest.raises(TypeError, match="works on comparisons"):
        label_structure(Borda(), np.zeros(2))


def test_one_item_alone_has_score_zero():
    with np.errstate(all="raise"):
        assert LimitScores().from_labels(np.array([3.0])).tolist() == [0.0]


GRADES = np.array([0.0, 0.0, 1.0, 2.0, 3.5])
K, M, C = 400_000, len(GRADES), 0.01
PAIRS = M * (M - 1) / 2
P = 1 / (1 + np.exp(GRADES[None, :] - GRADES[:, None]))
np.fill_diagonal(P, 0)
# A pair is seen K / PAIRS times; by the delta method its log-odds have the variance 1 / (n p (1 - p)).
WITHIN = np.sqrt(np.divide(PAIRS, K * P * (1 - P), out=np.zeros((M, M)), where=P > 0).sum(axis=1))
CENTERED, CHANCES = GRADES - GRADES.mean(), np.exp(GRADES)
JOINT = np.log((P / PAIRS + C) / (P.T / PAIRS + C)).sum(axis=1) / (M - 1)


@pytest.mark.parametrize(
    ("aggregator", "limit", "error"),
    [
        # A judgment adds 1, -1 or 0; an item takes part in a share 2 / m of them.
        (Borda(), (P - P.T).sum(axis=1) / PAIRS, np.sqrt(2 / M / K)),
        (WinRate(), P.sum(axis=1) / (M - 1) - 0.5, 0.5 / np.sqrt(0.98 * K * 2 / M)),
        (AverageAdjacency(), P / PAIRS, np.sqrt(P / PAIRS / K)),
        (DifferenceGraph(), np.maximum(P - P.T, 0) / PAIRS, 1 / np.sqrt(K)),
        (MeanLogOdds(), LimitScores().from_labels(GRADES), WITHIN / (M - 1)),
        # |d log(p + c)| <= 1 / c times a frequency's standard error, over 2 (m - 1) frequencies.
        (MeanLogOdds(frequencies="joint", smoothing=C), JOINT, np.sqrt(2 * P.max() / PAIRS / K / (M - 1)) / C),
        (ThurstoneMosteller(), CENTERED, WITHIN / M),
        (RankCentrality(scale="log"), CENTERED, 0.01),
        (PageRank(damping=0.999), CHANCES * P.sum(axis=0) / np.mean(CHANCES * P.sum(axis=0)), 0.01),
        (Eigenvector(), CHANCES / CHANCES.mean(), 0.014 * CHANCES / CHANCES.mean()),
        (GeometricMean(), CHANCES / CHANCES.mean(), 0.014 * CHANCES / CHANCES.mean()),
    ],
    ids=str,
)
def test_the_limit_is_that_of_the_formula(aggregator, limit, error):
    found = compiled(aggregator, *btl_sample(GRADES, K, 1))
    assert np.all(np.abs(found - limit) <= 4.5 * error)


def test_the_limit_of_joint_frequencies_is_not_27():
    assert np.abs(JOINT - LimitScores().from_labels(GRADES)).max() > 0.2
