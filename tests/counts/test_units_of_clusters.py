"""Effective numbers of what clusters said, against their definition, however few sums are looked at together."""

from __future__ import annotations

import numpy as np
import pytest

from rankbench.counts import units
from rankbench.counts.clusters import count_clusters
from rankbench.counts.units import units_of_counts


def kish(sizes: np.ndarray) -> float:
    return float(sizes.sum() ** 2 / (sizes**2).sum()) if len(sizes) else 0.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_effective_numbers(weighted: bool, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "_AT_ONCE", at_once)
    rng = np.random.default_rng(3)
    n, m = 300, 8
    winners = rng.integers(m - 1, size=n)  # nobody judges the last one
    losers = (winners + rng.integers(1, m - 1, size=n)) % (m - 1)
    judges, ties = rng.integers(12, size=n), rng.random(n) < 0.3
    weights = rng.choice([0.5, 1.0, 2.5], n) if weighted else np.ones(n)
    names = [f"i{k}" for k in range(m)]
    data = count_clusters(winners, losers, judges, ties=ties, weights=weights if weighted else None, items=names)
    found = units_of_counts(data)
    assert found.count == len(np.unique(judges))
    assert found.effective == pytest.approx(kish(np.bincount(judges, weights)))
    for item in range(m):
        about = (winners == item) | (losers == item)
        assert found.items[item] == pytest.approx(kish(said(judges, weights, about)))
        # What a judge said about a pair, in one way, is one vote where votes have weights.
        cells: dict[tuple[int, ...], float] = {}
        for t in np.flatnonzero(about):
            way = 2 if ties[t] else int(winners[t] > losers[t])
            key = (judges[t], min(winners[t], losers[t]), max(winners[t], losers[t]), way)
            cells[key] = cells.get(key, 0.0) + weights[t]
        expected = kish(np.array(list(cells.values()))) if weighted else about.sum()
        assert found.votes[item] == pytest.approx(expected)


def said(judges: np.ndarray, weights: np.ndarray, about: np.ndarray) -> np.ndarray:
    return np.array([weights[about & (judges == judge)].sum() for judge in np.unique(judges[about])])


def test_sums_of_clusters_take_twelve_bytes() -> None:
    rng = np.random.default_rng(4)
    winners = rng.integers(500, size=4000)
    losers = (winners + rng.integers(1, 500, size=4000)) % 500
    data = count_clusters(winners, losers, rng.integers(900, size=4000))
    assert data.cells.nbytes + data.weights.nbytes <= 12 * 4000
