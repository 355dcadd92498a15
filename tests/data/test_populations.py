"""Simulated judgments: BTL comparisons follow (26), and populations have the laws of their formulas."""

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from rankbench.data.simulators.btl import (
    best_orders,
    draw_comparisons,
    limit_scores,
    make_populations,
    preference_matrix,
)
from rankbench.data.simulators.kernels import draw_ballots, draw_judgments, draw_votes_between
from rankbench.errors import SpecError
from rankbench.interfaces.queries import Queries
from rankbench.kernels.random import seed_state


def make_queries(*labels):
    rows = np.concatenate([np.asarray(r, dtype=np.float64) for r in labels]) if labels else np.zeros(0)
    offsets = np.concatenate([[0], np.cumsum([len(r) for r in labels])]).astype(np.int64)
    return Queries([f"q{i}" for i in range(len(labels))], offsets, np.zeros((len(rows), 1), np.float32), rows)


def judgments(queries, n, entropy):
    query, winner, loser = (np.empty(n, dtype=np.int32) for _ in range(3))
    draw_judgments(queries.offsets, queries.labels, seed_state(entropy), query, winner, loser)
    return query, winner, loser


QUERIES = make_queries([0.0, 1.0, 3.0], [2.0, 2.0], [0.0, 0.5, 1.0, 1.5, 4.0])


def test_queries_pairs_and_winners_follow_the_model():
    n = 300_000
    query, winner, loser = judgments(QUERIES, n, [1])
    assert stats.chisquare(np.bincount(query, minlength=3)).pvalue > 1e-4
    assert (draw_comparisons(QUERIES, n, [1]).counts == np.bincount(query, minlength=3)).all()
    for q in range(3):
        labels = QUERIES.labels[QUERIES.offsets[q] : QUERIES.offsets[q + 1]]
        m = len(labels)
        mine = query == q
        wins = np.zeros((m, m))
        np.add.at(wins, (winner[mine], loser[mine]), 1)
        assert np.all(np.diag(wins) == 0)
        # All ordered cells at once: uniform pairs times (26).
        p = np.array([[1 / (1 + math.exp(b - a)) for b in labels] for a in labels])
        cells = ~np.eye(m, dtype=bool)
        expected = mine.sum() * p[cells] / (m * (m - 1) / 2)
        assert stats.chisquare(wins[cells], expected).pvalue > 1e-4


def test_draws_are_independent_of_each_other():
    # Successive judgments of one query with two equal items are fair, independent coins.
    _, winner, _ = judgments(make_queries([1.0, 1.0]), 100_000, [8])
    pairs = 2 * winner[::2] + winner[1::2]
    assert stats.chisquare(np.bincount(pairs, minlength=4)).pvalue > 1e-4


def test_extreme_labels_do_not_overflow():
    draw = draw_comparisons(make_queries([-1e4, 1e4]), 1000, [4])
    assert np.all(draw.winners == 1)


@given(st.integers(0, 400), st.integers(0, 400))
@examples(25)
def test_draws_group_stably(n, extra):
    drawn, shorter = judgments(QUERIES, n + extra, [5]), judgments(QUERIES, n, [5])
    assert all(np.array_equal(longer[:n], part) for longer, part in zip(drawn, shorter, strict=True))

    comparisons = draw_comparisons(QUERIES, n, [5])
    query, winner, loser = shorter
    assert len(comparisons) == n
    assert comparisons.winners.dtype == comparisons.losers.dtype == np.int32
    assert np.array_equal(comparisons.weights, np.ones(n))
    for q in range(3):
        rows = slice(comparisons.offsets[q], comparisons.offsets[q + 1])
        assert np.array_equal(comparisons.winners[rows], winner[query == q])
        assert np.array_equal(comparisons.losers[rows], loser[query == q])


