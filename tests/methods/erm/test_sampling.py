"""Draws from the U-statistic: uniform subsets, prefixes that depend on nobody."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from rankbench.kernels.random import below, seed_state
from rankbench.methods.erm.kernels.sampling import draw_query, sample_prefix, step_state, undo_prefix

SEED = seed_state([20, 13])


def sample(t: int, n: int, k: int) -> tuple[int, ...]:
    state, index, swaps = np.zeros(4, np.uint64), np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    step_state(SEED, t, state)
    sample_prefix(state, n, k, index, swaps)
    taken = tuple(int(i) for i in index[:k])
    undo_prefix(k, index, swaps)
    assert (index == np.arange(n)).all()
    return taken


@pytest.mark.parametrize(("n", "k"), [(5, 5), (1000, 300), (1 << 20, 40)])
def test_a_prefix_is_a_shuffle_by_draws_below_what_is_left(n: int, k: int) -> None:
    state, places = np.zeros(4, np.uint64), np.arange(n)
    step_state(SEED, 7, state)
    for i in range(k):
        j = i + below(state, n - i)
        places[[i, j]] = places[[j, i]]
    assert sample(7, n, k) == tuple(places[:k])


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_prefixes_of_five_are_uniform_ordered_samples(k: int) -> None:
    steps = 24_000
    seen = Counter(sample(t, 5, 5)[:k] for t in range(steps))
    arrangements = list(itertools.permutations(range(5), k))
    assert set(seen) == set(arrangements)
    assert chisquare([seen[a] for a in arrangements]).pvalue > 1e-4


def test_queries_are_drawn_with_probability_n_q_over_n() -> None:
    offsets = np.cumsum([0, 5, 0, 1, 30, 14]).astype(np.int64)
    state = np.zeros(4, np.uint64)
    seen = np.zeros(5, int)
    for t in range(20_000):
        step_state(SEED, t, state)
        seen[draw_query(state, offsets)] += 1
    assert seen[1] == 0
    kept = np.array([0, 2, 3, 4])
    assert chisquare(seen[kept], np.diff(offsets)[kept] / 50 * 20_000).pvalue > 1e-4
