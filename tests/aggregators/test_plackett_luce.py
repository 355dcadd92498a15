"""Ballots: the comparisons that they imply, and Plackett-Luce by choix and by the likelihood written out."""

from itertools import permutations

import choix
import numpy as np
import pytest
from aggregator_samples import ballots, build
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from minima import step_to_minimum
from scipy.optimize import brentq

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.edges import Identity
from rankbench.aggregators.plackett_luce import PlackettLuce
from rankbench.aggregators.rates import Borda, Kemeny
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import sample_structure
from rankbench.interfaces.queries import Comparisons, implied_comparisons
from rankbench.plugin import manager


def stage_masses(scores, places, *, tied_last=True):
    """Yield (coefficients of the scores picked, log of the mass picked from) of each stage."""
    for at, tied in enumerate(places):
        rest = [item for later in places[at + 1 :] for item in later]
        d = len(tied)
        for r in range(d if rest else (d - 1) * tied_last):
            terms = [scores[item] for item in rest] + [scores[item] + np.log(1 - r / d) for item in tied]
            yield scores[tied].mean(), np.log(np.exp(terms).sum())


def test_choices_out_of_sets_are_those_of_choix():
    rng = np.random.default_rng(7)
    choices = [rng.permutation(6)[: 2 + k % 5].tolist() for k in range(40)]
    orders = build([[[best], rest] for best, *rest in choices])
    found = PlackettLuce(ridge=0.1, last="unordered").from_orders(orders, 6)
    theirs = choix.opt_top1(6, [(best, tuple(rest)) for best, *rest in choices], alpha=0.05, tol=1e-10)
    assert found == pytest.approx(theirs, abs=1e-6)
    for other in (PlackettLuce(ridge=0.1), BradleyTerry(ridge=0.1)):
        assert np.abs(other.from_orders(orders, 6) - theirs).max() > 0.05


def test_the_first_few_places_are_those_of_choix():
    # The likelihood of a ballot's places but the last is a product of choices.
    rng = np.random.default_rng(8)
    cast = [rng.permutation(6).tolist() for _ in range(25)]
    found = PlackettLuce(ridge=0.1, last="unordered").from_orders(build([[[a], [b], rest] for a, b, *rest in cast]), 6)
    choices = [pick for a, b, *rest in cast for pick in ((a, (b, *rest)), (b, tuple(rest)))]
    assert found == pytest.approx(choix.opt_top1(6, choices, alpha=0.05, tol=1e-10), abs=1e-6)


@given(sample=ballots(max_items=5, max_ballots=5))
@examples(25)
def test_with_an_unordered_last_place_it_is_the_minimum_of_its_objective(sample):
    orders, model = build(*sample[:2]), PlackettLuce(last="unordered")
    if not informative(sample):
        return
    scores = model.from_orders(orders, sample[2])
    assert np.abs(step_to_minimum(lambda at: objective(at, sample, 1.0, tied_last=False), scores)).max() < 1e-9


def objective(scores, sample, ridge, *, tied_last=True):
    found, weights, _ = sample
    total = ridge / 2 * scores @ scores
    for places, weight in zip(found, weights, strict=True):
        total += weight * sum(mass - picked for picked, mass in stage_masses(scores, places, tied_last=tied_last))
    return total


def informative(sample):
    return any(sum(map(len, places)) > 1 for places in sample[0])


@given(sample=ballots(max_items=5, max_ballots=5), ridge=st.sampled_from([1.0, 0.1, 30.0]))
@examples(60)
def test_is_the_minimum_of_the_objective(sample, ridge):
    orders = build(*sample[:2])
    if not informative(sample):
        with pytest.raises(InputError, match="ballots say nothing"):
            PlackettLuce(ridge=ridge).from_orders(orders, sample[2])
        return
    scores = PlackettLuce(ridge=ridge).from_orders(orders, sample[2])
    assert abs(scores.sum()) < 1e-8
    assert np.abs(step_to_minimum(lambda at: objective(at, sample, ridge), scores)).max() < 1e-9


