"""Laws that every aggregator of selections keeps."""

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from selection_samples import draw_sessions, logs, selections

from rankbench.aggregators.clicks import COEC, Cascade, ClickThroughRate, PositionDebiased
from rankbench.interfaces.aggregator_calls import sample_structure
from rankbench.interfaces.click_aggregator import ClickModel

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
@given(logs())
@examples(60)
def test_scores_are_finite_and_not_negative(aggregator, log):
    queries, item_offsets = log
    scores, examination = aggregator.estimate(selections(*queries), item_offsets)
    assert np.isfinite([*scores, *examination]).all()
    assert (scores >= 0).all()


@pytest.mark.parametrize("aggregator", ALL, ids=str)
@given(logs(max_queries=1), st.data())
@examples(30)
def test_relabelling_the_items_relabels_the_scores(aggregator, log, data):
    (query,), item_offsets = log
    m = int(item_offsets[-1])
    new = data.draw(st.permutations(range(m)))
    renamed = [([new[item] for item in shown], clicks) for shown, clicks in query]
    before = aggregator.from_selections(selections(query), m)
    after = aggregator.from_selections(selections(renamed), m)
    assert close(after[np.array(new)], before)


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
