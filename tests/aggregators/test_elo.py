"""Elo and Glicko-2: numbers of textbook and paper, and what follows from the formulas."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import pytest
from aggregator_samples import compiled, samples
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from rankbench.aggregators.kernels.elo import attenuation, new_volatility
from rankbench.aggregators.sequential import POINTS, Elo, Glicko2
from rankbench.errors import SpecError
from rankbench.interfaces.queries import Comparisons

CHESS = 400 / math.log(10)


def ratings(factor, winners, losers, weights, m, initial=1500.0, ties=None):
    """Rate as chess federations do: base 10, in points, one game after the other; w games for a weight of w."""
    rating = [initial] * m
    said = np.zeros(len(winners), bool) if ties is None else ties
    for i, j, w, tie in zip(winners.tolist(), losers.tolist(), weights.tolist(), said.tolist(), strict=True):
        for game in [1.0] * int(w) + [w % 1]:
            expected = 1 / (1 + 10 ** ((rating[j] - rating[i]) / 400))
            change = factor * game * ((0.5 if tie else 1.0) - expected)
            rating[i], rating[j] = rating[i] + change, rating[j] - change
    return np.array(rating)


def comparisons(winners, losers, weights, ties):
    return Comparisons(np.array([0, len(winners)]), winners, losers, weights, ties)


def tied(data, k):
    return np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))


@given(sample=samples(weighted=False))
@examples(60)
def test_points_of_chess(sample):
    for factor in (16, 32, 100):
        scores = compiled(Elo(factor=factor), *sample)
        assert 1500 + CHESS * scores == pytest.approx(ratings(factor, *sample), rel=1e-12)


def test_textbook_numbers():
    one = np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32)
    assert CHESS * compiled(Elo(), *one, np.ones(1), 2) == pytest.approx([16, -16])
    # 400 points ahead the favorite is expected to win 10 of 11: another win is worth K / 11.
    # Two wins with K = 400 take 0 to 200 points more than 1 has less: 200 + 400 / 11.
    again = np.zeros(2, dtype=np.int32), np.ones(2, dtype=np.int32), np.ones(2), 2
    assert CHESS * compiled(Elo(factor=400), *again)[0] == pytest.approx(200 + 400 / 11)
    # A tie takes from the favorite what it was expected to win beyond one half.
    said = comparisons(again[0], again[1], np.ones(2), np.array([False, True]))
    assert CHESS * Elo(factor=400).from_comparisons(said, 2)[0] == pytest.approx(200 + 400 * (1 / 2 - 10 / 11))


@given(sample=samples(), data=st.data())
@examples(60)
def test_a_tie_is_one_update_whoever_stands_left(sample, data):
    winners, losers, weights, m = sample
    weights = np.minimum(weights, 400.0)
    ties = tied(data, len(winners))
    found = Elo().from_comparisons(comparisons(winners, losers, weights, ties), m)
    assert 1500 + CHESS * found == pytest.approx(ratings(32, winners, losers, weights, m, ties=ties), rel=1e-12)
    left, right = np.where(ties, losers, winners), np.where(ties, winners, losers)
    np.testing.assert_array_equal(Elo().from_comparisons(comparisons(left, right, weights, ties), m), found)


@given(sample=samples())
@examples(30)
def test_ties_alone_leave_all_items_exactly_equal(sample):
    winners, losers, weights, m = sample
    found = Elo().from_comparisons(comparisons(winners, losers, weights, np.ones(len(winners), bool)), m)
    np.testing.assert_array_equal(found, np.zeros(m))


@pytest.mark.parametrize("factor", [0.01, 0.3, 2.0, 32.0, 128.0, 400.0, 2000.0])
@pytest.mark.parametrize("before", [0, 3, 40])
@pytest.mark.parametrize("weight", [255.0, 257.0, 3000.5, 60_000.0])
def test_many_judgments_are_counted_as_one_by_one(factor, before, weight):
    """Of the upset and of the tie that follow so many wins."""
    eta, gap = factor / CHESS, 0.0
    for _ in range(before):
        gap += 2 * eta / (1 + math.exp(gap))
    win, tie = -gap, gap
    for part in [1.0] * int(weight) + [weight % 1]:
        win += 2 * eta * part / (1 + math.exp(win))
        tie -= eta * part * math.tanh(tie / 2)
    winners, losers = np.zeros(before + 1, np.int32), np.ones(before + 1, np.int32)
    weights, ties = np.array([*[1.0] * before, weight]), np.arange(before + 1) == before
    found = Elo(factor=factor).from_comparisons(comparisons(winners, losers, weights, ties), 2)
    assert 2 * found[0] == pytest.approx(tie, rel=1e-9, abs=1e-11)
    upset = np.where(ties, 1, 0).astype(np.int32)
    found = compiled(Elo(factor=factor), upset, 1 - upset, weights, 2)
    assert 2 * found[1] == pytest.approx(win, rel=1e-9, abs=1e-11)


def test_ties_that_do_not_settle_are_bounded():
    one = np.zeros(1, np.int32), np.ones(1, np.int32), np.array([1e9]), np.ones(1, bool)
    assert Elo(factor=300).from_comparisons(comparisons(*one), 2).tolist() == [0, 0]
    with pytest.raises(SpecError, match="K=400 updates a tie of weight w in w single steps"):
        Elo(factor=400).from_comparisons(comparisons(*one), 2)


def test_what_is_derived_must_define_its_own_updates_with_ties():
    class Twice(Elo):
        name = "twice"

        def aggregate(self, winners, losers, weights, m):
            return 2 * super().aggregate(winners, losers, weights, m)

    assert Elo.defect() == ""
    kernel = type("WithKernel", (Twice,), {"__module__": __name__, "kernel": lambda self: None})
    assert kernel.defect().startswith("it defines aggregate anew, and inherits from_comparisons of Elo")


def test_enormous_weights_stay_finite():
    sample = np.array([0, 1, 0], dtype=np.int32), np.array([1, 0, 1], dtype=np.int32), np.array([1e9, 1e9, 1e12]), 2
    assert np.isfinite(compiled(Elo(), *sample)).all()


def test_votes_of_one_time_are_by_the_ratings_before_it() -> None:
    """Each vote's gain at K, but K n at most 700 points, as FIDE has it."""
    state = np.array([[0.3], [-0.2], [0.0]])
    winners, losers, ties = np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([False, True, False])
    votes = Comparisons(np.array([0, 3]), winners, losers, np.array([1.0, 2.0, 1.0]), ties)
    Elo(factor=320).learn(state, votes, 0)
    chance = {pair: 1 / (1 + np.exp(-gap)) for pair, gap in {(0, 1): 0.5, (0, 2): 0.3, (1, 2): -0.2}.items()}
    said = np.array([(1 - chance[0, 1]) + 2 * (0.5 - chance[0, 2]), (1 - chance[1, 2]) - (1 - chance[0, 1])])
    points = np.array([700 / 3, 320]) * np.log(10) / 400
    assert state[:2, 0] == pytest.approx([0.3, -0.2] + points * said, abs=1e-12)


