"""Plackett-Luce: choix and the likelihood written out, on scale and not only on order."""

from itertools import permutations

import choix
import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from minima import step_to_minimum
from order_samples import ballots, build

from rankbench.aggregators.bradley_terry import BradleyTerry, PlackettLuce
from rankbench.errors import InputError
from rankbench.interfaces.aggregator_calls import sample_structure
from rankbench.interfaces.queries import implied_comparisons


def stage_masses(scores, places, unranked):
    """Yield (coefficients of the scores picked, log of the mass picked from) of each stage."""
    for at, tied in enumerate(places):
        rest = [item for later in places[at + 1 :] for item in later] + unranked
        d = len(tied)
        for r in range(d if rest else d - 1):
            terms = [scores[item] for item in rest] + [scores[item] + np.log(1 - r / d) for item in tied]
            yield scores[tied].mean(), np.log(np.exp(terms).sum())


def objective(scores, sample, ridge, unranked="absent"):
    found, weights, m = sample
    total = ridge / 2 * scores @ scores
    for places, weight in zip(found, weights, strict=True):
        left = sorted(set(range(m)) - {i for tied in places for i in tied}) if unranked == "last" else []
        total += weight * sum(mass - picked for picked, mass in stage_masses(scores, places, left))
    return total


def informative(sample, unranked):
    return any(sum(map(len, places)) > 1 for places in sample[0]) or unranked == "last"


@given(sample=ballots(max_items=5, max_ballots=5), ridge=st.sampled_from([1.0, 0.1, 30.0]), unranked=st.booleans())
@examples(60)
def test_is_the_minimum_of_the_objective(sample, ridge, unranked):
    means = "last" if unranked else "absent"
    orders = build(*sample[:2], unranked=means)
    if not informative(sample, means):
        with pytest.raises(InputError, match="ballots say nothing"):
            PlackettLuce(ridge=ridge).from_orders(orders, sample[2])
        return
    scores = PlackettLuce(ridge=ridge).from_orders(orders, sample[2])
    assert abs(scores.sum()) < 1e-8
    assert np.abs(step_to_minimum(lambda at: objective(at, sample, ridge, means), scores)).max() < 1e-9


def rankings(m, n, seed):
    """Draw n full orders under Plackett-Luce, by Gumbel noise."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=m)
    return truth, np.argsort(-(truth + rng.gumbel(size=(n, m))), axis=1)


@pytest.mark.parametrize("ridge", [1.0, 0.02])
def test_equals_choix_with_the_same_penalty(ridge):
    _, orders = rankings(8, 30, 3)
    partial = [row[: 2 + i % 7].tolist() for i, row in enumerate(orders)]
    found = PlackettLuce(ridge=ridge).from_orders(build([[[i] for i in row] for row in partial]), 8)
    theirs = choix.opt.Top1Fcts.from_rankings(partial, ridge / 2)
    step = np.linalg.solve(theirs.hessian(found), theirs.gradient(found))
    assert np.abs(step).max() < 1e-9


def test_tends_to_the_truth_from_whole_and_from_top_ballots():
    truth, orders = rankings(9, 20_000, 5)
    centered = truth - truth.mean()
    whole = PlackettLuce(ridge=1e-3).from_orders(build([[[i] for i in row] for row in orders]), 9)
    assert whole == pytest.approx(centered, abs=0.05)
    top = build([[[i] for i in row[:3]] for row in orders], unranked="last")
    assert PlackettLuce(ridge=1e-3).from_orders(top, 9) == pytest.approx(centered, abs=0.08)


@given(sample=ballots(ties=True, max_ballots=10), ridge=st.sampled_from([1.0, 0.1]))
@examples(40)
def test_on_pairs_it_is_bradley_terry(sample, ridge):
    pairs, weights = [], []
    for places, weight in zip(sample[0], sample[1], strict=True):
        flat = [(at, i) for at, tied in enumerate(places) for i in tied][:2]
        if len(flat) == 2:
            (a, i), (b, j) = flat
            pairs.append([[i, j]] if a == b else [[i], [j]])
            weights.append(weight)
    if not pairs:
        return
    orders = build(pairs, weights)
    expected = BradleyTerry(ridge=ridge).from_comparisons(implied_comparisons(orders, sample[2]), sample[2])
    assert PlackettLuce(ridge=ridge).from_orders(orders, sample[2]) == pytest.approx(expected, abs=1e-7)


def test_ties_are_close_to_the_average_over_their_orders():
    strict = [[[3], [1], [0], [2]], [[0], [1], [2], [3]], [[1], [3], [2], [0]]]
    # A tie of three at the top, replaced by its six orders of one sixth of a voter each.
    tied = PlackettLuce().from_orders(build([*strict, [[1, 2, 3], [0]]]), 4)
    orders = [[[i] for i in order] + [[0]] for order in permutations((1, 2, 3))]
    spread = PlackettLuce().from_orders(build([*strict, *orders], [1.0] * 3 + [1 / 6] * 6), 4)
    assert np.abs(tied - spread).max() < 0.04
    assert np.abs(tied - PlackettLuce().from_orders(build(strict), 4)).max() > 0.2


def test_ballots_of_ties_alone_give_zero():
    assert PlackettLuce().from_orders(build([[[0, 1, 2]], [[1, 2]]]), 4) == pytest.approx(np.zeros(4), abs=1e-12)


def test_disconnected_items_and_items_without_ballots():
    scores = PlackettLuce().from_orders(build([[[0], [1], [2]], [[4], [3]]]), 6)
    assert scores[:3].sum() == pytest.approx(0, abs=1e-10)
    assert scores[3] == pytest.approx(-scores[4])
    assert scores[5] == 0
    assert scores[0] > scores[1] > scores[2]


def test_voters_who_all_agree_on_a_long_order():
    # Worths fall beyond what exp can hold.
    m = 300
    scores = PlackettLuce(ridge=1e-3).from_orders(build([[[i] for i in range(m)]], [1e5]), m)
    assert np.isfinite(scores).all()
    assert np.all(np.diff(scores) < 0)
    assert scores[0] - scores[-1] > 745


def test_one_ballot_of_one_item_says_nothing():
    with pytest.raises(InputError, match="ballots say nothing"):
        PlackettLuce().from_orders(build([[[0]]]), 3)
    scores = PlackettLuce().from_orders(build([[[0]]], unranked="last"), 3)
    assert scores[0] > 0
    assert scores[1] == pytest.approx(scores[2])


def test_comparisons_are_refused():
    with pytest.raises(TypeError, match="orders, not on comparisons"):
        sample_structure(PlackettLuce(), np.zeros(1, np.int32), np.ones(1, np.int32), np.ones(1), 2)


def test_read_only_arrays_will_do():
    orders = build([[[0], [1], [2]], [[2, 1]]])
    expected = PlackettLuce().from_orders(orders, 3)
    for array in (orders.starts, orders.items, orders.places, orders.weights):
        array.flags.writeable = False
    assert np.array_equal(PlackettLuce().from_orders(orders, 3), expected)
