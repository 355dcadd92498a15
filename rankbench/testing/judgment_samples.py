"""Judgments of every kind for aggregators: as drawn, numbered anew, in another order, or all of one opinion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import Aggregator, ComparisonAggregator, CountAggregator, OrderAggregator
from rankbench.interfaces.click_aggregator import SelectionAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons, Orders, Selections
from rankbench.interfaces.sequential_aggregator import ScoreAggregator, SequentialAggregator
from rankbench.testing import samples


@dataclass(frozen=True)
class JudgmentSample:
    """Judgments of m items.

    Attributes
    ----------
    label : str
    m : int
    judgments : Comparisons, Orders, Selections, or ndarray
        An array is a table of scores, shape (R, T, S), or labels, shape (m,).
    """

    label: str
    m: int
    judgments: Any

    def renumbered(self, new: NDArray[np.int64]) -> JudgmentSample:
        """Return the same judgments with renumbered items: item i is ``new[i]``."""
        judgments = self.judgments
        if isinstance(judgments, Comparisons):
            winners, losers = new[judgments.winners].astype(np.int32), new[judgments.losers].astype(np.int32)
            return replace(self, judgments=replace(judgments, winners=winners, losers=losers))
        if isinstance(judgments, Orders | Selections):
            return replace(self, judgments=replace(judgments, items=new[judgments.items].astype(np.int32)))
        moved = np.empty_like(judgments)
        moved[..., new] = judgments
        return replace(self, judgments=moved)

    def reordered(self, rng: np.random.Generator) -> JudgmentSample:
        """Return the judgments in another order: of votes, ballots, sessions, or tasks, and of a tie's items."""
        judgments = self.judgments
        if isinstance(judgments, Comparisons):
            rows = rng.permutation(len(judgments))
            ties = None if judgments.ties is None else judgments.ties[rows]
            turned = np.zeros(len(rows), np.bool_) if ties is None else ties
            winners, losers = judgments.winners[rows], judgments.losers[rows]
            winners, losers = np.where(turned, losers, winners), np.where(turned, winners, losers)
            return replace(
                self, judgments=Comparisons(judgments.offsets, winners, losers, judgments.weights[rows], ties)
            )
        if isinstance(judgments, Orders):
            cast = [_ballot(judgments, int(row), rng) for row in rng.permutation(len(judgments))]
            return replace(
                self, judgments=samples.ballots_of([ballot[:2] for ballot in cast], [one[2] for one in cast])
            )
        if isinstance(judgments, Selections):
            shown = [slice(*judgments.starts[row : row + 2]) for row in rng.permutation(len(judgments))]
            return replace(
                self,
                judgments=samples.selections_of(
                    [(list(judgments.items[s]), list(judgments.clicked[s])) for s in shown]
                ),
            )
        return replace(
            self, judgments=judgments[:, rng.permutation(judgments.shape[1])] if judgments.ndim > 1 else judgments
        )


def _ballot(judgments: Orders, row: int, rng: np.random.Generator) -> tuple[list[int], list[int], float]:
    """Return a ballot with its tied items in another order."""
    span = slice(*judgments.starts[row : row + 2])
    places = judgments.places[span]
    order = np.lexsort((rng.random(len(places)), places))
    return judgments.items[span][order].tolist(), places[order].tolist(), float(judgments.weights[row])


SIZES = ((2, 1), (3, 9), (4, 6), (5, 60), (8, 200))
"""Items and judgments."""


def drawn(it: Aggregator) -> Iterator[JudgmentSample]:
    """Yield random judgments for an aggregator, with ties of scores, labels, votes and places among them."""
    for seed, (m, k) in enumerate(SIZES):
        label, rng = f"{m} items, {k} judgments", np.random.default_rng([seed, m])
        if isinstance(it, ScoreAggregator):
            yield JudgmentSample(label, m, samples.score_table(m, k + 1, 2))
            yield JudgmentSample(f"{label} of two grades", m, rng.integers(0, 2, (2, k + 1, m)).astype(np.float64))
        elif it.needs_truth:
            yield JudgmentSample(label, m, rng.integers(0, 5, m).astype(np.float64))
        elif isinstance(it, SelectionAggregator):
            yield JudgmentSample(label, m, samples.clicks(m, k, seed))
        elif isinstance(it, ComparisonAggregator):
            votes = samples.votes(m, k, seed, weighted=seed % 2 == 1)
            yield JudgmentSample(label, m, samples.comparisons_of(votes))
            if not seed % 2:
                yield JudgmentSample(f"{label} with ties", m, samples.tied_sample(votes))
        elif isinstance(it, OrderAggregator):
            yield JudgmentSample(label, m, samples.ballots(m, k, seed))
    for labels in samples.tied_labels() if it.needs_truth else ():
        yield JudgmentSample(f"labels {labels}", len(labels), labels)


