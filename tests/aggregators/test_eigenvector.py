"""Perron vectors, geometric means, Rank Centrality and PageRank: definitions, exact fractions, choix, extremes."""

from __future__ import annotations

from fractions import Fraction

import choix
import numpy as np
import pytest
from aggregator_samples import btl_sample, compiled, least_squares_scores, matrix, samples
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from rankbench.aggregators.eigenvector import Eigenvector, GeometricMean, PageRank, RankCentrality
from rankbench.aggregators.log_odds import MeanLogOdds


def ratios(w, c=0.5):
    return (w + c) / (w.T + c)


@given(sample=samples())
@examples(60)
def test_perron_vector_of_the_reciprocal_matrix(sample):
    a = ratios(matrix(*sample))
    largest = np.linalg.eigvals(a).real.max()
    for scores in (compiled(Eigenvector(), *sample), Eigenvector().aggregate(*sample)):
        assert np.all(scores > 0)
        assert scores.sum() == pytest.approx(sample[-1], rel=1e-12)
        assert a @ scores == pytest.approx(largest * scores, rel=1e-9)


@given(sample=samples())
@examples(40)
def test_geometric_means_of_the_rows(sample):
    w = matrix(*sample)
    for frequencies, a in (("counts", ratios(w)), ("joint", ratios(w / w.sum()))):
        means = a.prod(axis=1) ** (1 / len(a))
        scores = compiled(GeometricMean(frequencies=frequencies), *sample)
        assert scores == pytest.approx(means / means.mean(), rel=1e-9)


@given(sample=samples())
@examples(40)
def test_geometric_means_are_log_least_squares_over_all_pairs(sample):
    m = sample[-1]
    expected = least_squares_scores(np.log(ratios(matrix(*sample))), np.ones((m, m), dtype=bool))
    assert compiled(GeometricMean(scale="log"), *sample) == pytest.approx(expected, abs=1e-9)
    mean_log_odds = compiled(MeanLogOdds(), *sample)
    assert compiled(GeometricMean(scale="log"), *sample) == pytest.approx((m - 1) / m * mean_log_odds, abs=1e-12)


@given(sample=samples(max_items=3))
@examples(60)
def test_up_to_three_items_the_two_agree(sample):
    for scale in ("ratio", "log"):
        expected = compiled(GeometricMean(scale=scale), *sample)
        assert compiled(Eigenvector(scale=scale), *sample) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.lists(st.integers(-8, 8), min_size=2, max_size=8))
@examples(40)
def test_consistent_ratios_are_recovered(exponents):
    # Weights x - c and 1 / x - c have the ratio x^2 after smoothing; c is small enough to allow it.
    v = 1.2 ** np.array(exponents)
    i, j = np.nonzero(~np.eye(len(v), dtype=bool))
    weights = np.sqrt(v[i] / v[j]) - 0.1
    sample = i.astype(np.int32), j.astype(np.int32), weights, len(v)
    for aggregator in (Eigenvector, GeometricMean):
        assert compiled(aggregator(smoothing=0.1), *sample) == pytest.approx(v / v.mean(), rel=1e-10)


@given(sample=samples())
@examples(25)
def test_the_log_scale_is_the_logarithm_of_the_ratio_scale(sample):
    for aggregator in (Eigenvector, GeometricMean):
        logs = np.log(compiled(aggregator(), *sample))
        assert compiled(aggregator(scale="log"), *sample) == pytest.approx(logs - logs.mean(), abs=1e-9)


@pytest.mark.parametrize("aggregator", [Eigenvector, GeometricMean])
def test_items_without_judgments(aggregator):
    # Three items that nobody judged are alike; one that beats another stands above them.
    sample = np.array([1], dtype=np.int32), np.array([3], dtype=np.int32), np.ones(1), 5
    scores = compiled(aggregator(scale="log"), *sample)
    assert np.ptp(scores[[0, 2, 4]]) < 1e-12
    assert scores[1] > scores[0] > scores[3]


