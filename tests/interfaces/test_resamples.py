"""Resamples: the units that are drawn, the same in every form and for every log of as many units."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry, refitted
from rankbench.errors import InputError
from rankbench.interfaces import resamples
from rankbench.interfaces.aggregator import CountAggregator
from rankbench.interfaces.aggregator_calls import replicates_of
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts, Scales
from rankbench.interfaces.resamples import draws_of, resamples_of
from rankbench.logs.count import count_clusters, count_pairs

N, M = 500, 5


@pytest.fixture(scope="module")
def log() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    winners = rng.integers(0, M, N)
    return winners, (winners + rng.integers(1, M, N)) % M, rng.random(N) < 0.2


def cells(counts: PairCounts) -> np.ndarray:
    """Return the sums of all pairs, shape (M, M, 3)."""
    whole = np.zeros((M, M, 3))
    whole[counts.low, counts.high] = np.column_stack([counts.forward, counts.backward, counts.ties])
    return whole


def test_as_many_units_as_there_are_are_drawn() -> None:
    draws = draws_of(40, 300, 7)
    times = np.array([draws.times(r) for r in range(len(draws))])
    assert (times.sum(axis=1) == 40).all()
    # Binomial: of 12,000 draws each unit gets 300, give or take 17.
    assert np.abs(times.sum(axis=0) - 300).max() < 5 * 17
    np.testing.assert_array_equal(draws_of(40, 500, 7).times(12), draws.times(12))
    assert not np.array_equal(draws_of(40, 300, 8).times(0), draws.times(0))


def test_sums_are_those_of_the_units_that_were_drawn(log: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    winners, losers, ties = log
    judges = np.arange(N) % 20
    found = resamples_of(count_clusters(winners, losers, np.array([f"{j:02d}" for j in judges]), ties=ties), 5, 3)
    for r, counts in enumerate(found):
        rows = np.repeat(np.arange(N), found.draws.times(r)[judges])
        expected = count_pairs(winners[rows], losers[rows], ties=ties[rows], m=M)
        np.testing.assert_array_equal(cells(counts), cells(expected))


@pytest.fixture(scope="module")
def talkative() -> ClusterCounts:
    """Six judges who say much, in weights that are no whole numbers."""
    rng = np.random.default_rng(2)
    n, m = 900, 12
    winners = rng.integers(0, m, n)
    losers = (winners + rng.integers(1, m, n)) % m
    judges = np.sort(rng.integers(0, 6, n))
    return count_clusters(winners, losers, judges, weights=rng.random(n), ties=rng.random(n) < 0.1, m=m)


def by_judge(data: ClusterCounts, times: np.ndarray) -> np.ndarray:
    """Add up what the judges said about each pair, (P, 3), one judge after the other."""
    sums = np.zeros(3 * len(data.counts))
    for judge, count in enumerate(times):
        rows = slice(data.starts[judge], data.starts[judge + 1])
        sums[data.cells[rows]] += data.weights[rows] * count
    return sums.reshape(-1, 3)


@pytest.mark.parametrize("tile", [1, 5, 4096])
@pytest.mark.parametrize("at_once", [1, 9_000, 15_000, 10**8])
@pytest.mark.parametrize("count", [1, 4, 11])
def test_what_is_added_up_does_not_depend_on_how_many_resamples_are_made_at_once(
    monkeypatch: pytest.MonkeyPatch, talkative: ClusterCounts, tile: int, at_once: int, count: int
) -> None:
    """To the last bit: the judges in their order, whatever the weights."""
    monkeypatch.setattr(resamples, "_TILE", tile)
    monkeypatch.setattr(resamples, "_AT_ONCE", at_once)
    monkeypatch.setattr(resamples, "_AT_MOST", at_once)
    found = resamples_of(talkative, count, 3)
    expected = [by_judge(talkative, found.draws.times(r)) for r in range(count)]
    many = {first + r: sums.copy() for first, batch in found.batches() for r, sums in enumerate(batch)}
    assert sorted(many) == list(range(count))
    for r, (wanted, one) in enumerate(zip(expected, found, strict=True)):
        np.testing.assert_array_equal(many[r].T, wanted)
        drawn = (wanted > 0).any(axis=1)
        for counts in (one, found.sums(r)):
            np.testing.assert_array_equal(
                np.column_stack([counts.forward, counts.backward, counts.ties]), wanted[drawn]
            )
            np.testing.assert_array_equal(counts.low, talkative.counts.low[drawn])


def test_resamples_that_are_kept_are_not_written_over(
    talkative: ClusterCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resamples, "_AT_ONCE", 1)
    monkeypatch.setattr(resamples, "_AT_MOST", 1)
    found = resamples_of(talkative, 9, 3)
    for r, one in enumerate(list(found)):
        np.testing.assert_array_equal(one.forward, found.sums(r).forward)


def test_judges_who_say_little_and_judges_who_say_much_are_added_up_alike(
    monkeypatch: pytest.MonkeyPatch, log: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    """Whole numbers are exact in any order."""
    winners, losers, ties = log
    data = count_clusters(winners, losers, np.arange(N) % 20, ties=ties)
    drawn = []
    for most in (0, 10**6):
        monkeypatch.setattr(resamples, "_SAYS_MUCH", most)
        drawn.append(np.array([cells(one) for one in resamples_of(data, 30, 3)]))
    np.testing.assert_array_equal(*drawn)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_refits_are_fits_of_what_was_added_up(ridge: float) -> None:
    """Two groups of items, of whom one never lost to the other: judgments between them say nothing without a ridge."""
    rng = np.random.default_rng(4)
    n = 1200
    group = rng.integers(0, 2, n)
    winners = 5 * group + rng.integers(0, 5, n)
    losers = np.where(rng.random(n) < 0.2, rng.integers(5, 10, n), 5 * group + (winners + rng.integers(1, 5, n)) % 5)
    winners = np.where((losers >= 5) & (group == 0), winners % 5, winners)
    kept = winners != losers
    judges = rng.integers(0, 8, n)[kept]
    data = count_clusters(winners[kept], losers[kept], judges, weights=rng.random(kept.sum()) + 0.5, m=10)
    fit = fit_bradley_terry(data.counts, ridge=ridge)
    assert len(fit.scales.sizes) == (1 if ridge else 2)
    drawn = resamples_of(data, 10, 1)
    found = refitted(fit, drawn)
    for row, counts in zip(found, drawn, strict=True):
        np.testing.assert_allclose(row, fit_bradley_terry(counts, ridge=ridge).scores, atol=1e-8)


@pytest.mark.parametrize("most", [N, N - 1])
def test_judgments_are_drawn_one_by_one_or_by_their_outcome(
    monkeypatch: pytest.MonkeyPatch, log: tuple[np.ndarray, np.ndarray, np.ndarray], most: int
) -> None:
    monkeypatch.setattr(resamples, "_MOST_DRAWN", most)
    winners, losers, ties = log
    counts = count_pairs(winners, losers, ties=ties)
    found = resamples_of(counts, 400, 3)
    assert len(found.cells) == (N if most == N else 0)
    drawn = np.array([cells(one) for one in found])
    assert (drawn.sum(axis=(1, 2, 3)) == N).all()
    p = cells(counts) / N
    np.testing.assert_allclose(drawn.mean(axis=0), N * p, atol=5 * np.sqrt(N * p.max() / 400))
    np.testing.assert_allclose(drawn.var(axis=0), N * p * (1 - p), atol=0.35 * N * p.max())


def test_what_cannot_be_resampled() -> None:
    with pytest.raises(InputError, match="by cluster"):
        resamples_of(count_pairs([0, 1], [1, 0], weights=[1.0, 2.0]), 10, 0)


class Likelihood(CountAggregator):
    """Scores that stand on scales of their own, as those of plain maximum likelihood do."""

    name: ClassVar[str] = "likelihood"
    source: ClassVar[str] = "a test"

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        return fit_bradley_terry(counts).scores

    def scales(self, counts: PairCounts) -> Scales:
        return counts.strongly_connected


class Plain(CountAggregator):
    """The same formula, said to stand on one scale wherever comparisons connect."""

    name: ClassVar[str] = "plain"
    source: ClassVar[str] = "a test"

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        return fit_bradley_terry(counts).scores


def test_a_resample_that_cuts_a_scale_has_no_scores() -> None:
    """Two groups: in the log each is strongly connected, and of no comparison between them the other way round."""
    within = [(0, 1), (1, 0), (1, 2), (2, 1), (3, 4), (4, 3)]
    winners, losers = np.array([*3 * within, (0, 3), (2, 4)]).T
    whole = resamples_of(count_pairs(winners, losers), 200, 5)
    found = replicates_of(Likelihood(), np.zeros(5), whole)
    scale = np.array([0, 0, 0, 1, 1])
    cut = []
    for counts in whole:
        beaten = np.eye(5, dtype=bool)
        beaten[counts.low[counts.forward > 0], counts.high[counts.forward > 0]] = True
        beaten[counts.high[counts.backward > 0], counts.low[counts.backward > 0]] = True
        reached = np.linalg.matrix_power(beaten.astype(int), 5) > 0
        mutual = reached & reached.T
        cut.append(not mutual[scale[:, None] == scale].all())
    assert 20 < sum(cut) < 190
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), cut)
    assert np.isfinite(found[~np.array(cut)]).all()
    # A class whose scales are those of all methods keeps what has scores.
    assert np.isfinite(replicates_of(Plain(), np.zeros(5), whole)).all()


def test_bradley_terry_with_a_ridge_keeps_resamples_in_which_items_fall_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resamples, "_MOST_DRAWN", 1)
    counts = count_pairs(*np.array([[0, 1], [1, 0], [1, 2], [2, 1]]).T)
    few = resamples_of(counts, 100, 5)
    assert not len(few.cells)
    assert np.isfinite(BradleyTerry(ridge=1.0).replicates(np.zeros(3), few)).all()
    without = np.isnan(BradleyTerry(ridge=0.0).replicates(np.zeros(3), few)).all(axis=1)
    np.testing.assert_array_equal(without, [len(one.strongly_connected.sizes) > 1 for one in few])
