"""Samples are the judgments, structures and blocks that components are tried on."""

from __future__ import annotations

import itertools
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import StructureKind
from rankbench.interfaces.method import Block
from rankbench.interfaces.queries import Comparisons, Orders, Queries, Selections

Sample: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], int]
"""Winners, losers and weights of k comparisons, shape (k,), over m items."""


def votes(m: int, k: int, seed: int, *, weighted: bool = False) -> Sample:
    """Return k comparisons that prefer items of small index, with noise."""
    rng = np.random.default_rng([seed, m, k])
    i = rng.integers(m, size=k)
    j = (i + rng.integers(1, m, size=k)) % m
    first = rng.random(k) < 1 / (1 + np.exp((i - j) / 2))
    weights = rng.choice([0.25, 1.0, 2.0, 7.5], size=k) if weighted else np.ones(k)
    return np.where(first, i, j).astype(np.int32), np.where(first, j, i).astype(np.int32), weights, m


def level_votes() -> Sample:
    """Return five comparisons of two items with equal weights up to rounding, .1 + .2 + .3 against .3 + .3."""
    return sample_of([(0, 1), (0, 1), (0, 1), (1, 0), (1, 0)], 2, [0.1, 0.2, 0.3, 0.3, 0.3])


def comparisons_of(sample: Sample) -> Comparisons:
    """Return a sample as comparisons of one query, without ties."""
    winners, losers, weights, _ = sample
    return Comparisons(np.array([0, len(winners)]), winners, losers, weights)


def tied_sample(sample: Sample, *, all_of_them: bool = False) -> Comparisons:
    """Return a sample as comparisons of one query; every third, or all, are ties."""
    winners, losers, weights, _ = sample
    k = len(winners)
    return Comparisons(np.array([0, k]), winners, losers, weights, np.arange(k) % (1 if all_of_them else 3) == 0)


def sample_of(pairs: list[tuple[int, int]], m: int, weights: list[float] | None = None) -> Sample:
    """Return comparisons of (winner, loser) pairs."""
    winners, losers = np.array(pairs, dtype=np.int32).T.copy()
    return winners, losers, np.ones(len(pairs)) if weights is None else np.array(weights), m


def edge_comparisons() -> dict[str, Sample]:
    """Return comparisons at the edges of the contract, by description."""
    every = [(i, j) for i in range(4) for j in range(4) if i != j]
    winners, losers, _, m = votes(6, 40, 3)
    spread = np.logspace(-6, 6, 40)
    return {
        "one judgment of two items": sample_of([(1, 0)], 2),
        "one judgment, items without any": sample_of([(4, 1)], 6),
        "two components": sample_of([(0, 1), (1, 2), (2, 0), (0, 2), (4, 3), (3, 4), (4, 3)], 5),
        "all tied": sample_of(every, 4),
        "a cycle": sample_of([(0, 1), (1, 2), (2, 0)], 3),
        "unanimous": sample_of([(i, j) for i in range(5) for j in range(i + 1, 5)] * 3, 5),
        "one judgment 500 times": sample_of([(0, 2)] * 500, 3),
        "weights of 1e-9": (winners, losers, np.full(40, 1e-9), m),
        "weights of 1e9": (winners, losers, np.full(40, 1e9), m),
        "weights from 1e-6 to 1e6": (winners, losers, spread, m),
    }


def random_graph(m: int, seed: int) -> NDArray[np.float64]:
    """Return a weighted adjacency matrix, about half of its pairs observed, shape (m, m)."""
    rng = np.random.default_rng([seed, m])
    adjacency = rng.random((m, m)) * (rng.random((m, m)) < 0.5)
    np.fill_diagonal(adjacency, 0.0)
    return adjacency