def test_goldens():
    query, winner, loser = judgments(QUERIES, 8, [2013, 6, 2])
    assert query.tolist() == [0, 0, 0, 0, 1, 2, 1, 1]
    assert winner.tolist() == [1, 2, 0, 1, 0, 2, 0, 0]
    assert loser.tolist() == [0, 1, 1, 0, 1, 0, 1, 1]
    assert not np.array_equal(query, judgments(QUERIES, 8, [2013, 6, 3])[0])


labels = arrays(np.float64, st.integers(2, 8), elements=st.floats(-5, 5))


@given(labels)
@examples(50)
def test_preference_matrix_is_26_and_its_log_odds_average_to_27(r):
    p = preference_matrix(r)
    m = len(r)
    for i in range(m):
        for j in range(m):
            expected = 0.0 if i == j else math.exp(r[i] - r[j]) / (1 + math.exp(r[i] - r[j]))
            assert p[i, j] == pytest.approx(expected, abs=1e-15)
    off = ~np.eye(m, dtype=bool)
    log_odds = np.zeros((m, m))
    log_odds[off] = np.log(p[off] / p.T[off])
    assert log_odds.sum(axis=1) / (m - 1) == pytest.approx(limit_scores(make_queries(r)), abs=1e-12)


LAWS = ["btl", "thurstone", "heteroscedastic", "intransitive", "plackett-luce"]


@pytest.mark.parametrize("law", LAWS)
def test_laws(law):
    made = make_populations(law, 40, 8, 5)
    assert made.scores.shape == (40, 8)
    assert np.array_equal(made.scores, make_populations("btl", 40, 8, 5).scores)
    off = ~np.eye(8, dtype=bool)
    assert np.allclose((made.wins + made.wins.transpose(0, 2, 1))[:, off], 1)
    assert np.all(made.wins[:, ~off] == 0)
    gap = made.scores[:, :, None] - made.scores[:, None, :]
    if law in ("btl", "plackett-luce"):
        assert np.allclose(made.wins[:, off], 1 / (1 + np.exp(-gap[:, off])))
    elif law == "thurstone":
        assert np.allclose(made.wins[:, off], stats.norm.cdf(gap[:, off]))
    elif law == "heteroscedastic":
        # Every pair leans as the scores do, and what divides the gap is between the two ends.
        z = gap[:, off] / stats.norm.ppf(made.wins[:, off])
        assert z.min() > np.hypot(0.25, 0.25) - 1e-6
        assert z.max() < np.hypot(4, 4) + 1e-6
        # 1/z^2 is additive: sigma_i^2 + sigma_j^2 has no interaction among four items.
        squares = np.zeros((40, 8, 8))
        squares[:, off] = z**2
        assert np.allclose(squares[:, 0, 1] + squares[:, 2, 3], squares[:, 0, 3] + squares[:, 2, 1], rtol=1e-4)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.where(off, np.log(made.wins) - np.log(made.wins.transpose(0, 2, 1)), 0.0)
        potential = odds.mean(axis=2)
        centered = made.scores - made.scores.mean(axis=1, keepdims=True)
        assert np.allclose(potential, centered)
        cyclic = odds - gap
        # Of three independent angles the mean of (sin(a - b) + sin(b - c) + sin(c - a))^2 is 3/2; potentials cancel.
        around = cyclic[:, 0, 1] + cyclic[:, 1, 2] + cyclic[:, 2, 0]
        assert np.mean(around**2) == pytest.approx(1.5, abs=0.75)
        doubled = make_populations(law, 40, 8, 5, cycle=2.0)
        again = (
            np.where(
                off, np.log(np.where(off, doubled.wins, 0.5) / np.where(off, doubled.wins.transpose(0, 2, 1), 0.5)), 0
            )
            - gap
        )
        assert np.allclose(again, 2 * cyclic)