@pytest.mark.parametrize("weight", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("length", [3, 4, 9])
def test_cycles_are_ties(weight, length):
    # The hardest case of power iteration: the other eigenvalues are nearly as large.
    winners = np.arange(length, dtype=np.int32)
    sample = winners, np.roll(winners, -1), np.full(length, weight), length
    assert compiled(Eigenvector(), *sample) == pytest.approx(np.ones(length), abs=1e-9)


def test_two_cycles_that_hardly_meet():
    rng = np.random.default_rng(0)
    cycle = np.arange(3, dtype=np.int32)
    winners, losers = np.concatenate([cycle, cycle + 3, [0]]), np.concatenate([np.roll(cycle, -1), cycle + 3, [4]])
    losers[3:6] = np.roll(cycle, -1) + 3
    sample = winners.astype(np.int32), losers.astype(np.int32), rng.uniform(1e3, 2e3, 7), 6
    a = ratios(matrix(*sample))
    scores = compiled(Eigenvector(), *sample)
    assert a @ scores == pytest.approx(np.linalg.eigvals(a).real.max() * scores, rel=1e-9)
    assert scores == pytest.approx(Eigenvector().aggregate(*sample), rel=1e-8)


def exactly(a, b):
    """Solve a x = b in fractions, by Gauss and Jordan; lists of lists and lists."""
    n = len(b)
    rows = [[*row, side] for row, side in zip(a, b, strict=True)]
    for c in range(n):
        pivot = next(r for r in range(c, n) if rows[r][c] != 0)
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [x / rows[c][c] for x in rows[c]]
        for r in range(n):
            if r != c:
                rows[r] = [x - rows[r][c] * y for x, y in zip(rows[r], rows[c], strict=True)]
    return [row[n] for row in rows]


def stationary(w, c):
    """Return the distribution of each component, with mean 1, from its definition, in fractions."""
    m = len(w)
    w, c = [[Fraction(x) for x in row] for row in w.tolist()], Fraction(c)
    rates = [
        [(w[j][i] + c) / (w[i][j] + w[j][i] + 2 * c) if w[i][j] + w[j][i] else Fraction(0) for j in range(m)]
        for i in range(m)
    ]
    adjacency = np.array([[rate > 0 for rate in row] for row in rates])
    _, component = connected_components(adjacency, directed=False)
    result = [Fraction(0)] * m
    for label in set(component.tolist()):
        items = np.flatnonzero(component == label).tolist()
        balance = [
            [-sum(rates[i]) if i == j else rates[j][i] for j in items] for i in items[1:]
        ]  # what flows in less what flows out
        normalized = exactly(
            [[Fraction(1)] * len(items), *balance], [Fraction(len(items))] + [Fraction(0)] * len(items[1:])
        )
        for i, share in zip(items, normalized, strict=True):
            result[i] = share
    return result


@given(sample=samples(max_items=7, max_judgments=16))
@examples(60)
def test_rank_centrality_in_fractions(sample):
    expected = stationary(matrix(*sample), 0.5)
    # However small, every score is accurate relative to itself.
    for scores in (compiled(RankCentrality(), *sample), RankCentrality().aggregate(*sample)):
        for score, share in zip(scores, expected, strict=True):
            assert score == pytest.approx(float(share), rel=1e-10)


def test_choix_finds_the_same_if_all_pairs_were_compared():
    winners, losers, weights, m = btl_sample(np.linspace(0, 2, 7), 500, 1)
    assert np.all(matrix(winners, losers, weights, m) + np.eye(m) + matrix(losers, winners, weights, m) > 0)
    data = list(zip(winners.tolist(), losers.tolist(), strict=True))
    for alpha in (0.5, 3.0):
        expected = choix.rank_centrality(m, data, alpha=alpha)
        scores = compiled(RankCentrality(smoothing=alpha, scale="log"), winners, losers, weights, m)
        assert scores == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_path_multiplies_the_odds_of_its_steps(reverse):
    # Detailed balance: s_i / s_{i+1} = (w + c) / c on a path of one-sided pairs; 1e230 in all.
    m = 150
    rng = np.random.default_rng(3)
    items = rng.permutation(m) if reverse else np.arange(m)
    weights = rng.uniform(10, 30, size=m - 1)
    expected = -np.concatenate([[0.0], np.cumsum(np.log((weights + 0.5) / 0.5))])
    sample = items[:-1].astype(np.int32), items[1:].astype(np.int32), weights, m
    scores = compiled(RankCentrality(scale="log"), *sample)
    assert scores[items] == pytest.approx(expected - expected.mean(), rel=1e-10)
    assert RankCentrality(scale="log").aggregate(*sample) == pytest.approx(scores, rel=1e-10)


def test_rates_that_underflow_cut_nothing():
    # 1e600 in all is beyond any float, on either scale it must stay finite, and in order.
    m = 120
    items = np.random.default_rng(4).permutation(m).astype(np.int32)
    sample = items[:-1].copy(), items[1:].copy(), np.full(m - 1, 5e4), m
    for scores in (compiled(RankCentrality(), *sample), compiled(RankCentrality(scale="log"), *sample)):
        assert np.isfinite(scores).all()
        assert np.argmax(scores) == items[0]
    assert scores.sum() == pytest.approx(0, abs=1e-6)


def page_rank(w, d):
    """Return PageRank from its definition, in fractions, with mean 1."""
    m, d = len(w), Fraction(d)
    w = [[Fraction(x) for x in row] for row in w.tolist()]
    lost = [sum(w[i][j] for i in range(m)) for j in range(m)]
    walk = [[w[i][j] / lost[j] if lost[j] else Fraction(1, m) for j in range(m)] for i in range(m)]
    return exactly([[(i == j) - d * walk[i][j] for j in range(m)] for i in range(m)], [1 - d] * m)


@given(sample=samples(max_items=7, max_judgments=16))
@examples(60)
def test_pagerank_in_fractions(sample):
    for damping in (0.85, 0.5):
        expected = [float(share) for share in page_rank(matrix(*sample), damping)]
        for scores in (compiled(PageRank(damping=damping), *sample), PageRank(damping=damping).aggregate(*sample)):
            assert scores == pytest.approx(expected, rel=1e-12)
        winners, losers, _, m = sample
        unjudged = np.isin(np.arange(m), np.concatenate([winners, losers]), invert=True)
        assert np.all(scores[unjudged] <= scores.min() * (1 + 1e-12))


@pytest.mark.parametrize("damping", [0.9, 0.99, 0.999])
def test_pagerank_of_a_periodic_walk(damping):
    # A walk around a cycle, with one extra loss, never mixes but for the damping.
    m = 40
    winners = np.append(np.arange(m), 7).astype(np.int32)
    losers = np.append((np.arange(m) + 1) % m, 0).astype(np.int32)
    sample = winners, losers, np.ones(m + 1), m
    assert compiled(PageRank(damping=damping), *sample) == pytest.approx(
        PageRank(damping=damping).aggregate(*sample), rel=1e-10
    )
