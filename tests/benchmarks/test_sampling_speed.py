"""Drawing judgments and resamples, against NumPy's own random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from turns import against, pairs

from rankbench.data.simulators.btl import draw_comparisons
from rankbench.interfaces.queries import Queries
from rankbench.interfaces.resamples import resamples_of
from rankbench.logs.count import count_clusters, count_pairs

QUERIES, M, N = 200, 50, 200_000


def test_drawing_comparisons(benchmark: Any) -> None:
    """The same draw by vectorized NumPy: query, pair and winner of each judgment."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, QUERIES * M).astype(float)
    queries = Queries([str(q) for q in range(QUERIES)], np.arange(QUERIES + 1) * M, np.zeros((QUERIES * M, 1)), labels)

    def numpy() -> object:
        query = rng.integers(QUERIES, size=N)
        a = rng.integers(M, size=N)
        b = (a + rng.integers(1, M, size=N)) % M
        gap = labels[query * M + a] - labels[query * M + b]
        first = rng.random(N) < 1 / (1 + np.exp(-gap))
        return query, np.where(first, a, b), np.where(first, b, a)

    against(benchmark, lambda: draw_comparisons(queries, N, [1]), numpy, "NumPy")


def test_resampling_votes(benchmark: Any) -> None:
    """As many votes as there are, drawn again and summed by pair: a multinomial of NumPy's."""
    rng = np.random.default_rng(1)
    a, b = pairs(rng, N, 60)
    counts = count_pairs(a, b, m=60)
    resamples = resamples_of(counts, 20, 0)
    shares = np.column_stack([counts.forward, counts.backward]).ravel() / N
    against(
        benchmark, lambda: [resamples.sums(r) for r in range(5)], lambda: rng.multinomial(N, shares, size=5), "NumPy"
    )


def test_resampling_judges(benchmark: Any) -> None:
    """Whole judges with all their votes: NumPy draws the judges and sums their cells."""
    rng = np.random.default_rng(2)
    a, b = pairs(rng, N, 60)
    judges = rng.integers(0, 2000, N)
    data = count_clusters(a, b, judges, m=60)
    resamples = resamples_of(data, 20, 0)
    judge = np.repeat(np.arange(len(data)), np.diff(data.starts))

    def numpy() -> object:
        times = np.bincount(rng.integers(len(data), size=len(data)), minlength=len(data))
        return np.bincount(data.cells, data.weights * times[judge], 3 * len(data.counts))

    against(benchmark, lambda: [resamples.sums(r) for r in range(5)], lambda: [numpy() for _ in range(5)], "NumPy")
