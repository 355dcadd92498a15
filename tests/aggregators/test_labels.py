"""Scores and graphs of labels: the formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankbench.aggregators.labels import LabelPairs, LabelScores, LimitScores
from rankbench.aggregators.rates import Borda
from rankbench.data.simulators.btl import limit_scores
from rankbench.interfaces.aggregator_calls import label_structure, sample_structure
from rankbench.interfaces.queries import Queries

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


@given(arrays(np.float64, st.integers(1, 9), elements=st.integers(0, 3)))
@examples(60)
def test_pairs_are_all_that_differ_with_equal_weights(r):
    pairs = [(i, j) for i, a in enumerate(r) for j, b in enumerate(r) if a > b]
    graph = LabelPairs().from_labels(r)
    assert graph.shape == (len(r), len(r))
    assert sorted(zip(*np.nonzero(graph), strict=True)) == pairs
    assert graph[graph > 0] == pytest.approx(1 / max(len(pairs), 1))


def test_labels_are_a_copy_of_themselves():
    r = np.array([2.0, 0.0])
    scores = LabelScores().from_labels(r)
    scores[0] = 5
    assert r.tolist() == [2.0, 0.0]
