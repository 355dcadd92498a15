"""Aggregators of clicks: laws of all, the closed form of the cascade, baselines by hand, maxima of likelihoods."""

from __future__ import annotations

import numpy as np
import pytest
from aggregator_samples import draw_sessions, logs, selections
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from minima import step_to_minimum
from scipy.stats import spearmanr

from rankbench.aggregators.clicks import COEC, Cascade, ClickThroughRate, PositionDebiased
from rankbench.interfaces.aggregator_calls import sample_structure
from rankbench.interfaces.click_aggregator import ClickModel


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


def test_the_sum_ends_where_the_list_does():
    # Looks at item 0: two, of which one selects it; at item 1: one, from the list without a click.
    log = selections([([0, 1], []), ([0, 1], [0])])
    assert Cascade().from_selections(log, 2) == pytest.approx([0.5, 0.0])


def test_of_several_clicks_the_topmost_counts():
    several, one = selections([([2, 0, 1], [2, 1])] * 3), selections([([2, 0, 1], [1])] * 3)
    assert Cascade().from_selections(several, 3) == pytest.approx(Cascade().from_selections(one, 3))


def test_smoothing_is_one_look_at_the_rate_of_the_query():
    clicks, looks = np.array([0.0, 1.0]), np.array([2.0, 1.0])
    smooth = Cascade(smoothing=1).from_selections(selections([([0, 1], [1]), ([0], [])]), 2)
    assert smooth == pytest.approx((clicks + 1 / 3) / (looks + 1))


EXAMINATION = np.array([1.0, 0.6, 0.4, 0.25])
ATTRACTION = np.array([0.1, 0.6, 0.3, 0.8, 0.45])


def position_based(n, seed):
    rng = np.random.default_rng(seed)
    return draw_sessions(rng, n, 5, 4, lambda item, j: ATTRACTION[item] * EXAMINATION[j], stops=False)


def test_click_through_rate_is_clicks_over_lists():
    log = selections([([0, 1, 2], [0, 2]), ([2, 0], [0]), ([1, 0], [])])
    assert ClickThroughRate().from_selections(log, 3) == pytest.approx([1 / 3, 0, 1])


def test_coec_by_hand():
    # Position rates: 2 of 3, 0 of 3, 1 of 1.
    log = selections([([0, 1, 2], [0, 2]), ([2, 0], [0]), ([1, 0], [])])
    model = COEC().fit(log, np.array([0, 3]))
    assert model.examination == pytest.approx([2 / 3, 0, 1])
    assert model.scores == pytest.approx([1 / (2 / 3), 0, 2 / (1 + 2 / 3)])


def test_coec_of_all_items_is_one_weighted_by_expected_clicks():
    log = selections(position_based(500, 1))
    scores = COEC().from_selections(log, 5)
    rates = COEC().fit(log, np.array([0, 5])).examination
    positions = np.arange(len(log.items)) % 4
    expected = np.bincount(log.items, rates[positions])
    assert scores @ expected == pytest.approx(expected.sum())


def test_position_rates_are_common_to_all_queries():
    a, b = position_based(300, 2), position_based(300, 3)
    both = COEC().fit(selections(a, b), np.array([0, 5, 10]))
    hits = np.array([sum(j in clicks for _, clicks in a + b) for j in range(4)]) / 600
    assert both.examination == pytest.approx(hits)


def test_position_debiased_maximizes_its_likelihood():
    query = position_based(400, 4)
    shows, clicks = np.zeros((5, 4)), np.zeros((5, 4))
    for shown, clicked in query:
        for j, item in enumerate(shown):
            shows[item, j] += 1
            clicks[item, j] += j in clicked

    def loss(x):
        rate = np.outer(x[:5], [1.0, *x[5:]])
        return -np.sum(clicks * np.log(rate) + (shows - clicks) * np.log(1 - rate))

    model = PositionDebiased(iterations=20_000, tolerance=1e-10).fit(selections(query), np.array([0, 5]))
    assert model.examination[0] == 1
    assert np.abs(step_to_minimum(loss, np.concatenate([model.scores, model.examination[1:]]))).max() < 1e-6


def test_more_steps_are_likelier():
    log = selections(position_based(200, 7))
    shown = log.clicked

    def log_likelihood(steps):
        model = PositionDebiased(iterations=steps, tolerance=0).fit(log, np.array([0, 5]))
        rate = model.scores[log.items] * model.examination[np.arange(len(log.items)) % 4]
        return np.log(np.where(shown, rate, 1 - rate)).sum()

    values = [log_likelihood(steps) for steps in (1, 2, 4, 8, 16, 64, 256)]
    assert np.all(np.diff(values) >= -1e-9)


