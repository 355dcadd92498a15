"""Resamples: the units that are drawn, the same in every form and for every log of as many units."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry
from rankbench.counts.clusters import count_clusters
from rankbench.counts.count import count_pairs
from rankbench.errors import InputError
from rankbench.kinds import resamples
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.counts import PairCounts
from rankbench.kinds.resamples import draws_of, resamples_of
from rankbench.kinds.scales import Scales, strongly_connected

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
    with pytest.raises(InputError, match="seed"):
        draws_of(3, 10, -1)


class Likelihood(Aggregator):
    """Scores that stand on scales of their own, as those of plain maximum likelihood do."""

    name: ClassVar[str] = "likelihood"
    source: ClassVar[str] = "a test"

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        return fit_bradley_terry(counts).scores

    def scales(self, counts: PairCounts) -> Scales:
        return strongly_connected(counts)


class Plain(Likelihood):
    """The same formula, said to stand on one scale wherever comparisons connect."""

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        return fit_bradley_terry(counts).scores


def test_a_resample_that_cuts_a_scale_has_no_scores() -> None:
    """Two groups: in the log each is strongly connected, and of no comparison between them the other way round."""
    within = [(0, 1), (1, 0), (1, 2), (2, 1), (3, 4), (4, 3)]
    winners, losers = np.array([*3 * within, (0, 3), (2, 4)]).T
    whole = resamples_of(count_pairs(winners, losers), 200, 5)
    found = Likelihood().replicates(np.zeros(5), whole)
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
    assert np.isfinite(Plain().replicates(np.zeros(5), whole)).all()


def test_bradley_terry_with_a_ridge_keeps_resamples_in_which_items_fall_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resamples, "_MOST_DRAWN", 1)
    counts = count_pairs(*np.array([[0, 1], [1, 0], [1, 2], [2, 1]]).T)
    few = resamples_of(counts, 100, 5)
    assert not len(few.cells)
    assert np.isfinite(BradleyTerry(ridge=1.0).replicates(np.zeros(3), few)).all()
    without = np.isnan(BradleyTerry(ridge=0.0).replicates(np.zeros(3), few)).all(axis=1)
    np.testing.assert_array_equal(without, [len(strongly_connected(one)) > 1 for one in few])
