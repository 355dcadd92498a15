"""Kemeny: brute force over all orders, and local search against Borda beyond."""

from itertools import permutations

import numpy as np
import pytest
from aggregator_samples import compiled, matrix, samples
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.aggregators.rates import Borda, Kemeny
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement


def cost(order, w):
    """Return the weight of the judgments that contradict `order`, best item first."""
    return sum(w[b, a] for at, a in enumerate(order) for b in order[at + 1 :])


def best_orders(w):
    """Return all optimal orders in lexical order; costs within rounding are equal."""
    costs = {order: cost(order, w) for order in permutations(range(len(w)))}
    least = min(costs.values())
    return [order for order, c in costs.items() if c <= least + 1e-10 * w.sum()], least


def ranks(order):
    positions = np.empty(len(order))
    positions[list(order)] = np.arange(1, len(order) + 1)
    return positions


@given(sample=samples(max_items=6))
@examples(60)
def test_average_over_all_optimal_orders(sample):
    m = sample[-1]
    orders, _ = best_orders(matrix(*sample))
    expected = (m + 1) / 2 - np.mean([ranks(order) for order in orders], axis=0)
    for scores in (compiled(Kemeny(), *sample), Kemeny().aggregate(*sample)):
        assert scores == pytest.approx(expected, abs=1e-9)


@given(sample=samples(max_items=7, max_judgments=40))
@examples(25)
def test_first_order_costs_the_least(sample):
    w = matrix(*sample)
    m = len(w)
    orders, least = best_orders(w)
    scores = compiled(Kemeny(ties="first"), *sample)
    assert cost(np.argsort(-scores, kind="stable").tolist(), w) == pytest.approx(least, abs=1e-9 * w.sum())
    assert PairwiseDisagreement().value(scores, w) == pytest.approx(least, abs=1e-9 * w.sum())
    played = np.unique(np.concatenate(sample[:2]))
    if len(played) == m and len(orders) == 1:
        assert np.array_equal(scores, compiled(Kemeny(), *sample))


@pytest.mark.parametrize("m", [2, 5, 8])
def test_the_first_of_tied_orders_is_the_lexically_first(m):
    # A cycle has m optimal orders, its rotations, and none of them is better than another.
    cycle = np.arange(m, dtype=np.int32)
    sample = cycle, np.roll(cycle, -1), np.append(np.ones(m - 1), 1.0 if m > 2 else 0.5), m
    for scores in (compiled(Kemeny(ties="first"), *sample), Kemeny(ties="first").aggregate(*sample)):
        assert scores == pytest.approx((m + 1) / 2 - np.arange(1, m + 1))
    if m > 2:
        assert compiled(Kemeny(), *sample) == pytest.approx(np.zeros(m), abs=1e-12)


def test_judgments_that_cancel():
    winners, losers = np.array([0, 1, 0], dtype=np.int32), np.array([1, 0, 1], dtype=np.int32)
    weights = np.array([0.1, 0.3, 0.2])
    # 0.1 + 0.2 is not 0.3 in floating point; the pair is level all the same.
    assert np.array_equal(compiled(Kemeny(), winners, losers, weights, 4), np.zeros(4))
    assert np.array_equal(Kemeny().aggregate(winners, losers, weights, 4), np.zeros(4))


@given(sample=samples(max_items=7, max_judgments=5), extra=st.integers(1, 60))
@examples(40)
def test_items_that_nobody_judged_spread_the_others(sample, extra):
    # Inserting items anywhere: positions of the others stretch, their own is the middle.
    winners, losers, weights, m = sample
    more = compiled(Kemeny(), winners, losers, weights, m + extra)
    assert np.all(more[m:] == 0)
    stretched = compiled(Kemeny(), *sample) * (m + extra + 1) / (m + 1)
    assert more[:m] == pytest.approx(stretched, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_as_many_items_as_are_solved_exactly(seed):
    # Sixteen items whose optimum is known: a strict order, and noise that does not reach it.
    m = 16
    rng = np.random.default_rng(seed)
    order = rng.permutation(m)
    i, j = np.triu_indices(m, 1)
    ahead = rng.integers(1, 9, len(i)).astype(float)
    weights = np.concatenate([ahead + rng.integers(1, 5, len(i)), ahead])
    winners, losers = np.concatenate([order[i], order[j]]), np.concatenate([order[j], order[i]])
    scores = compiled(Kemeny(exact=16), winners.astype(np.int32), losers.astype(np.int32), weights, m)
    assert scores[order] == pytest.approx((m + 1) / 2 - np.arange(1, m + 1))


def unweighted(rng, m, k):
    winners = rng.integers(m, size=k)
    losers = (winners + rng.integers(1, m, size=k)) % m
    return winners.astype(np.int32), losers.astype(np.int32), np.ones(k), m


@pytest.mark.parametrize("m", [15, 30, 100])
@pytest.mark.parametrize("per_item", [1, 5, 40])
def test_local_search_is_never_worse_than_borda(m, per_item):
    rng = np.random.default_rng(m * per_item)
    better = 0
    for _ in range(5):
        sample = unweighted(rng, m, m * per_item)
        w = matrix(*sample)
        found = cost(np.argsort(-compiled(Kemeny(), *sample), kind="stable").tolist(), w)
        borda = cost(np.argsort(-compiled(Borda(), *sample), kind="stable").tolist(), w)
        assert found <= borda
        better += found < borda
    # With few judgments an item Borda's order is far from the best one.
    assert better == 5 or per_item > 1 or m == 15


def test_no_move_of_one_item_improves_the_local_search():
    sample = unweighted(np.random.default_rng(1), 25, 200)
    w = matrix(*sample)
    order = np.argsort(-compiled(Kemeny(), *sample), kind="stable").tolist()
    here = cost(order, w)
    for item in range(25):
        rest = [i for i in order if i != item]
        assert all(cost([*rest[:q], item, *rest[q:]], w) >= here for q in range(25))


@given(sample=samples(max_items=7, max_judgments=40, weighted=False))
@examples(40)
def test_local_search_equals_its_numpy_form_and_bounds_the_optimum(sample):
    w = matrix(*sample)
    search = Kemeny(exact=2)
    scores = compiled(search, *sample)
    assert scores == pytest.approx(search.aggregate(*sample), abs=1e-12)
    order = np.argsort(-scores, kind="stable").tolist()
    borda = np.argsort(-compiled(Borda(), *sample), kind="stable").tolist()
    assert best_orders(w)[1] <= cost(order, w) <= cost(borda, w)
