import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from scipy.optimize import minimize
from selection_samples import draw_sessions, logs, selections

from rankbench.aggregators import Cascade


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


@given(logs(max_queries=1, max_items=4, single=True))
@examples(40)
def test_no_other_probabilities_are_likelier(log):
    (query,), item_offsets = log
    m = int(item_offsets[-1])
    p = Cascade().from_selections(selections(query), m)
    start = np.full(m, 0.5)
    found = minimize(
        lambda x: -np.log(max(likelihood(x, query), 1e-300)), start, bounds=[(1e-9, 1 - 1e-9)] * m, method="L-BFGS-B"
    )
    assert -np.log(likelihood(p, query)) <= found.fun + 1e-8


def test_the_closed_form_is_the_numerical_maximum():
    rng = np.random.default_rng(3)
    truth = np.array([0.1, 0.4, 0.3, 0.6, 0.2])
    query = draw_sessions(rng, 60, 5, 3, lambda item, j: truth[item])
    found = minimize(lambda x: -np.log(likelihood(x, query)), np.full(5, 0.5), bounds=[(1e-6, 1 - 1e-6)] * 5, tol=1e-14)
    assert Cascade().from_selections(selections(query), 5) == pytest.approx(found.x, abs=1e-5)


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
