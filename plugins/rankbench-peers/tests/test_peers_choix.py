"""choix through rankbench against choix called directly, and against the formula."""

import numpy as np
import pytest

import rankbench
from rankbench.errors import ContenderDiverged, InputError
from rankbench_peers.from_choix import ChoixIlsr, ChoixLsr, ChoixMm, ChoixOpt, ChoixRankCentrality
from rankbench_peers.votes import common_unit, listed, wins

choix = pytest.importorskip("choix")

M = 6


@pytest.fixture
def votes():
    rng = np.random.default_rng(4)
    a = rng.integers(0, M, 400)
    b = (a + rng.integers(1, M, 400)) % M
    first = rng.random(400) < 1 / (1 + np.exp(0.4 * (a - b)))
    return np.where(first, a, b).astype(np.int32), np.where(first, b, a).astype(np.int32)


def slope(s, winners, losers, weights, ridge=0.0):
    """Return the derivative of ``weights @ log(1 + exp(s[losers] - s[winners])) + ridge / 2 s @ s``."""
    lost = weights / (1 + np.exp(s[winners] - s[losers]))
    return np.bincount(losers, lost, M) - np.bincount(winners, lost, M) + ridge * s


@pytest.mark.parametrize(
    ("peer", "function"),
    [
        (ChoixLsr, choix.lsr_pairwise),
        (ChoixIlsr, choix.ilsr_pairwise),
        (ChoixMm, choix.mm_pairwise),
        (ChoixRankCentrality, choix.rank_centrality),
        (ChoixOpt, choix.opt_pairwise),
    ],
)
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_it_is_what_choix_gives_on_the_same_votes(votes, peer, function, alpha):
    found = peer(alpha=alpha).aggregate(*votes, np.ones(400), M)
    direct = function(M, list(zip(*(v.tolist() for v in votes), strict=True)), alpha=alpha)
    np.testing.assert_allclose(found, direct, atol=1e-7)


@pytest.mark.parametrize("peer", [ChoixIlsr, ChoixMm])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_regularization_it_is_maximum_likelihood(votes, peer, weighted):
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.5], 400) if weighted else np.ones(400)
    found = peer(alpha=0).aggregate(*votes, weights, M)
    assert np.abs(slope(found, *votes, weights)).max() < 1e-6 * weights.sum()


def test_alpha_one_half_of_opt_is_our_ridge_of_one_with_ties_and_weights(votes):
    rng = np.random.default_rng(2)
    said = rankbench.Comparisons(np.array([0, 400]), *votes, rng.choice([1.0, 3.0], 400), rng.random(400) < 0.4)
    ours = rankbench.get(rankbench.Aggregator, "bradley-terry:ridge=1").from_comparisons(said, M)
    theirs = ChoixOpt(alpha=0.5, tolerance=1e-10).from_comparisons(said, M)
    whole = said.without_ties()
    for found, close in ((theirs, 1e-6), (ours, 1e-9)):
        assert np.abs(slope(found, whole.winners, whole.losers, whole.weights, ridge=1.0)).max() < close * 400


@pytest.mark.parametrize("peer", [ChoixLsr, ChoixIlsr, ChoixMm, ChoixRankCentrality])
def test_half_votes_are_listed_so_that_alpha_means_the_same(votes, peer):
    ones, halves = np.ones(400), np.full(800, 0.5)
    twice = [np.concatenate([v, v]) for v in votes]
    found = peer(alpha=0.3).aggregate(*twice, halves, M)
    np.testing.assert_allclose(found, peer(alpha=0.3).aggregate(*votes, ones, M), atol=1e-6)


@pytest.mark.parametrize("peer", [ChoixLsr, ChoixIlsr, ChoixMm, ChoixRankCentrality, ChoixOpt])
def test_a_weight_of_w_is_w_votes(votes, peer):
    rng = np.random.default_rng(5)
    weights, ties = rng.integers(1, 5, 400), rng.random(400) < 0.3
    rows = np.repeat(np.arange(400), weights)
    one = rankbench.Comparisons(np.array([0, 400]), *votes, weights.astype(float), ties)
    winners, losers = (side[rows] for side in votes)
    many = rankbench.Comparisons(np.array([0, len(rows)]), winners, losers, np.ones(len(rows)), ties[rows])
    found, expected = (peer(alpha=0.3).from_comparisons(said, M) for said in (one, many))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_no_solution_is_a_divergence_that_says_so():
    winners, losers = np.array([0, 0, 1], dtype=np.int32), np.array([1, 2, 2], dtype=np.int32)
    for peer in (ChoixLsr, ChoixIlsr, ChoixMm, ChoixRankCentrality):
        with pytest.raises(ContenderDiverged, match="choix"):
            peer(alpha=0).aggregate(winners, losers, np.ones(3), 3)
        assert np.all(np.diff(peer(alpha=0.1).aggregate(winners, losers, np.ones(3), 3)) < 0)


def test_giving_up_is_a_divergence(votes):
    with pytest.raises(ContenderDiverged, match="converge after 2"):
        ChoixMm(alpha=0, iterations=2).aggregate(*votes, np.ones(400), M)


@pytest.mark.parametrize("counts", [[1, 2, 3], [2, 5], [7], [1, 1000, 999]])
@pytest.mark.parametrize("unit", [1.0, 0.5, 1 / 3, 124 / 123, 1e-9])
def test_weights_are_told_in_votes(counts, unit):
    table = np.zeros((4, 4))
    table[0, 1 : 1 + len(counts)] = np.array(counts) * unit
    rows, weight = listed(table)
    np.testing.assert_allclose(weight, unit * np.gcd.reduce(counts), rtol=1e-6)
    back = wins(*(np.array(v, dtype=np.int32) for v in zip(*rows, strict=True)), np.full(len(rows), weight), 4)
    np.testing.assert_allclose(back, table, rtol=1e-6)


def test_weights_that_are_no_votes_are_refused():
    with pytest.raises(InputError, match="not multiples"):
        common_unit(np.array([1.0, np.pi, np.e]))
    with pytest.raises(InputError, match="there would be"):
        listed(np.array([[0, 1e-7], [1.0, 0]]))
