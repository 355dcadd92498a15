import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.losses.ndcg import Precision


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=30), st.integers(1, 12), st.integers(0, 2**32 - 1))
@examples(60)
def test_binary_labels_count_the_relevant_items_at_the_top(labels, k, seed):
    s = np.array(labels)
    alpha = np.random.default_rng(seed).permutation(len(s)).astype(float)
    hits = sum(s[i] for i in sorted(range(len(s)), key=lambda i: -alpha[i])[:k])
    possible = min(k, int(s.sum()))
    expected = 1 - hits / possible if possible else 0.0
    assert Precision(k=k).value(alpha, s) == pytest.approx(expected)
    kernel = Precision(k=k).kernel()
    work = np.zeros(kernel.work(len(s)))
    assert kernel.function(alpha, s, kernel.params, work) == pytest.approx(expected)


def test_ties_share_the_places_that_are_left():
    # Three items tie for the second of two places; one of the three is relevant.
    alpha, s = np.array([5.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.0])
    assert Precision(k=2).value(alpha, s) == pytest.approx(1 - (1 + 1 / 3) / 2)