@pytest.mark.parametrize("ridge", [1.0, 0.02])
def test_equals_choix_with_the_same_penalty(ridge):
    rng = np.random.default_rng(3)
    orders = np.argsort(-(rng.normal(size=8) + rng.gumbel(size=(30, 8))), axis=1)
    partial = [row[: 2 + i % 7].tolist() for i, row in enumerate(orders)]
    found = PlackettLuce(ridge=ridge).from_orders(build([[[i] for i in row] for row in partial]), 8)
    theirs = choix.opt.Top1Fcts.from_rankings(partial, ridge / 2)
    step = np.linalg.solve(theirs.hessian(found), theirs.gradient(found))
    assert np.abs(step).max() < 1e-9


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
    expected = BradleyTerry(ridge=ridge).from_comparisons(implied_comparisons(orders), sample[2])
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


def test_comparisons_are_refused():
    with pytest.raises(TypeError, match="orders, not on comparisons"):
        sample_structure(PlackettLuce(), np.zeros(1, np.int32), np.ones(1, np.int32), np.ones(1), 2)


def naive(places_of_ballots, weights, m):
    """Return the implied (winner, loser, tie, weight) of each ballot by looking at every pair."""
    found = []
    for places, weight in zip(places_of_ballots, weights, strict=True):
        group = {item: at for at, tied in enumerate(places) for item in tied}
        rows = set()
        for a in range(m):
            for b in range(m):
                if a == b or a not in group or b not in group:
                    continue
                if group[a] < group[b]:
                    rows.add((a, b, False, weight))
                elif group[a] == group[b] and a < b:
                    rows.add((a, b, True, weight))
        found.append(rows)
    return found


@given(sample=ballots())
@examples(100)
def test_implied_comparisons_are_all_pairs_that_a_ballot_orders(sample):
    places, weights, m = sample
    orders = build(places, weights)
    expected = naive(places, weights, m)
    if not any(expected):
        with pytest.raises(InputError, match="ballots say nothing"):
            implied_comparisons(orders)
        return
    found = implied_comparisons(orders)
    ties = np.zeros(len(found), dtype=bool) if found.ties is None else found.ties
    rows = []
    for winner, loser, tie, weight in zip(found.winners, found.losers, ties, found.weights, strict=True):
        pair = (min(winner, loser), max(winner, loser)) if tie else (winner, loser)
        rows.append((int(pair[0]), int(pair[1]), bool(tie), float(weight)))
    # Ballot after ballot, nothing twice.
    at = 0
    for some in expected:
        assert sorted(rows[at : at + len(some)]) == sorted(some)
        at += len(some)
    assert at == len(rows)
    assert found.offsets.tolist() == [0, len(rows)]


@given(m=st.integers(2, 7), data=st.data())
@examples(25)
def test_borda_on_complete_ballots_is_the_classical_count(m, data):
    rankings = data.draw(st.lists(st.permutations(range(m)), min_size=1, max_size=6))
    orders = build([[[i] for i in ranking] for ranking in rankings], np.ones(len(rankings)))
    classical = sum(m - 1 - np.argsort(ranking) for ranking in map(np.array, rankings))
    pairs = len(rankings) * m * (m - 1) / 2
    expected = (2 * classical - len(rankings) * (m - 1)) / pairs
    assert Borda().from_orders(orders, m) == pytest.approx(expected)


def test_borda_on_partial_ballots():
    assert Borda().from_orders(build([[[0], [1]]], [1.0]), 4) == pytest.approx([1, -1, 0, 0])