@pytest.mark.parametrize("aggregator", [ClickThroughRate(), COEC()], ids=str)
def test_presentation_fools_what_the_cascade_sees_through(aggregator):
    # Good items always stand low: a list sorted from the worst to the best, users stop early.
    rng = np.random.default_rng(8)
    truth = np.array([0.30, 0.32, 0.34, 0.36, 0.38, 0.40])
    sessions = []
    for _ in range(20_000):
        shown = list(range(6))
        clicks = [j for j, item in enumerate(shown) if rng.random() < truth[item]]
        sessions.append((shown, clicks[:1]))
    log = selections(sessions)
    assert spearmanr(Cascade().from_selections(log, 6), truth).statistic > 0.9
    assert spearmanr(aggregator.from_selections(log, 6), truth, nan_policy="raise").statistic < 0.5


# Without a tolerance: rounding could otherwise stop one form a step before the other.
ALL = [
    aggregator
    for smoothing in (0.0, 1.5)
    for aggregator in (
        Cascade(smoothing=smoothing),
        ClickThroughRate(smoothing=smoothing),
        COEC(smoothing=smoothing),
        PositionDebiased(smoothing=smoothing, iterations=30, tolerance=0),
    )
]


def close(actual, expected):
    return actual == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("aggregator", ALL, ids=str)
@given(logs(), st.data())
@examples(30)
def test_the_order_of_the_sessions_does_not_matter(aggregator, log, data):
    queries, item_offsets = log
    shuffled = [data.draw(st.permutations(query)) for query in queries]
    before, after = (aggregator.fit(selections(*some), item_offsets) for some in (queries, shuffled))
    assert close(after.scores, before.scores)


@pytest.mark.parametrize("aggregator", [a for a in ALL if a.smoothing == 0], ids=str)
@given(logs(max_queries=1))
@examples(30)
def test_every_session_twice_changes_nothing(aggregator, log):
    (query,), item_offsets = log
    m = int(item_offsets[-1])
    once = aggregator.from_selections(selections(query), m)
    assert close(aggregator.from_selections(selections(query * 2), m), once)


@pytest.mark.parametrize("aggregator", ALL, ids=str)
def test_without_clicks_all_scores_are_zero(aggregator):
    log = selections([([0, 1], []), ([1, 2], [])])
    assert not aggregator.from_selections(log, 4).any()


@pytest.mark.parametrize("aggregator", ALL, ids=str)
def test_items_never_shown_get_their_own_querys_average(aggregator):
    log = selections([([0], [0])] * 3 + [([0], [])], [([0], [0])] + [([0], [])] * 9, [])
    scores = aggregator.fit(log, np.array([0, 2, 4, 5])).scores
    assert scores[0] == pytest.approx(scores[1])
    assert scores[2] == pytest.approx(scores[3])
    assert scores[0] == pytest.approx(7.5 * scores[2])
    # A query without sessions gets the average of all.
    assert scores[3] < scores[4] < scores[0]


@pytest.mark.parametrize("aggregator", ALL, ids=str)
def test_smoothing_pulls_towards_the_average(aggregator):
    rng = np.random.default_rng(0)
    log = selections(draw_sessions(rng, 200, 6, 4, lambda item, j: item / 8))
    plain, heavy = (
        aggregator.model_copy(update={"smoothing": weight}).from_selections(log, 6) for weight in (0.0, 1e7)
    )
    assert np.ptp(heavy) < 1e-3 * np.ptp(plain)
    assert plain.min() < heavy.mean() < plain.max()


@pytest.mark.parametrize("aggregator", ALL, ids=str)
@given(logs())
@examples(30)
def test_predictions_are_probabilities(aggregator, log):
    queries, item_offsets = log
    log = selections(*queries)
    chances = aggregator.fit(log, item_offsets).probabilities(log, item_offsets)
    assert chances.shape == log.items.shape
    assert (chances >= 0).all()
    sums = [chances[a:b].sum() for a, b in zip(log.starts[:-1], log.starts[1:], strict=True)]
    assert max(sums, default=0) <= 1 + 1e-12


def test_a_user_who_stops():
    log = selections([([2, 0, 1], []), ([1], [])])
    model = ClickModel(np.array([0.5, 0.2, 0.1]), np.array([1.0, 0.5]), stops=True)
    # The last examination holds for the positions beyond.
    expected = [0.1, 0.9 * 0.25, 0.9 * 0.75 * 0.1, 0.2]
    assert model.probabilities(log, np.array([0, 3])) == pytest.approx(expected)


def test_shares_of_lists_sum_to_one_at_most():
    log = selections([([2, 0, 1], []), ([1], [])])
    model = ClickModel(np.array([0.8, 0.9, 3.0]), np.array([1.0, 0.5, 0.5]), stops=False)
    expected = [1 / 1.85, 0.4 / 1.85, 0.45 / 1.85, 0.9]
    assert model.probabilities(log, np.array([0, 3])) == pytest.approx(expected)
    assert model.probabilities(selections([]), np.array([0, 3])).shape == (0,)


def test_other_judgments_are_refused():
    with pytest.raises(TypeError, match="works on selections"):
        sample_structure(Cascade(), np.zeros(1, np.int32), np.ones(1, np.int32), np.ones(1), 2)