@pytest.mark.parametrize("law", ["low-noise", "generalized-low-noise"])
@pytest.mark.parametrize("items", [4, 7])
def test_pairs_lean_as_the_scores_do(law, items):
    made = make_populations(law, 12, items, 5)
    assert np.array_equal(made.scores, make_populations("btl", 12, items, 5).scores)
    off = ~np.eye(items, dtype=bool)
    assert np.allclose((made.wins + made.wins.transpose(0, 2, 1))[:, off], 1)
    assert np.all(made.wins[:, ~off] == 0)
    leads = np.abs(2 * made.wins[:, off] - 1)
    assert leads.min() >= 0.2 - 1e-12
    assert leads.max() <= 0.96 + 1e-12
    for wins, scores in zip(made.wins, made.scores, strict=True):
        ordered = wins[np.ix_(np.argsort(-scores), np.argsort(-scores))]
        assert np.all(ordered[np.triu_indices(items, 1)] > 0.5)
        gap = -np.diff(ordered.sum(axis=1) / (items - 1)).max()
        assert gap >= 0.03 - 1e-12 if law == "low-noise" else gap <= -0.03 + 1e-12


def test_of_two_items_no_population_has_generalized_low_noise_alone():
    with pytest.raises(SpecError, match="4 to 8 items"):
        make_populations("generalized-low-noise", 1, 2, 5)


def borda_of_hidden_context(u):
    """Return Borda's count of an item of utility u, by lengths of sets of others on which each judge prefers it."""
    risky = Fraction(4, 5)
    total = Fraction(0)
    for own in (2 * u, 0 * u) if u >= risky else (u, u):
        below = min(own, risky)  # of the others below .8, whose utility is v
        doubled = min(max(own / 2 - risky, Fraction(0)), 1 - risky)  # of the others with 2 v below it
        zeroed = (1 - risky) * (1 if own > 0 else Fraction(1, 2))
        total += (below + (doubled + zeroed) / 2) / 2
    return total


def test_hidden_context_has_the_published_borda_counts():
    for u in (Fraction(1, 100), Fraction(37, 100), Fraction(79, 100)):
        assert borda_of_hidden_context(u) == Fraction(1, 10) + u
    for u in (Fraction(4, 5), Fraction(9, 10), Fraction(1)):
        assert borda_of_hidden_context(u) == Fraction(275, 1000) + u / 4
    made = make_populations("hidden-context", 1, 1000, 5)
    expected = [float(borda_of_hidden_context(Fraction(float(u)))) for u in made.scores[0]]
    assert made.wins[0].sum(axis=1) / 999 == pytest.approx(expected, abs=1e-3)
    assert np.sort(made.scores[0]) == pytest.approx((np.arange(1000) + 0.5) / 1000)


def test_groups_of_judges():
    """Of ten items two are risky: for every two groups of judges, who prefers which item."""
    all_, doubling, zeroing = (
        make_populations("hidden-context", 1, 10, 5, judges=judges) for judges in ("all", "doubling", "zeroing")
    )
    utility = all_.scores[0]
    seen = []
    for factors in product((2.0, 0.0), repeat=2):
        own = utility.copy()
        own[np.argsort(utility)[-2:]] *= factors
        seen.append((np.sign(own[:, None] - own[None, :]) + 1) / 2 - np.eye(10) / 2)
    assert all_.wins[0] == pytest.approx(np.mean(seen, axis=0))
    assert np.array_equal(doubling.wins[0], seen[0])
    assert np.array_equal(zeroing.wins[0], seen[3])


def test_scores_are_standard_normal():
    pooled = np.stack([make_populations("btl", 100, 10, seed).scores for seed in range(10)])
    assert stats.kstest(pooled.ravel(), "norm").pvalue > 1e-3
    scores = pooled[1]
    # A longer list of populations begins with the shorter one.
    assert np.array_equal(make_populations("btl", 3, 10, 1).scores, scores[:3])
    assert not np.array_equal(make_populations("btl", 3, 10, 2).scores, scores[:3])


