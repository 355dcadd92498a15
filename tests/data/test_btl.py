"""BTL comparisons follow (26), their prefixes nest, and their limit is (27)."""

import math

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from rankbench.data.simulators.btl import draw_comparisons, limit_scores, preference_matrix, prefix
from rankbench.errors import InputError
from rankbench.interfaces.queries import Queries


def make_queries(*labels):
    rows = np.concatenate([np.asarray(r, dtype=np.float64) for r in labels]) if labels else np.zeros(0)
    offsets = np.concatenate([[0], np.cumsum([len(r) for r in labels])]).astype(np.int64)
    return Queries([f"q{i}" for i in range(len(labels))], offsets, np.zeros((len(rows), 1), np.float32), rows)


QUERIES = make_queries([0.0, 1.0, 3.0], [2.0, 2.0], [0.0, 0.5, 1.0, 1.5, 4.0])


def test_queries_pairs_and_winners_follow_the_model():
    n = 300_000
    draw = draw_comparisons(QUERIES, n, [1])
    assert stats.chisquare(np.bincount(draw.query, minlength=3)).pvalue > 1e-4
    for q in range(3):
        labels = QUERIES.labels[QUERIES.offsets[q] : QUERIES.offsets[q + 1]]
        m = len(labels)
        mine = draw.query == q
        wins = np.zeros((m, m))
        np.add.at(wins, (draw.winner[mine], draw.loser[mine]), 1)
        assert np.all(np.diag(wins) == 0)
        # All ordered cells at once: uniform pairs times (26).
        p = np.array([[1 / (1 + math.exp(b - a)) for b in labels] for a in labels])
        cells = ~np.eye(m, dtype=bool)
        expected = mine.sum() * p[cells] / (m * (m - 1) / 2)
        assert stats.chisquare(wins[cells], expected).pvalue > 1e-4


def test_draws_are_independent_of_each_other():
    # Successive judgments of one query with two equal items are fair, independent coins.
    draw = draw_comparisons(make_queries([1.0, 1.0]), 100_000, [8])
    pairs = 2 * draw.winner[::2] + draw.winner[1::2]
    assert stats.chisquare(np.bincount(pairs, minlength=4)).pvalue > 1e-4


def test_extreme_labels_do_not_overflow():
    draw = draw_comparisons(make_queries([-1e4, 1e4]), 1000, [4])
    assert np.all(draw.winner == 1)


@given(st.integers(0, 400), st.integers(0, 400))
@examples(25)
def test_prefix_groups_stably(n, extra):
    draw = draw_comparisons(QUERIES, n + extra, [5])
    shorter = draw_comparisons(QUERIES, n, [5])
    assert np.array_equal(draw.query[:n], shorter.query)
    assert np.array_equal(draw.winner[:n], shorter.winner)
    assert np.array_equal(draw.loser[:n], shorter.loser)

    comparisons = prefix(draw, n)
    assert len(comparisons) == n
    assert comparisons.winners.dtype == comparisons.losers.dtype == np.int32
    assert np.array_equal(comparisons.weights, np.ones(n))
    for q in range(3):
        rows = slice(comparisons.offsets[q], comparisons.offsets[q + 1])
        mine = draw.query[:n] == q
        assert np.array_equal(comparisons.winners[rows], draw.winner[:n][mine])
        assert np.array_equal(comparisons.losers[rows], draw.loser[:n][mine])


def test_goldens():
    draw = draw_comparisons(QUERIES, 8, [2013, 6, 2])
    assert draw.query.tolist() == [0, 0, 0, 0, 1, 2, 1, 1]
    assert draw.winner.tolist() == [1, 2, 0, 1, 0, 2, 0, 0]
    assert draw.loser.tolist() == [0, 1, 1, 0, 1, 0, 1, 1]
    assert not np.array_equal(draw.query, draw_comparisons(QUERIES, 8, [2013, 6, 3]).query)


labels = arrays(np.float64, st.integers(2, 8), elements=st.floats(-5, 5))


@given(labels)
@examples(50)
def test_preference_matrix_is_26_and_its_log_odds_average_to_27(r):
    p = preference_matrix(r)
    m = len(r)
    for i in range(m):
        for j in range(m):
            expected = 0.0 if i == j else math.exp(r[i] - r[j]) / (1 + math.exp(r[i] - r[j]))
            assert p[i, j] == pytest.approx(expected, abs=1e-15)
    off = ~np.eye(m, dtype=bool)
    log_odds = np.zeros((m, m))
    log_odds[off] = np.log(p[off] / p.T[off])
    assert log_odds.sum(axis=1) / (m - 1) == pytest.approx(limit_scores(make_queries(r)), abs=1e-12)


@pytest.mark.parametrize(
    ("queries", "n", "message"),
    [
        (QUERIES, -1, "0 or more"),
        (make_queries(), 5, "no queries"),
        (make_queries([1.0, 2.0], [3.0]), 5, r"'q1' has 1 item"),
        (make_queries([1.0, 2.0], [3.0, float("nan")]), 5, r"item 1 of query 'q1' has label nan"),
    ],
)
def test_bad_input(queries, n, message):
    with pytest.raises(InputError, match=message):
        draw_comparisons(queries, n, [0])


def test_limit_scores_bad_input():
    with pytest.raises(InputError, match="'q0' has 1 item"):
        limit_scores(make_queries([3.0]))
    assert limit_scores(make_queries()).shape == (0,)


@pytest.mark.parametrize("n", [-1, 9])
def test_prefix_out_of_range(n):
    with pytest.raises(InputError, match="of 8 comparisons"):
        prefix(draw_comparisons(QUERIES, 8, [0]), n)