def rated(ratings: list[float], deviations: list[float], volatility: float = 0.06) -> np.ndarray:
    state = Glicko2(volatility=volatility).start(len(ratings))
    state[:, 0] = (np.array(ratings) - 1500) / POINTS
    state[:, 1] = np.array(deviations) / POINTS
    state[:, 3] = 0
    return state


def period(winners: list[int], losers: list[int]) -> Comparisons:
    ones = np.ones(len(winners))
    return Comparisons(np.array([0, len(ones)]), np.array(winners, np.int32), np.array(losers, np.int32), ones)


def test_the_example_of_the_paper() -> None:
    """Glickman (2012): 1500 (200) beats 1400 (30), loses to 1550 (100) and to 1700 (300): 1464.06 (151.52), .05999."""
    state = rated([1500, 1400, 1550, 1700], [200, 30, 100, 300])
    Glicko2().learn(state, period([0, 2, 3], [1, 0, 0]), 1)
    assert state[0, 0] * POINTS + 1500 == pytest.approx(1464.06, abs=0.02)
    assert state[0, 1] * POINTS == pytest.approx(151.52, abs=0.01)
    assert math.floor(state[0, 2] * 1e5) == 5999  # the paper cuts .059996 off


@pytest.mark.parametrize("delta", [0.0, 0.5, 3.0, 30.0])
@pytest.mark.parametrize(("phi", "v", "tau"), [(2.0, 1.7, 0.5), (0.2, 0.1, 1.2), (1.0, 50.0, 0.3)])
def test_the_volatility_is_the_root_of_its_equation(delta: float, phi: float, v: float, tau: float) -> None:
    sigma = 0.06

    def f(x: float) -> float:
        e = math.exp(x)
        return e * (delta**2 - phi**2 - v - e) / (2 * (phi**2 + v + e) ** 2) - (x - math.log(sigma**2)) / tau**2

    expected = math.exp(brentq(f, -60, 60, xtol=1e-14) / 2)
    assert new_volatility(sigma, delta, phi, v, tau) == pytest.approx(expected, rel=1e-8)


def test_attenuation() -> None:
    assert attenuation(0.0) == 1.0
    assert attenuation(math.pi**2) == 0.5


def test_periods_without_judgments_make_a_rating_less_certain_up_to_that_of_a_stranger() -> None:
    point = Glicko2()
    state = rated([1500, 1400], [50, 60])
    one, two = np.array([0], np.int32), np.array([1], np.int32)

    def expected(deviation: list[float]) -> float:
        both = math.hypot(*deviation) / POINTS
        return 100 / POINTS / math.sqrt(1 + 3 * both**2 / math.pi**2)

    grown = [math.sqrt((d / POINTS) ** 2 + 4 * 0.06**2) * POINTS for d in (50, 60)]
    assert point.margins(state, one, two, 5)[0] == pytest.approx(expected(grown), rel=1e-12)
    assert point.margins(state, one, two, 10**9)[0] == pytest.approx(expected([350, 350]), rel=1e-12)


def test_judgments_one_after_the_other_are_periods() -> None:
    rng = np.random.default_rng(2)
    winners = rng.integers(0, 5, 60).astype(np.int32)
    losers = ((winners + rng.integers(1, 5, 60)) % 5).astype(np.int32)
    weights = rng.integers(1, 4, 60).astype(np.float64)
    point = Glicko2()
    state = point.start(5)
    runs = [list(rows) for _, rows in groupby(range(60), key=lambda e: (winners[e], losers[e]))]
    for period, rows in enumerate(runs):
        state[state[:, 3] >= 0, 3] = period - 1  # nobody is idle
        run = Comparisons(np.array([0, len(rows)]), winners[rows], losers[rows], weights[rows])
        point.learn(state, run, period)
    assert point.aggregate(winners, losers, weights, 5) == pytest.approx(state[:, 0], abs=1e-9)


def test_a_tie_between_equals_says_nothing_but_that_they_met() -> None:
    state = rated([1500, 1500], [100, 100])
    tied = Comparisons(np.array([0, 1]), np.array([0], np.int32), np.array([1], np.int32), np.ones(1), np.array([True]))
    Glicko2().learn(state, tied, 1)
    assert state[:, 0] == pytest.approx([0, 0], abs=1e-15)
    assert (state[:, 1] < 100 / POINTS).all()
