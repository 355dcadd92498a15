"""evalica through rankbench against evalica called directly, and what is wrong with it."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import kendalltau

import rankbench
from rankbench.errors import ContenderDiverged, InputError
from rankbench_peers.from_evalica import (
    EvalicaAverageWinRate,
    EvalicaBradleyTerry,
    EvalicaCounting,
    EvalicaEigen,
    EvalicaElo,
    EvalicaNewman,
    EvalicaPageRank,
)

evalica = pytest.importorskip("evalica")
pandas = pytest.importorskip("pandas")

M, K = 7, 900


@pytest.fixture
def said():
    """Votes that prefer low numbers, a fifth of them ties, with weights."""
    rng = np.random.default_rng(3)
    a = rng.integers(0, M, K)
    b = (a + rng.integers(1, M, K)) % M
    first = rng.random(K) < 1 / (1 + np.exp(0.5 * (a - b)))
    winners, losers = np.where(first, a, b).astype(np.int32), np.where(first, b, a).astype(np.int32)
    return rankbench.Comparisons(np.array([0, K]), winners, losers, rng.choice([1.0, 2.0], K), rng.random(K) < 0.2)


PEERS = [
    (EvalicaAverageWinRate, evalica.average_win_rate),
    (EvalicaBradleyTerry, evalica.bradley_terry),
    (EvalicaCounting, evalica.counting),
    (EvalicaEigen, evalica.eigen),
    (EvalicaNewman, evalica.newman),
    (EvalicaPageRank, evalica.pagerank),
]


@pytest.mark.parametrize(("peer", "function"), PEERS)
def test_it_is_what_evalica_gives_with_its_own_defaults_for_names_in_any_order(said, peer, function):
    outcomes = [evalica.Winner.Draw if tie else evalica.Winner.X for tie in said.ties]
    names = [f"item {i}" for i in range(M)]
    direct = function(
        [names[i] for i in said.winners],
        [names[i] for i in said.losers],
        outcomes,
        index=pandas.Index(names),
        weights=said.weights.tolist(),
    ).scores
    found = peer().from_comparisons(said, M)
    np.testing.assert_array_equal(found, [direct[name] for name in names])
    assert len(np.unique(found)) == M


@pytest.mark.parametrize("peer", [EvalicaBradleyTerry, EvalicaEigen, EvalicaNewman, EvalicaPageRank])
def test_the_log_scale_is_the_logarithm(said, peer):
    own = peer().from_comparisons(said, M)
    np.testing.assert_allclose(peer(scale="log").from_comparisons(said, M), np.log(own))


def test_parameters_arrive(said):
    for peer, other in [
        (EvalicaCounting(), EvalicaCounting(tie_weight=0.1)),
        (EvalicaElo(), EvalicaElo(k=40)),
        (EvalicaPageRank(), EvalicaPageRank(damping=0.3)),
        (EvalicaBradleyTerry(), EvalicaBradleyTerry(limit=1)),
        (EvalicaNewman(), EvalicaNewman(tie_weight=0.3)),
        (EvalicaEigen(), EvalicaEigen(limit=1)),
    ]:
        assert not np.allclose(peer.from_comparisons(said, M), other.from_comparisons(said, M))


def slopes(scores, said, nu=0.0):
    """Return the slopes of Davidson's log-likelihood in the scores, shape (M,), and in the logarithm of nu.

    Chances are proportional to ``exp(d/2)``, ``exp(-d/2)`` and nu for a win, a loss and a tie; without ties and nu
    they are those of Bradley and Terry.
    """
    d = scores[said.winners] - scores[said.losers]
    up, down = np.exp(d / 2), np.exp(-d / 2)
    whole, ties = up + down + nu, np.zeros(len(d)) if said.ties is None else said.ties
    by_vote = said.weights * (np.where(ties, 0, 1) - (up - down) / whole) / 2
    in_scores = np.bincount(said.winners, by_vote, M) - np.bincount(said.losers, by_vote, M)
    return in_scores, float(said.weights @ (ties - nu / whole))


def test_bradley_terry_is_where_the_likelihood_is_level(said):
    votes = said.without_ties()
    theirs = EvalicaBradleyTerry(scale="log", limit=10_000, tolerance=1e-12).from_comparisons(said, M)
    ours = rankbench.get(rankbench.Aggregator, "bradley-terry:ridge=1e-9").from_comparisons(said, M)
    for found in (theirs, ours):
        np.testing.assert_allclose(slopes(found, votes)[0] / votes.weights.sum(), 0, atol=1e-9)


def test_newman_is_where_davidsons_likelihood_is_level(said):
    theirs = EvalicaNewman(scale="log", limit=10_000, tolerance=1e-12).from_comparisons(said, M)
    ours = rankbench.get(rankbench.Aggregator, "davidson:ridge=1e-9").from_comparisons(said, M)
    for found in (theirs, ours):
        nu = math.exp(brentq(lambda power, found=found: slopes(found, said, math.exp(power))[1], -9, 9, xtol=1e-14))
        np.testing.assert_allclose(slopes(found, said, nu)[0] / said.weights.sum(), 0, atol=1e-9)


def test_elo_is_ours_on_the_scale_of_chess_with_ties_and_weights(said):
    ours = rankbench.get(rankbench.Aggregator, "elo:factor=20").from_comparisons(said, M)
    theirs = EvalicaElo(k=20).from_comparisons(said, M)
    np.testing.assert_allclose((theirs - 1000) * math.log(10) / 400, ours, atol=1e-9)


def test_elo_is_evalicas_on_each_vote_as_often_as_it_weighs(said):
    rows = np.repeat(np.arange(K), said.weights.astype(int))
    outcomes = [evalica.Winner.Draw if tie else evalica.Winner.X for tie in said.ties[rows]]
    direct = evalica.elo(said.winners[rows].tolist(), said.losers[rows].tolist(), outcomes).scores
    np.testing.assert_array_equal(EvalicaElo().from_comparisons(said, M), direct[range(M)])


def test_elo_refuses_weights_that_are_no_votes():
    one = np.array([0], dtype=np.int32), np.array([1], dtype=np.int32)
    with pytest.raises(InputError, match=r"weight of 0\.5 is no number of votes"):
        EvalicaElo().aggregate(*one, np.full(1, 0.5), 2)
    with pytest.raises(InputError, match="there would be 3,000,000"):
        EvalicaElo().aggregate(*one, np.full(1, 3e6), 2)


@pytest.mark.parametrize("peer", [*(peer for peer, _ in PEERS), EvalicaElo])
def test_a_weight_of_w_is_w_votes(said, peer):
    rows = np.repeat(np.arange(K), said.weights.astype(int))
    ones = np.ones(len(rows))
    many = rankbench.Comparisons(np.array([0, len(rows)]), said.winners[rows], said.losers[rows], ones, said.ties[rows])
    np.testing.assert_allclose(peer().from_comparisons(said, M), peer().from_comparisons(many, M), rtol=1e-6)


def test_pagerank_and_win_rates_are_ours(said):
    theirs = EvalicaAverageWinRate().from_comparisons(said, M)
    counts = np.zeros((M, M))
    whole = said.without_ties()
    np.add.at(counts, (whole.winners, whole.losers), whole.weights)
    share = counts / np.where(counts + counts.T > 0, counts + counts.T, 1)
    np.testing.assert_allclose(theirs, share.sum(axis=1) / (M - 1))
    np.testing.assert_allclose(EvalicaCounting().from_comparisons(said, M), counts.sum(axis=1))
    assert kendalltau(EvalicaPageRank().from_comparisons(said, M), -np.arange(M)).statistic > 0.8


def test_an_item_without_a_logarithm_is_a_divergence():
    winners, losers = np.array([0, 0], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    with pytest.raises(ContenderDiverged, match="no logarithm"):
        EvalicaEigen(scale="log").aggregate(winners, losers, np.ones(2), 3)


# What is wrong with evalica. Where one of these fails, evalica was mended: say so in the README.


def test_eigen_ranks_in_reverse():
    """Four items, each pair compared ten times, the lower number wins eight: evalica 0.4.2."""
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    winners = np.array([i for i, _ in pairs] * 8 + [j for _, j in pairs] * 2, dtype=np.int32)
    losers = np.array([j for _, j in pairs] * 8 + [i for i, _ in pairs] * 2, dtype=np.int32)
    found = EvalicaEigen().aggregate(winners, losers, np.ones(60), 4)
    np.testing.assert_allclose(found, [0.2582, 0.3651, 0.5164, 0.7303], atol=1e-4)
    for solver in ("pyo3", "naive"):
        direct = evalica.eigen(winners.tolist(), losers.tolist(), [evalica.Winner.X] * 60, solver=solver).scores
        np.testing.assert_allclose(direct[range(4)], found, atol=1e-6)
    # What an eigenvector of the wins gives is what evalica gives if every vote is turned around.
    turned = EvalicaEigen().aggregate(losers, winners, np.ones(60), 4)
    wins = np.where(np.triu(np.ones((4, 4)), 1) > 0, 8.0, 2.0) * (1 - np.eye(4))
    perron = np.abs(np.linalg.eig(wins).eigenvectors[:, np.argmax(np.linalg.eig(wins).eigenvalues.real)].real)
    np.testing.assert_allclose(turned, perron, atol=1e-5)
    for peer in (EvalicaBradleyTerry, EvalicaNewman, EvalicaPageRank, EvalicaCounting, EvalicaAverageWinRate):
        assert np.all(np.diff(peer().aggregate(winners, losers, np.ones(60), 4)) < 0)


def test_weights_of_elo_multiply_the_outcome_and_not_the_step():
    def ratings(weight):
        return evalica.elo([0], [1], [evalica.Winner.X], weights=[weight], k=4, initial=1000).scores[[0, 1]].tolist()

    assert ratings(1.0) == [1002, 998]
    # Twice a step of 2 is 4; half of it is 1.
    assert ratings(2.0) == [1006, 998]
    assert ratings(0.5) == [1000, 998]
