"""Firth's penalized likelihood: the maximum of its definition, and what is known of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from minima import step_to_minimum
from numpy.typing import NDArray
from scipy.special import expit

from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.likelihood.davidson_firth import (
    firth_bradley_terry,
    firth_davidson,
    pseudo_votes,
)
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.resamples import resamples_of
from rankbench.logs.count import count_clusters, count_pairs
from rankbench.ranking.ranked_log import CountedVotes

M = 5


def drawn(seed: int, n: int, *, m: int = M, ties: float = 0.0, weighted: bool = False) -> PairCounts:
    rng = np.random.default_rng([seed, n])
    # All are connected.
    a = np.concatenate([np.arange(m - 1), rng.integers(m, size=n)])
    b = np.concatenate([np.arange(1, m), (a[m - 1 :] + rng.integers(1, m, size=n)) % m])
    won = rng.random(len(a)) < expit(0.7 * (b - a))
    tied = rng.random(len(a)) < ties
    weights = rng.random(len(a)) + 0.5 if weighted else None
    return count_pairs(np.where(won, a, b), np.where(won, b, a), ties=tied, weights=weights, m=m)


def penalized(counts: PairCounts, x: NDArray[np.complex128], davidson: bool) -> complex:
    """Return the log-likelihood and half the log determinant of the information, of x = s_1, .., s_{m-1}[, log nu]."""
    m = counts.m
    scores, log_nu = np.append(0, x[: m - 1]), x[-1]
    total, information = 0j, np.zeros((m + davidson, m + davidson), complex)
    for i, j, *said in zip(counts.low, counts.high, counts.forward, counts.backward, counts.ties, strict=True):
        says = np.zeros((2 + davidson, m + davidson))
        says[0, i] = says[1, j] = 1
        level = [scores[i], scores[j]]
        if davidson:
            says[2, [i, j, m]] = 0.5, 0.5, 1
            level.append((scores[i] + scores[j]) / 2 + log_nu)
        else:
            said = [said[0] + said[2] / 2, said[1] + said[2] / 2]
        chances = np.exp(level) / np.exp(level).sum()
        total += np.dot(said, np.log(chances))
        mean = chances @ says
        information += sum(said) * ((says.T * chances) @ says - np.outer(mean, mean))
    return complex(total + np.log(np.linalg.det(information[1:, 1:])) / 2)


def step_to_maximum(counts: PairCounts, scores: NDArray[np.float64], *log_nu: float) -> NDArray[np.float64]:
    """Return Newton's step from the differences to the first score, and from log nu."""
    at = np.array([*(scores[1:] - scores[0]), *log_nu])
    return step_to_minimum(lambda x: -penalized(counts, x, bool(log_nu)), at)


@pytest.mark.parametrize("davidson", [False, True])
@pytest.mark.parametrize(
    ("n", "ties", "weighted"), [(4, 0.0, False), (6, 0.5, False), (30, 0.3, False), (30, 0.3, True), (300, 0.1, False)]
)
def test_scores_are_the_maximum_of_the_penalized_likelihood(
    n: int, ties: float, weighted: bool, davidson: bool
) -> None:
    counts = drawn(1 + davidson, n, ties=ties or 0.5 * davidson, weighted=weighted)
    assert counts.ties.any() == (ties > 0 or davidson)
    fit = firth_davidson(counts) if davidson else firth_bradley_terry(counts)
    assert fit.scores.sum() == pytest.approx(0, abs=1e-9)
    log_nu = [np.log(fit.nu)] if davidson else []
    assert np.abs(step_to_maximum(counts, fit.scores, *log_nu)).max() < 1e-8


@given(st.integers(0, 50), st.integers(1, 50))
def test_a_pair_has_half_a_vote_more_each_way(won: int, lost: int) -> None:
    counts = count_pairs([0] * won + [1] * lost, [1] * won + [0] * lost, m=2)
    scores = firth_bradley_terry(counts).scores
    assert scores[0] - scores[1] == pytest.approx(np.log((won + 0.5) / (lost + 0.5)), abs=1e-9)


def test_pairs_in_a_chain_are_pairs_by_themselves() -> None:
    """Of a tree every edge has a hat value of one."""
    counts = count_pairs([0] * 7 + [1] * 2 + [2] * 3, [1] * 7 + [0] * 2 + [1] * 3, m=3)
    scores = firth_bradley_terry(counts).scores
    assert scores[0] - scores[1] == pytest.approx(np.log(7.5 / 2.5))
    assert scores[2] - scores[1] == pytest.approx(np.log(3.5 / 0.5))


@given(st.integers(0, 1000))
def test_hat_values_are_as_many_as_items_but_one(seed: int) -> None:
    counts = drawn(seed, 20, ties=0.2)
    more = pseudo_votes(counts, firth_bradley_terry(counts))
    assert more.sum() == pytest.approx(M - 1)
    assert (more >= 0).all()
    if counts.ties.any():
        assert (pseudo_votes(counts, firth_davidson(counts)) >= 0).all()