def test_exposure():
    assert np.allclose(make_populations("btl", 5, 4, 1).shares, 0.25)
    shares = make_populations("btl", 30, 4, 1, exposure=1.0).shares
    assert np.allclose(np.sort(shares, axis=1)[:, ::-1], np.array([1, 1 / 2, 1 / 3, 1 / 4]) / (25 / 12))
    # The order of attention is not that of the items or of the scores.
    assert len({tuple(np.argsort(row)) for row in shares}) > 10


@pytest.mark.parametrize("law", ["btl", "heteroscedastic", "intransitive"])
def test_best_orders_are_those_of_brute_force(law):
    made = make_populations(law, 20, 5, 3, cycle=3.0)
    cyclic = 0
    for wins, order, scores in zip(made.wins, best_orders(made.wins), made.scores, strict=True):

        def cost(items, wins=wins):
            return sum(wins[b, a] for at, a in enumerate(items) for b in items[at + 1 :])

        least = min(map(cost, permutations(range(5))))
        assert cost(tuple(order)) == pytest.approx(least)
        if law != "intransitive":
            assert order.tolist() == np.argsort(-scores).tolist()
        cyclic += (wins > 0.5).sum(axis=1).tolist().count(2) > 1
    assert cyclic == 0 or law == "intransitive"


def draw(wins, upto, n, nu=0.0, scores=None, seed=0):
    winners, losers, ties = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.bool_)
    scores = np.zeros(len(wins)) if scores is None else scores
    draw_votes_between(np.cumsum(upto), wins, scores, nu, seed_state((seed,)), winners, losers, ties)
    return winners, losers, ties


def test_comparisons_follow_their_probabilities():
    wins = np.array([[0, 0.9, 0.3], [0.1, 0, 0.5], [0.7, 0.5, 0]])
    share = np.array([0.5, 0.3, 0.2])
    winners, losers, ties = draw(wins, share, 60_000)
    assert not ties.any()
    counts = np.zeros((3, 3))
    np.add.at(counts, (winners, losers), 1)
    expected = wins * np.array([[0, 0.5, 0.3], [0.5, 0, 0.2], [0.3, 0.2, 0]]) * 60_000
    observed, wanted = counts[expected > 0], expected[expected > 0]
    assert counts[expected == 0].sum() == 0
    assert stats.chisquare(observed, wanted).pvalue > 1e-3
    first = draw(wins, share, 100)
    assert np.array_equal(first[0], winners[:100])


def test_ties_follow_the_model_of_davidson():
    scores = np.array([1.0, -0.5])
    wins = np.array([[0, 1 / (1 + np.exp(-1.5))], [1 / (1 + np.exp(1.5)), 0]])
    winners, _, ties = draw(wins, np.ones(1), 60_000, 0.7, scores)
    masses = np.array([np.exp(1.0), np.exp(-0.5), 0.7 * np.exp(0.25)])
    counts = [(~ties & (winners == 0)).sum(), (~ties & (winners == 1)).sum(), ties.sum()]
    assert stats.chisquare(counts, masses / masses.sum() * 60_000).pvalue > 1e-3


def test_ballots_are_plackett_luce_orders_of_uniform_sets():
    scores, n = np.array([1.0, 0.0, -0.5, 0.3]), 60_000
    ballots = np.empty((n, 3), np.int32)
    draw_ballots(scores, 3, seed_state((4,)), ballots)
    short = np.empty((50, 3), np.int32)
    draw_ballots(scores, 3, seed_state((4,)), short)
    assert np.array_equal(short, ballots[:50])
    worth = np.exp(scores)
    observed, expected = [], []
    for a, b, c in permutations(range(4), 3):
        observed.append((ballots == [a, b, c]).all(axis=1).sum())
        expected.append(n / 4 * worth[a] / worth[[a, b, c]].sum() * worth[b] / worth[[b, c]].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-3
