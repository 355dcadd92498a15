"""Thurstone-Mosteller: (22) is least squares, with its Lipschitz bound and its limit."""

import numpy as np
import pytest
from aggregator_samples import compiled, matrix, samples
from amounts import examples
from dense_oracles import least_squares_scores
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import connected_components

from rankbench.aggregators.rates import ThurstoneMosteller


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