def agreed(it: Aggregator, order: Sequence[int]) -> Iterator[JudgmentSample]:
    """Yield judgments that agree with an order, the best item first, with the same on all pairs."""
    m, rank = len(order), {item: place for place, item in enumerate(order)}
    pairs = [(a, b) for at, a in enumerate(order) for b in order[at + 1 :]]
    if isinstance(it, ScoreAggregator):
        best = np.array([m - rank[item] for item in range(m)], np.float64)
        table = np.outer([1.0, 10.0], best)[None]
        yield JudgmentSample("a system that is best on each task", m, table)
        yield JudgmentSample("a system that is best on each task, below 0,", m, table - 1000.0)
    elif it.needs_truth:
        yield JudgmentSample("different labels", m, np.array([m - rank[item] for item in range(m)], np.float64))
    elif isinstance(it, SelectionAggregator):
        shown = [pair for a, b in pairs for pair in ([a, b], [b, a])] * 3
        clicks = samples.selections_of(
            [(two, [rank[i] == min(rank[two[0]], rank[two[1]]) for i in two]) for two in shown]
        )
        yield JudgmentSample("an item that is clicked wherever it is shown", m, clicks)
    if isinstance(it, ComparisonAggregator):
        for times, weight in ((1, 1.0), (4, 2.0)):
            votes = samples.sample_of(pairs * times, m, [weight] * (len(pairs) * times))
            yield JudgmentSample(f"an item that wins all {(m - 1) * times} votes", m, samples.comparisons_of(votes))
        if m > 2:  # of two items PageRank makes equals, unless one never wins
            most = samples.sample_of([pair for a, b in pairs for pair in ((a, b), (b, a), (a, b), (a, b))], m)
            yield JudgmentSample("an item that wins three of four votes of each pair", m, samples.comparisons_of(most))
    if isinstance(it, ComparisonAggregator | OrderAggregator):
        yield JudgmentSample(
            "an item that is first on all ballots", m, samples.ballots_of([(list(order), list(range(m)))] * 3)
        )


def agreed_at_the_ends(it: Aggregator, order: Sequence[int]) -> Iterator[tuple[JudgmentSample, bool]]:
    """Yield judgments that put the first item of an order before the last, and whether that item is named at all."""
    m = len(order)
    if isinstance(it, OrderAggregator):
        ballots = samples.ballots_of([(list(order[:-1]), list(range(m - 1)))] * 3)
        yield JudgmentSample("an item that is first on all ballots, beside one that none names,", m, ballots), False
        ballots = samples.ballots_of([(list(order), [max(0, place - 1) for place in range(m)])] * 3)
        if m > 2:
            yield JudgmentSample("an item that is first, with another one, on all ballots", m, ballots), True
    if isinstance(it, SelectionAggregator):
        turns = [[*order[at:], *order[:at]] for at in range(m)]
        lists = [(items, [item == order[0] for item in items]) for turn in turns for items in (turn, turn[::-1])]
        label = "the only item that is clicked, on lists of all items,"
        yield JudgmentSample(label, m, samples.selections_of(lists)), True


def structures(it: Aggregator, judged: JudgmentSample, only: str = "") -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the structure by each method of an aggregator, with the method's name.

    Parameters
    ----------
    it : Aggregator
    judged : JudgmentSample
    only : str
        The method to ask; empty: all.
    """
    for method, ask in _methods(it, judged.judgments, judged.m):
        if only in ("", method):
            yield method, ask()


def unrefused(it: Aggregator, judged: JudgmentSample) -> list[tuple[str, NDArray[np.float64]]]:
    """Return the structures of judgments; none if it refuses, as a likelihood does for votes that all agree."""
    try:
        return list(structures(it, judged))
    except (InputError, ContenderDiverged):
        return []


def _methods(it: Any, judgments: Any, m: int) -> Iterator[tuple[str, Callable[[], NDArray[np.float64]]]]:
    if isinstance(judgments, Comparisons):
        if judgments.ties is None:
            yield "aggregate", lambda: it.aggregate(judgments.winners, judgments.losers, judgments.weights, m)
        yield "from_comparisons", lambda: it.from_comparisons(judgments, m)
        if isinstance(it, CountAggregator):
            yield "from_counts", lambda: it.from_counts(PairCounts.from_comparisons(judgments, m).observed())
        if isinstance(it, SequentialAggregator):
            yield "learn", lambda: _learned(it, judgments, m)
    elif isinstance(judgments, Orders):
        yield "from_orders", lambda: it.from_orders(judgments, m)
    elif isinstance(judgments, Selections):
        yield "from_selections", lambda: it.from_selections(judgments, m)
    elif judgments.ndim > 1:
        yield "from_scores", lambda: it.from_scores(judgments, np.ones(judgments.shape[:2]))
    else:
        yield "from_labels", lambda: it.from_labels(judgments)


def _learned(it: SequentialAggregator, judgments: Comparisons, m: int) -> NDArray[np.float64]:
    """Return the ratings after all judgments, each at a time of its own."""
    state = it.start(m)
    for row in range(len(judgments)):
        it.learn(state, _one_row(judgments, row), row)
    return np.array(it.ratings(state))


def _one_row(judgments: Comparisons, row: int) -> Comparisons:
    rows = slice(row, row + 1)
    ties = None if judgments.ties is None else judgments.ties[rows]
    return Comparisons(np.array([0, 1]), judgments.winners[rows], judgments.losers[rows], judgments.weights[rows], ties)
