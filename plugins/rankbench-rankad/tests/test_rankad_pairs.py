import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from rankbench_rankad.margins import LOSSES
from rankbench_rankad.pairs import LevelPairs, concordance


@st.composite
def problems(draw):
    n = draw(st.integers(1, 40))
    levels = draw(arrays(np.int64, n, elements=st.integers(0, draw(st.integers(0, 45)))))
    return levels, draw(arrays(np.float64, n, elements=st.floats(-4, 4, width=16)))


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=60)
@given(problem=problems())
def test_value_and_gradient_are_those_over_all_pairs(naive, name, problem):
    levels, scores = problem
    total, gradient = LevelPairs(levels).total(scores, LOSSES[name])
    expected, slopes = naive(scores, levels, LOSSES[name])
    size = 1e-10 * (1.0 + expected)
    assert total == pytest.approx(expected, rel=1e-9, abs=size)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=size)


@settings(deadline=None, max_examples=60)
@given(problem=problems())
def test_count_and_concordance_are_those_of_all_pairs(problem):
    levels, scores = problem
    above = levels[:, None] > levels[None, :]
    assert LevelPairs(levels).count == above.sum()
    if above.any():
        margins = (scores[:, None] - scores[None, :])[above]
        expected = (np.sum(margins > 0) + 0.5 * np.sum(margins == 0)) / margins.size
        assert LevelPairs(levels).concordant(scores) == pytest.approx(expected)


def test_a_point_of_the_same_level_makes_no_pair(naive):
    scores, levels = np.array([3.0, -1.0, 0.5]), np.zeros(3, dtype=np.int64)
    total, gradient = LevelPairs(levels).total(scores, LOSSES["squared-hinge"])
    assert (total, LevelPairs(levels).count) == (0.0, 0)
    assert not gradient.any()


def test_concordance_is_the_area_under_the_curve_and_kendalls_tau():
    draw = np.random.default_rng(0)
    truth, scores = draw.integers(0, 2, 300), np.round(draw.normal(size=300), 1)
    assert concordance(truth.astype(float), scores) == pytest.approx(roc_auc_score(truth, scores))
    order, others = draw.permutation(300).astype(float), draw.permutation(300).astype(float)
    assert concordance(order, others) == pytest.approx((1 + kendalltau(order, others).statistic) / 2)


def test_large_offsets_do_not_eat_the_digits(naive):
    draw = np.random.default_rng(1)
    levels, scores = draw.integers(0, 5, 200), 1e5 + draw.normal(size=200)
    total, gradient = LevelPairs(levels).total(scores, LOSSES["squared-hinge"])
    expected, slopes = naive(scores, levels, LOSSES["squared-hinge"])
    assert total == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-4)