def random_structure(form: StructureKind, m: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return grades 0 to 4, shape (m,), or for ``edges`` a `random_graph`, shape (m, m)."""
    return rng.integers(0, 5, m).astype(np.float64) if form == "scores" else random_graph(m, m)


def tied_labels() -> list[NDArray[np.float64]]:
    """Return all labels 0, 1 and 2 of two and of three items, and one half of four tied with the other or not."""
    listed = [labels for m in (2, 3) for labels in itertools.product((0.0, 1.0, 2.0), repeat=m)]
    return [np.array(labels) for labels in (*listed, (1.0, 1.0, 1.0, 1.0), (2.0, 0.0, 2.0, 0.0))]


def edge_scores() -> dict[str, NDArray[np.float64]]:
    """Return score structures at the edges of the contract, by description."""
    return {
        "one item": np.array([1.5]),
        "no scores, all zero": np.zeros(5),
        "all tied": np.full(4, 2.0),
        "grades with ties": np.array([0.0, 2.0, 0.0, 1.0, 4.0, 1.0]),
        "negative scores": np.array([-3.0, -1.0, -2.0]),
        "tiny scores": np.array([1e-12, -2e-12, 3e-12]),
        "centered scores": np.array([1.5, -0.5, -1.0]),
    }


def clicks(m: int, n: int, seed: int) -> Selections:
    """Return n selections of one query that shows up to five of its m items."""
    rng = np.random.default_rng([seed, m, n])
    shown = [rng.permutation(m)[: min(m, 5)] for _ in range(n)]
    return selections_of([(list(map(int, s)), list(map(bool, rng.random(len(s)) < 1 / (2 + s)))) for s in shown])


def clicks_of_both(first: Selections, second: Selections) -> Selections:
    """Return the selections of two queries, given a sample of each."""
    offsets = np.array([0, len(first), len(first) + len(second)], np.int64)
    starts = np.concatenate([first.starts, first.starts[-1] + second.starts[1:]])
    items, clicked = (np.concatenate([getattr(one, name) for one in (first, second)]) for name in ("items", "clicked"))
    return Selections(offsets, starts, items, clicked)


def selections_of(rows: list[tuple[list[int], list[bool]]]) -> Selections:
    """Return selections of one query, by the items shown and which were clicked."""
    starts = np.cumsum([0, *(len(items) for items, _ in rows)]).astype(np.int64)
    items = np.array([i for shown, _ in rows for i in shown], dtype=np.int32)
    clicked = np.array([c for _, marks in rows for c in marks], dtype=np.bool_)
    return Selections(np.array([0, len(rows)], dtype=np.int64), starts, items, clicked)


def edge_clicks() -> dict[str, tuple[Selections, int]]:
    """Return selections at the edges, with the number of items."""
    return {
        "one item shown": (selections_of([([0], [True]), ([0], [False])]), 1),
        "one selection": (selections_of([([2, 0, 1], [False, True, False])]), 3),
        "nothing clicked": (selections_of([([0, 1, 2], [False] * 3)] * 4), 3),
        "everything clicked": (selections_of([([0, 1, 2], [True] * 3)] * 4), 3),
        "items never shown": (selections_of([([4, 1], [True, False])] * 3), 6),
        "two components": (selections_of([([0, 1], [True, False]), ([2, 3], [False, True])] * 3), 4),
    }


def ballots(m: int, n: int, seed: int) -> Orders:
    """Return n ballots that rank some of m items, with ties."""
    rng = np.random.default_rng([seed, m, n])
    rows = []
    for _ in range(n):
        items = rng.permutation(m)[: int(rng.integers(1, m + 1))]
        places = np.cumsum(np.r_[0, rng.random(len(items) - 1) < 0.7])
        rows.append((list(map(int, items)), list(map(int, places))))
    return ballots_of(rows, list(map(float, rng.integers(1, 5, n))))


def ballots_of(rows: list[tuple[list[int], list[int]]], weights: list[float] | None = None) -> Orders:
    """Return ballots of one query, by items and their places."""
    starts = np.cumsum([0, *(len(items) for items, _ in rows)]).astype(np.int64)
    items = np.array([i for ranked, _ in rows for i in ranked], dtype=np.int32)
    places = np.array([p for _, at in rows for p in at], dtype=np.int32)
    offsets = np.array([0, len(rows)], dtype=np.int64)
    return Orders(offsets, starts, items, places, np.ones(len(rows)) if weights is None else np.array(weights))


def edge_ballots() -> dict[str, tuple[Orders, int]]:
    """Return ballots at the edges, with the number of items."""
    whole = [([0, 1, 2], [0, 1, 2]), ([2, 1, 0], [0, 1, 2]), ([1, 0, 2], [0, 0, 1])]
    return {
        "one item": (ballots_of([([0], [0])]), 1),
        "one ballot": (ballots_of([([1, 0, 2], [0, 1, 2])]), 3),
        "all tied": (ballots_of([([0, 1, 2, 3], [0, 0, 0, 0])] * 3), 4),
        "items on no ballot": (ballots_of([([4, 1], [0, 1])] * 2), 6),
        "two components": (ballots_of([([0, 1], [0, 1]), ([3, 2], [0, 1])] * 2), 4),
        "weights of 1e-9": (ballots_of(whole, [1e-9] * 3), 3),
        "weights of 1e9": (ballots_of(whole, [1e9] * 3), 3),
    }


def score_table(systems: int, tasks: int, seeds: int) -> NDArray[np.float64]:
    """Return scores of systems on tasks of different scales, by seed, some of them equal; shape (R, T, S)."""
    rng = np.random.default_rng([systems, tasks, seeds])
    scales = 10.0 ** rng.integers(-2, 3, (1, tasks, 1))
    return np.asarray(np.round(rng.normal(size=(seeds, tasks, systems)) + np.arange(systems) / systems, 1) * scales)


def edge_score_tables() -> dict[str, NDArray[np.float64]]:
    """Return score tables at the edges, shape (R, T, S)."""
    return {
        "two systems on two tasks": np.array([[[0.0, 1.0], [1.0, 0.5]]]),
        "all tied": np.full((1, 3, 4), 0.25),
        "a task that tells none apart": np.array([[[1.0, 1.0, 1.0], [0.1, 0.2, 0.3]]]),
        "below zero": -np.arange(1.0, 13.0).reshape(2, 2, 3),
        "tasks of scales from 1e-6 to 1e6": np.logspace(-6, 6, 12).reshape(1, 4, 3),
    }


def queries(seed: int, sizes: tuple[int, ...] = (5, 8, 2, 6, 7, 4), d: int = 4) -> Queries:
    """Return small queries whose labels depend on their features."""
    rng = np.random.default_rng([seed, d, *sizes])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    x = rng.normal(size=(int(offsets[-1]), d)).astype(np.float32)
    labels = np.clip(np.round(1.5 + x @ rng.normal(size=d)), 0, 4).astype(np.float64)
    return Queries([f"q{q}" for q in range(len(sizes))], offsets, x, labels)


def taught_block(design: Queries) -> Block:
    """Return labels to learn from, as protocol `graded` shows them."""
    return replace(Block.from_labels(design, 0, (1, 2, 3)).without_comparisons(), validation=queries(11))


def random_comparisons(design: Queries, per_query: int, seed: int, silent: tuple[int, ...] = ()) -> Comparisons:
    """Return comparisons of every query but the `silent` ones, drawn by the labels."""
    rng = np.random.default_rng([seed, per_query, len(design)])
    winners, losers, counts = [], [], [0]
    for q in range(len(design)):
        labels = design.labels[design.offsets[q] : design.offsets[q + 1]]
        k = 0 if q in silent else per_query
        i = rng.integers(len(labels), size=k)
        j = (i + rng.integers(1, len(labels), size=k)) % len(labels)
        first = rng.random(k) < 1 / (1 + np.exp(labels[j] - labels[i]))
        winners.append(np.where(first, i, j))
        losers.append(np.where(first, j, i))
        counts.append(k)
    won, lost = (np.concatenate(side).astype(np.int32) for side in (winners, losers))
    return Comparisons(np.cumsum(counts).astype(np.int64), won, lost, np.ones(sum(counts)))


def relabelled_sample(
    design: Queries, comparisons: Comparisons, seed: int
) -> tuple[Queries, Comparisons, NDArray[np.int64]]:
    """Return queries and judgments with their items numbered anew, and where each item went, shape (N,)."""
    rng = np.random.default_rng(seed)
    moved = np.concatenate([low + rng.permutation(high - low) for low, high in pairwise(design.offsets.tolist())])
    x, labels = np.empty_like(design.x), np.empty_like(design.labels)
    x[moved], labels[moved] = design.x, design.labels
    low = np.repeat(design.offsets[:-1], comparisons.counts)
    winners = (moved[low + comparisons.winners] - low).astype(np.int32)
    losers = (moved[low + comparisons.losers] - low).astype(np.int32)
    said = Comparisons(comparisons.offsets.copy(), winners, losers, comparisons.weights.copy())
    return Queries(list(design.ids), design.offsets.copy(), x, labels), said, moved
