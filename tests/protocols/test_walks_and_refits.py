"""Who learns when, one step ahead: states that walk through the times, and refits at declared moments."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from drifting_votes import Drifting, prepared
from scipy.special import expit

import rankbench
from rankbench.core.component import Property
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.sequential_aggregator import SequentialAggregator
from rankbench.protocols import steps as steps_module
from rankbench.protocols.forecast import walked
from rankbench.protocols.log_votes import unpack_items
from rankbench.protocols.steps import MOMENTS, unpack_steps


def test_a_refitted_method_is_the_method_on_the_votes_before_each_moment() -> None:
    """Each margin again, from the rows of the log that came before its moment."""
    data = Drifting(n=900, times=300, weighted=True)
    made = prepared(data)
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    point = rankbench.get(Aggregator, "bradley-terry:ridge=1")
    margins = walked(point, steps, items)
    rows = data.scan().collect()
    times = rows["time"].unique().sort().to_list()
    where = {name: i for i, name in enumerate(items)}
    assert len(steps.moments) <= MOMENTS
    for moment, until in list(zip(steps.moments, [*steps.moments[1:], len(times)], strict=True))[::7]:
        before = rows.filter(pl.col("time") < times[moment])
        said = Comparisons(
            np.array([0, len(before)]),
            np.array([where[x] for x in before["winner"]], np.int32),
            np.array([where[x] for x in before["loser"]], np.int32),
            before["weight"].to_numpy(),
            before["tie"].to_numpy(),
        )
        scores = point.from_comparisons(said, len(items))
        own = slice(int(steps.starts[moment]), int(steps.starts[until]))
        expected = scores[steps.first[own]] - scores[steps.second[own]]
        assert margins[own] == pytest.approx(expected, abs=1e-6)


class Remembering(CountAggregator):
    """The win rate, which remembers what it was given to start from."""

    name: ClassVar[str] = "remembering"
    source: ClassVar[str] = "test"
    starts: ClassVar[list[np.ndarray | None]] = []

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        self.starts.append(None)
        return rankbench.get(Aggregator, "win-rate").from_counts(counts)

    def from_counts_near(self, counts: PairCounts, scores: np.ndarray) -> np.ndarray:
        self.starts.append(scores)
        return rankbench.get(Aggregator, "win-rate").from_counts(counts)


def test_a_refit_starts_from_the_scores_of_the_last_one() -> None:
    made = prepared(Drifting())
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    Remembering.starts.clear()
    margins = walked(Remembering(), steps, items)
    first, *others = Remembering.starts
    assert first is None
    assert len(others) == len(steps.moments) - 1
    assert all(start is not None and np.isfinite(start).all() and start.any() for start in others)
    assert margins == pytest.approx(walked(rankbench.get(Aggregator, "win-rate"), steps, items), abs=1e-12)


@pytest.mark.parametrize(("pairs", "most"), [(1, 10), (15, 15), (40, 40), (1000, 100)])
def test_refits_are_the_fewer_the_more_pairs_were_compared(
    pairs: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pairs` times all compared pairs may be gone through; at least ten refits, at most a hundred."""
    data = Drifting(n=1200, times=600)
    compared = len(unpack_steps(prepared(data).arrays).pairs[0])
    monkeypatch.setattr(steps_module, "REFITTED_PAIRS", pairs * compared)
    made = prepared(data)
    moments = unpack_steps(made.arrays).moments
    assert len(moments) in (most - 1, most, most + 1)  # the end of the warm-up is one of them
    assert np.diff(moments).max() <= 600 / most * 3
    gaps = np.diff(np.append(unpack_steps(made.arrays).starts[moments], 1200))
    assert f"learn of a vote up to {gaps.max():,} votes later" in " ".join(made.notes)


class Momentum(SequentialAggregator):
    """Elo with a memory of its last step: a state of two columns, without a compiled form."""

    name: ClassVar[str] = "momentum"
    source: ClassVar[str] = "test"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        state = self.start(m)
        for t in range(len(winners)):
            one = slice(t, t + 1)
            self.learn(state, Comparisons(np.array([0, 1]), winners[one], losers[one], weights[one]), t)
        return state[:, 0]

    def start(self, m: int) -> np.ndarray:
        return np.zeros((m, 2))

    def ratings(self, state: np.ndarray) -> np.ndarray:
        return state[:, 0]

    def learn(self, state: np.ndarray, votes: Comparisons, time: int) -> None:
        gap = state[votes.winners, 0] - state[votes.losers, 0]
        move = np.where(votes.ties if votes.ties is not None else False, 0.5, 1.0) - expit(gap)
        step = np.bincount(votes.winners, move, len(state)) - np.bincount(votes.losers, move, len(state))
        state[:, 1] = 0.5 * state[:, 1] + 0.1 * step
        state[:, 0] += state[:, 1]


class Guesses(Momentum):
    """Guesses that the votes of a pair which come first go against its first item."""

    name: ClassVar[str] = "guesses"

    def margins(self, state: np.ndarray, first: np.ndarray, second: np.ndarray, time: int) -> np.ndarray:
        assert len(first) == len(set(zip(first.tolist(), second.tolist(), strict=True)))
        return np.arange(len(first), dtype=np.float64)


def test_the_order_of_the_votes_of_a_time_tells_no_outcome() -> None:
    steps = unpack_steps(prepared(Drifting(n=600, items=3, times=40)).arrays)
    margins = walked(Guesses(), steps, [])
    for begin, end in zip(steps.starts[:-1], steps.starts[1:], strict=True):
        pairs = list(zip(steps.first[begin:end].tolist(), steps.second[begin:end].tolist(), strict=True))
        assert len(set(zip(pairs, margins[begin:end].tolist(), strict=True))) == len(set(pairs)) < len(pairs)


def test_a_plugin_brings_state_prediction_and_update_in_plain_numpy() -> None:
    made = prepared(Drifting())
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    margins = walked(Momentum(), steps, items)
    state = np.zeros((steps.m, 2))
    for t in range(len(steps.starts) - 1):
        rows = slice(steps.starts[t], steps.starts[t + 1])
        expected = state[steps.first[rows], 0] - state[steps.second[rows], 0]
        assert margins[rows] == pytest.approx(expected, abs=1e-12)
        Momentum().learn(state, steps.comparisons(t, t + 1), t)


@pytest.mark.parametrize(
    "text", ["elo:factor=32", "elo:factor=300", "glicko-2", "glicko-2:volatility=0.5,tau=1.2", "dynamic-bradley-terry"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_walks_are_what_learning_does(text: str, weighted: bool) -> None:
    point = rankbench.get(Aggregator, text)
    assert isinstance(point, SequentialAggregator)
    made = prepared(Drifting(n=400, times=60, weighted=weighted))
    steps = unpack_steps(made.arrays)
    plain, state = np.zeros(len(steps)), point.start(steps.m)
    for t in range(len(steps.starts) - 1):
        rows = slice(steps.starts[t], steps.starts[t + 1])
        plain[rows] = point.margins(state, steps.first[rows], steps.second[rows], t)
        point.learn(state, steps.comparisons(t, t + 1), t)
    assert walked(point, steps, []) == pytest.approx(plain, abs=1e-9)