def test_components_are_apart() -> None:
    """Each component's scores are what it has by itself, and sum to zero."""
    counts = count_pairs([0, 0, 1, 3, 3, 4], [1, 1, 2, 4, 4, 3], m=6)
    scores = firth_bradley_terry(counts).scores
    alone = firth_bradley_terry(count_pairs([0, 0, 1], [1, 1, 0], m=2)).scores
    np.testing.assert_allclose(scores[3:5], alone, atol=1e-9)
    assert scores[:3].sum() == pytest.approx(0, abs=1e-12)
    assert scores[5] == 0


def test_without_ties_or_with_nothing_else() -> None:
    counts = drawn(5, 40)
    fit = firth_davidson(counts)
    np.testing.assert_array_equal(fit.scores, firth_bradley_terry(counts).scores)
    assert fit.nu == 0
    ties = firth_davidson(count_pairs([0, 1], [1, 2], ties=[True, True]))
    assert ties.nu == np.inf
    assert (ties.scores == 0).all()


def pair(won: int, n: int) -> PairCounts:
    return count_pairs([0] * won + [1] * (n - won), [1] * won + [0] * (n - won), m=2)


@pytest.mark.parametrize("method", [BradleyTerry(penalty="firth"), Davidson(penalty="firth")])
def test_an_interval_of_a_pair_is_that_of_its_votes_and_half_a_vote_each_way(method: BradleyTerry | Davidson) -> None:
    """The sandwich of a single pair: 1 / (k + 1/2) + 1 / (n - k + 1/2), but for the leverage 1 / (n + 1) of votes."""
    for won in (0, 3, 20):
        counts = pair(won, 20)
        found = method.covariance(counts, method.from_counts(counts), None)
        votes, p = 21, (won + 0.5) / 21
        middle = 0.5 * (p**2 + (1 - p) ** 2) + (won * (1 - p) ** 2 + (20 - won) * p**2) / (1 - 1 / 21)
        variance = middle / (votes * p * (1 - p)) ** 2
        assert found[0, 0] + found[1, 1] - 2 * found[0, 1] == pytest.approx(variance, rel=1e-5)
        assert variance == pytest.approx(1 / (won + 0.5) + 1 / (20.5 - won), rel=0.06)


def test_davidsons_sandwich_is_that_of_single_votes() -> None:
    """By cluster with one vote each, and by sums: the same numbers."""
    rng = np.random.default_rng(3)
    a = rng.integers(M, size=200)
    b = (a + rng.integers(1, M, size=200)) % M
    ties = rng.random(200) < 0.3
    method = Davidson(penalty="firth")
    data = count_clusters(a, b, np.arange(200), ties=ties, m=M)
    scores = method.from_counts(data.counts)
    found = method.covariance(data.counts, scores, None)
    np.testing.assert_allclose(found, method.covariance(data.counts, scores, data), rtol=1e-4, atol=1e-8)
    # The inverse information, where the model holds.
    halved = replace(
        data.counts, **{name: 500 * getattr(data.counts, name) for name in ("forward", "backward", "ties")}
    )
    many = method.covariance(halved, method.from_counts(halved), None) * 500
    assert np.abs(many / found - 1).max() < 0.5


def test_resamples_have_the_pseudo_votes_of_the_log() -> None:
    counts = drawn(4, 400)
    method = BradleyTerry(penalty="firth")
    scores = method.from_counts(counts)
    resamples = resamples_of(counts, 20, 0)
    found = method.replicates(scores, resamples)
    more = pseudo_votes(counts, method.fitted(counts))[0]
    key = {(i, j): e for e, (i, j) in enumerate(zip(counts.low, counts.high, strict=True))}
    for row, one in zip(found, resamples, strict=True):
        at = [key[i, j] for i, j in zip(one.low, one.high, strict=True)]
        forward, backward = more.copy(), more.copy()
        forward[at] += one.forward
        backward[at] += one.backward
        from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry

        padded = replace(counts, forward=forward, backward=backward)
        np.testing.assert_allclose(row, fit_bradley_terry(padded).scores, atol=1e-7)
        np.testing.assert_allclose(row, method.from_counts(one), atol=0.03)


def notes_of(counts: PairCounts, method: BradleyTerry) -> list[str]:
    log = CountedVotes(counts)
    return log.notes(method, log.scales(method))


def test_what_is_estimated_of_many_items_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scales are the connected components, of however many items."""
    counts = drawn(6, 30, m=8)
    method = BradleyTerry(penalty="firth")
    assert notes_of(counts, method) == []
    for module in ("ranking.ranked_log", "aggregators.likelihood.laplacian_system"):
        monkeypatch.setattr(f"rankbench.{module}.MOST_DENSE", 5)
    monkeypatch.setattr("rankbench.aggregators.likelihood.elimination.MOST_NEIGHBORS", 2)
    (note,) = notes_of(counts, method)
    assert note.startswith("shares of pairs in Firth's penalty are exact but for pairs of the 8 items")
    assert len(method.scales(counts).sizes) == 1
    assert notes_of(counts, BradleyTerry()) == []
