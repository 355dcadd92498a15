"""Checks of directions: what wins comes first, weights and ties count, better orders have better losses."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.interfaces.aggregator import Aggregator, ComparisonAggregator, OrderAggregator
from rankbench.interfaces.contender import sees_truth
from rankbench.interfaces.method import Block
from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.sequential_aggregator import SequentialAggregator
from rankbench.interfaces.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.testing import samples
from rankbench.testing.calls import fitted_scores, learns_from_labels, must_agree, relative_difference
from rankbench.testing.check import CheckFailed, CheckSkipped, Subject, conformance_check
from rankbench.testing.judgment_samples import JudgmentSample, agreed, structures

ROUNDING = 1e-9
"""Differences that say nothing, relative to the largest number."""


def _lead(it: Aggregator, structure: NDArray[np.float64], better: int, worse: int) -> float:
    """Return by how much an item is before another, relative to the largest number."""
    scale = max(float(np.abs(structure).max()), np.finfo(np.float64).tiny)
    if it.structure == "edges":
        return float(structure[better, worse] - structure[worse, better]) / scale
    lead = float(structure[better] - structure[worse]) / scale
    return -lead if getattr(it, "direction", "maximize") == "minimize" else lead


@conformance_check("aggregator", of_values=True)
def winners_are_first(subject: Subject) -> None:
    """Where all pairs are judged alike, an item that wins every judgment is first, and one that loses all is last.

    ``winner-not-first`` declares otherwise.
    """
    it = subject.it
    if subject.declares("winner-not-first"):
        raise CheckSkipped("it declares winner-not-first")
    orders = [*itertools.permutations(range(3)), (1, 0), (3, 0, 4, 1, 2)]
    tried = [(order, judged) for order in orders for judged in agreed(it, order)]
    if not tried:
        raise CheckSkipped("the checks know no judgments for it")
    for order, judged in tried:
        pairs = [(order[0], order[-1])]
        if subject.by_default:
            pairs = [pair for item in order for pair in ((order[0], item), (item, order[-1]))]
        for method, structure in _unrefused(it, judged):
            leads = [_lead(it, structure, *pair) for pair in pairs]
            if min(leads) < -ROUNDING or (subject.by_default and not max(leads) > ROUNDING):
                raise CheckFailed(
                    f"{judged.label} is item {order[0]} of {judged.m}, and {method} gives {structure.tolist()}; "
                    "where that is meant, declare winner-not-first"
                )
    if isinstance(it, SequentialAggregator):
        _margins_are_odd(it, subject.by_default)


def _unrefused(it: Aggregator, judged: JudgmentSample) -> list[tuple[str, NDArray[np.float64]]]:
    """Return the structures of judgments; none where it refuses, as likelihood does of votes that all agree."""
    try:
        return list(structures(it, judged))
    except (InputError, ContenderDiverged):
        return []


def _margins_are_odd(it: SequentialAggregator, strict: bool) -> None:
    """Raise unless an item that has won is expected to win, and another by as much not to."""
    for first, second in ((0, 1), (1, 0)):
        state, (one, other) = it.start(2), (np.array([item], np.int32) for item in (first, second))
        for time in range(3):
            it.learn(state, Comparisons(np.array([0, 1]), one, other, np.ones(1)), time)
        ahead, behind = it.margins(state, one, other, 3), it.margins(state, other, one, 3)
        if ahead[0] < 0 or (strict and not ahead[0] > 0):
            raise CheckFailed(f"item {first} has won thrice, and margins gives {ahead[0]:.6g} for its next win")
        must_agree(behind, -np.asarray(ahead), ROUNDING, "margins of swapped items are not the negative ones")


@conformance_check("aggregator")
def weights_count(subject: Subject) -> None:
    """One judgment of weight 5 counts more than two of weight 1 against it."""
    it = subject.it
    if subject.declares("winner-not-first"):
        raise CheckSkipped("it declares winner-not-first")
    cases = []
    for heavy, light in ((0, 1), (1, 0)):
        if isinstance(it, ComparisonAggregator):
            pairs = [(heavy, 2), (2, heavy), (light, 2), (2, light), *[(light, heavy)] * 2, (heavy, light)]
            weights = [*[1.0] * 6, 5.0]  # last: what is learned in time may forget
            if it.structure == "edges":  # of which one may look at the first alone
                pairs, weights = pairs[::-1], weights[::-1]
            votes = samples.sample_of(pairs, 3, weights)
            cases.append((heavy, light, JudgmentSample("votes", 3, samples.comparisons_of(votes))))
        # Of ballots a rating that is learned in time may forget the first.
        if isinstance(it, ComparisonAggregator | OrderAggregator) and not subject.declares("sequential"):
            ranked = [[heavy, light, 2], *[[light, heavy, 2]] * 2, [2, heavy, light], [2, light, heavy]]
            cast = samples.ballots_of([(items, [0, 1, 2]) for items in ranked], [5.0, *[1.0] * 4])
            cases.append((heavy, light, JudgmentSample("ballots", 3, cast)))
    if not cases:
        raise CheckSkipped("its judgments have no weights")
    for heavy, light, judged in cases:
        for method, structure in structures(it, judged):
            if not _lead(it, structure, heavy, light) > 0:
                raise CheckFailed(
                    f"{judged.label} of weight 5 for item {heavy}, and of 1 + 1 for the other: {method} gives "
                    f"{structure.tolist()}"
                )


@conformance_check("aggregator")
def ties_are_ties(subject: Subject) -> None:
    """A tie has no winner, whichever item it names first, and is not left out, as if nobody had judged."""
    it = subject.it
    if not isinstance(it, ComparisonAggregator):
        raise CheckSkipped("it is not made of comparisons")
    for m in (2, 4):
        pairs = [(a, b) for a in range(m) for b in range(a + 1, m)] * 2
        tied = [
            samples.tied_sample(samples.sample_of(rows, m), all_of_them=True)
            for rows in (pairs, [p[::-1] for p in pairs])
        ]
        before, after = (_taken(it, JudgmentSample("ties", m, said)) for said in tied)
        for method in before:
            must_agree(after[method], before[method], 1e-7, f"{method}: a tie counts for the item that it names first")
    votes = samples.votes(5, 60, 64)
    said = samples.tied_sample(votes)
    decided = np.flatnonzero(np.arange(len(said)) % 3)  # as `tied_sample` makes every third a tie
    kept = samples.comparisons_of((votes[0][decided], votes[1][decided], votes[2][decided], 5))
    found = _taken(it, JudgmentSample("votes with ties", 5, said))
    halves = _taken(it, JudgmentSample("votes with halves", 5, said.without_ties()))
    without = _taken(it, JudgmentSample("votes without ties", 5, kept))
    for method, structure in found.items():
        left_out = relative_difference(structure, without[method]) == 0
        if left_out and relative_difference(halves[method], without[method]) > 1e-7:
            raise CheckFailed(f"{method}: 20 ties among 60 votes change nothing; a tie is half a win each way")


def _taken(it: Aggregator, judged: JudgmentSample) -> dict[str, NDArray[np.float64]]:
    """Return the structures of ties, or of whole votes.

    Raises
    ------
    CheckSkipped
        It refuses them.
    """
    try:
        return dict(structures(it, judged))
    except (InputError, SpecError, ContenderDiverged) as error:
        raise CheckSkipped(f"it refuses {judged.label}: {error}") from error


@conformance_check("surrogate", of_values=True)
def better_items_are_pushed_up(subject: Subject) -> None:
    """Of two items at equal scores, a step against the gradient puts the better one first.

    ``winner-not-first`` declares otherwise.
    """
    it = subject.it
    if subject.declares("winner-not-first"):
        raise CheckSkipped("it declares winner-not-first")
    for label, better, gradient in _slopes(it):
        lead = float(gradient[1 - better] - gradient[better])
        if lead < -ROUNDING * max(1.0, float(np.abs(gradient).max())) or (subject.by_default and not lead > 0):
            raise CheckFailed(
                f"{label}: item {better} is better, and the gradient at equal scores is {gradient.tolist()}"
            )


def _slopes(it: Any) -> Iterator[tuple[str, int, NDArray[np.float64]]]:
    """Yield gradients at equal scores of two items, and the better one of them."""
    for better in (0, 1):
        if isinstance(it, ScoreSurrogate):
            for best, worst in ((2.0, 0.0), (1.0, -1.0)):
                scores = np.array([worst, worst])
                scores[better] = best
                target = np.asarray(it.target(scores.copy()))
                yield f"scores {scores.tolist()}", better, np.asarray(it.value_and_gradient(np.zeros(2), target)[1])
        elif isinstance(it, PairwiseSurrogate):
            weights, offsets = it.edges(np.array([0.7]))
            slope = float(weights[0] * it.dphi(-np.asarray(offsets))[0])
            yield f"an edge from {better}", better, np.array([slope, -slope] if better == 0 else [-slope, slope])


@conformance_check("loss", of_values=True)
def best_order_has_the_best_value(subject: Subject) -> None:
    """No order of the items has a better value, by `direction`, than the order of the labels or preferences."""
    it = subject.it
    sign = 1.0 if it.direction == "minimize" else -1.0
    for grades in ((1.0, 0.0), (3.0, 1.0, 0.0), (4.0, 3.0, 1.0, 0.0)):
        truth = np.array(grades)
        structure = truth if it.structure == "scores" else np.maximum(truth[:, None] - truth, 0.0)
        best = sign * float(it.value(truth.copy(), structure.copy()))
        for order in itertools.permutations(range(len(truth))):
            alpha = truth[list(order)]
            value = sign * float(it.value(alpha, structure.copy()))
            if value < best - ROUNDING * max(1.0, abs(best)):
                raise CheckFailed(
                    f"labels {truth.tolist()}: scores {alpha.tolist()} have the value {sign * value:.6g}, better than "
                    f"{sign * best:.6g} of the labels themselves, though `direction` is {it.direction!r}"
                )


WORSE_THAN_CHANCE = 0.25
"""Share of pairs in the right order that no method of any use stays below: chance has a half."""


@conformance_check("method")
def learns_what_judgments_say(subject: Subject) -> None:
    """Of pairs whose better item won all judgments, or has the higher label, its scores do not turn most round."""
    it, design = subject.it, samples.queries(9, (8,) * 8)
    drawn = samples.random_comparisons(design, 60, 9)
    first = np.repeat(design.offsets[:-1], drawn.counts)
    lead = design.labels[first + drawn.winners] - design.labels[first + drawn.losers]
    winners, losers = np.where(lead < 0, (drawn.losers, drawn.winners), (drawn.winners, drawn.losers))
    said = dataclasses.replace(drawn, winners=winners, losers=losers)
    learned = design if sees_truth(it) else design.unlabelled()
    block = samples.taught_block(design) if learns_from_labels(it) else Block(learned, said, len(said), 0, (1, 2, 3))
    scores = fitted_scores(it.fit(block), learned)
    leads = (scores[first + winners] - scores[first + losers])[lead != 0]
    if (share := float((leads > 0).mean() + (leads == 0).mean() / 2)) < WORSE_THAN_CHANCE:
        raise CheckFailed(f"its scores agree with {share:.0%} of {len(leads)} judgments that it has learned from")
