"""Bradley-Terry and its bootstrap, and plain rates, against choix and NumPy."""

from __future__ import annotations

from typing import Any

import choix
import numpy as np
from turns import against

from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry, refitted
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.resamples import resamples_of
from rankbench.logs.count import count_pairs
from rankbench.plugin.manager import get

N, M = 50_000, 60


def votes(m: int = M) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=m)
    a = rng.integers(0, m, N)
    b = (a + rng.integers(1, m, N)) % m
    first = rng.random(N) < 1 / (1 + np.exp(truth[b] - truth[a]))
    return np.where(first, a, b).astype(np.int32), np.where(first, b, a).astype(np.int32)


def matrix(winners: np.ndarray, losers: np.ndarray) -> np.ndarray:
    return np.bincount(winners.astype(np.int64) * M + losers, minlength=M * M).reshape(M, M).astype(float)


def test_bradley_terry(benchmark: Any) -> None:
    """From counts: choix gets the same as a dense matrix, and is as exact."""
    winners, losers = votes()
    counts, wins = count_pairs(winners, losers, m=M), matrix(winners, losers)
    ours = fit_bradley_terry(counts).scores
    theirs = choix.opt_pairwise(M, list(zip(winners.tolist(), losers.tolist(), strict=True)), method="Newton-CG")
    np.testing.assert_allclose(ours - ours.mean(), theirs - theirs.mean(), atol=1e-3)
    against(
        benchmark,
        lambda: [fit_bradley_terry(counts) for _ in range(10)],
        lambda: choix.ilsr_pairwise_dense(wins),
        "choix, I-LSR",
        units=10,
        at_least=1.0,
    )


def test_bootstrap_of_bradley_terry(benchmark: Any) -> None:
    """A hundred resamples together, against one fit of choix for each (a few are timed)."""
    winners, losers = votes()
    counts = count_pairs(winners, losers, m=M)
    fitted, resamples = fit_bradley_terry(counts), resamples_of(counts, 100, 0)
    some = [matrix(*votes()) for _ in range(2)]
    against(
        benchmark,
        lambda: refitted(fitted, resamples),
        lambda: [choix.ilsr_pairwise_dense(one) for one in some],
        "choix, I-LSR, one by one",
        units=100 / len(some),
        at_least=1.0,
    )


def careers(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return votes of items that come and go, most of them on a few pairs, as in leagues of fighters or of players."""
    rng = np.random.default_rng(0)
    length = rng.pareto(1.1, m) + 1
    place, truth = np.cumsum(length) / length.sum(), rng.normal(size=m) + 0.5 * np.log(length)
    # An item is drawn by its length, an opponent among those that were about at the time.
    a = np.searchsorted(place, rng.random(n))
    b = np.searchsorted(place, np.clip(place[a] + rng.normal(0, 0.05, n), 0, 1 - 1e-9))
    a, b = np.minimum(a, m - 1)[a != b], np.minimum(b, m - 1)[a != b]
    first = rng.random(len(a)) < 1 / (1 + np.exp(truth[b] - truth[a]))
    return np.where(first, a, b).astype(np.int32), np.where(first, b, a).astype(np.int32)


def test_firth_of_a_sparse_log(benchmark: Any) -> None:
    """Some 2,400 items of three votes each: choix has a penalty of its own."""
    winners, losers = careers(7_500, 2_400)
    counts = count_pairs(winners, losers, m=2_400)
    firth = get(Aggregator, "bradley-terry:penalty=firth")
    data = list(zip(winners.tolist(), losers.tolist(), strict=True))
    against(
        benchmark,
        lambda: firth.from_counts(counts),
        lambda: choix.mm_pairwise(2_400, data, alpha=0.1, max_iter=100_000, tol=1e-6),
        "choix, MM with a penalty",
        at_least=1.0,
    )


def test_win_rate(benchmark: Any) -> None:
    winners, losers = votes()
    counts, rate = count_pairs(winners, losers, m=M), get(Aggregator, "win-rate")

    def numpy() -> object:
        won, lost = np.bincount(winners, minlength=M), np.bincount(losers, minlength=M)
        return won / (won + lost)

    against(
        benchmark, lambda: [rate.from_counts(counts) for _ in range(20)], lambda: [numpy() for _ in range(20)], "NumPy"
    )