def test_kemeny_on_ballots_of_condorcet():
    # The 60 voters of Condorcet (1785): Borda elects 1, the majorities a > b > c do not.
    cast = [([0, 1, 2], 23), ([1, 2, 0], 17), ([1, 0, 2], 2), ([2, 0, 1], 10), ([2, 1, 0], 8)]
    orders = build([[[i] for i in order] for order, _ in cast], [float(n) for _, n in cast])
    # Majorities: 33:27 for 0 over 1, 42:18 for 1 over 2, 35:25 for 2 over 0: the weakest gives way.
    assert Kemeny().from_orders(orders, 3) == pytest.approx([-1, 1, 0])


def test_a_tie_is_half_a_win_each_way():
    record = Comparisons(
        np.array([0, 3, 4]),
        np.array([0, 1, 2, 0], dtype=np.int32),
        np.array([1, 2, 0, 1], dtype=np.int32),
        np.array([1.0, 3.0, 2.0, 4.0]),
        np.array([False, True, False, True]),
    )
    whole = record.without_ties()
    assert whole.ties is None
    assert whole.offsets.tolist() == [0, 4, 6]
    assert whole.winners.tolist() == [0, 1, 2, 2, 0, 1]
    assert whole.losers.tolist() == [1, 2, 1, 0, 1, 0]
    assert whole.weights.tolist() == [1, 1.5, 1.5, 2, 2, 2]
    assert (whole.winners.dtype, whole.offsets.dtype) == (np.int32, record.offsets.dtype)


def test_a_record_without_ties_is_left_alone():
    plain = Comparisons(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.int32), np.ones(1), np.array([False]))
    assert plain.without_ties().winners is plain.winners
    assert plain.without_ties().ties is None


def test_the_first_judgment_may_be_a_tie():
    first = Comparisons(
        np.array([0, 2]), np.array([1, 0], np.int32), np.array([2, 1], np.int32), np.ones(2), np.array([True, False])
    )
    expected = np.zeros((3, 3))
    expected[1, 2] = expected[2, 1] = 0.5
    assert np.array_equal(Identity().from_comparisons(first, 3), expected)


@pytest.mark.parametrize("exponent", [-6, -9, -11, -12, -13, -14, -16, -18, -30, -300])
@pytest.mark.parametrize("method", ["bradley-terry", "davidson", "plackett-luce"])
@pytest.mark.parametrize("weight", [1.0, 1e6])
def test_a_ridge_that_alone_bounds_the_scores_bounds_them_or_is_refused(
    exponent: int, method: str, weight: float
) -> None:
    """The first of two items wins both votes: at scores of s and -s, 2 w / (1 + e^2s) = ridge s."""
    ridge = 10.0**exponent * weight
    orders = build([[[0], [1]], [[0], [1]]], [weight, weight])
    aggregator = manager.get(Aggregator, f"{method}:ridge={ridge!r}")
    if exponent < -11:
        with pytest.raises(ContenderDiverged, match="ridge"):
            aggregator.from_orders(orders, 2)
        return
    found = aggregator.from_orders(orders, 2)
    expected = brentq(lambda s: np.log(2 * weight) - np.logaddexp(0, 2 * s) - np.log(ridge * s), 1e-9, 1e3, xtol=1e-13)
    assert found == pytest.approx([expected, -expected], abs=1e-5)


@pytest.mark.parametrize("last", ["tied", "unordered"])
def test_a_tiny_ridge_is_fine_where_ballots_bound_the_scores(last: str) -> None:
    """By ties or by a circle every item loses to every other one; a last place without order is no tie."""
    aggregator = PlackettLuce(ridge=1e-14, last=last)
    for ballots_of in ([[[0], [1], [2]], [[2], [0], [1]], [[1], [2], [0]]], [[[0, 1], [2]], [[2], [0, 1]]]):
        assert np.isfinite(aggregator.from_orders(build(ballots_of), 3)).all()
    if last == "tied":
        assert np.abs(aggregator.from_orders(build([[[0, 1, 2]]]), 3)).max() < 1e-9
    with pytest.raises(ContenderDiverged, match="ridge"):
        aggregator.from_orders(build([[[0], [1, 2]]]), 3)
