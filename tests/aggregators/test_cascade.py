import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from minima import step_to_minimum
from selection_samples import draw_sessions, logs, selections

from rankbench.aggregators.clicks import Cascade


def likelihood(p, query):
    """Return the likelihood of section 5.2 as it is printed, for a probability of each item."""
    g = 1.0
    for shown, clicks in query:
        c = min(clicks) if clicks else len(shown)
        if c < len(shown):
            g *= p[shown[c]]
        for j in range(c):
            g *= 1 - p[shown[j]]
    return g


@given(logs(max_queries=1, max_items=4, single=True), st.lists(st.floats(0, 1), min_size=4, max_size=4))
@examples(200)
def test_no_other_probabilities_are_likelier(log, others):
    (query,), item_offsets = log
    m = int(item_offsets[-1])
    p = Cascade().from_selections(selections(query), m)
    best = likelihood(p, query)
    assert best >= likelihood(others[:m], query) * (1 - 1e-12)
    for near in (1e-3 * np.array(others[:m]) + (1 - 1e-3) * p, *(p + 1e-3 * np.eye(m)), *(p - 1e-3 * np.eye(m))):
        assert best >= likelihood(np.clip(near, 0, 1), query) * (1 - 1e-12)


def test_the_closed_form_is_the_maximum():
    rng = np.random.default_rng(3)
    truth = np.array([0.1, 0.4, 0.3, 0.6, 0.2])
    query = draw_sessions(rng, 60, 5, 3, lambda item, j: truth[item])
    found = Cascade().from_selections(selections(query), 5)
    assert np.abs(step_to_minimum(lambda x: -np.log(likelihood(x, query)), found)).max() < 1e-9


def test_the_sum_ends_where_the_list_does():
    # Looks at item 0: two, of which one selects it; at item 1: one, from the list without a click.
    log = selections([([0, 1], []), ([0, 1], [0])])
    assert Cascade().from_selections(log, 2) == pytest.approx([0.5, 0.0])


def test_of_several_clicks_the_topmost_counts():
    several, one = selections([([2, 0, 1], [2, 1])] * 3), selections([([2, 0, 1], [1])] * 3)
    assert Cascade().from_selections(several, 3) == pytest.approx(Cascade().from_selections(one, 3))


def test_the_limit_is_the_truth():
    rng = np.random.default_rng(5)
    truth = np.array([0.05, 0.5, 0.25, 0.7])
    log = selections(draw_sessions(rng, 40_000, 4, 3, lambda item, j: truth[item]))
    assert Cascade().from_selections(log, 4) == pytest.approx(truth, abs=0.015)
    # Smoothing by one look at the query's rate.
    clicks, looks = np.array([0.0, 1.0]), np.array([2.0, 1.0])
    smooth = Cascade(smoothing=1).from_selections(selections([([0, 1], [1]), ([0], [])]), 2)
    assert smooth == pytest.approx((clicks + 1 / 3) / (looks + 1))
