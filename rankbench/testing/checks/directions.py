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
from rankbench.interfaces.surrogate import Loss, PairwiseSurrogate, ScoreSurrogate
from rankbench.testing import samples
from rankbench.testing.calls import fitted_scores, learns_from_labels
from rankbench.testing.check import (
    CheckFailed,
    CheckSkipped,
    Subject,
    conformance_check,
    must_agree,
    relative_difference,
)
from rankbench.testing.judgment_samples import JudgmentSample, agreed, agreed_at_the_ends, structures, unrefused

LEVEL = 0.02
"""Differences of level items where votes are taken in a random order."""

ROUNDING = 1e-9
"""Differences that say nothing, relative to the largest number."""


def _lead(it: Aggregator, structure: NDArray[np.float64], better: int, worse: int) -> float:
    """Return the lead of an item over another, relative to the largest number."""
    scale = max(float(np.abs(structure).max()), np.finfo(np.float64).tiny)
    if it.structure == "edges":
        return float(structure[better, worse] - structure[worse, better]) / scale
    lead = float(structure[better] - structure[worse]) / scale
    return -lead if getattr(it, "direction", "maximize") == "minimize" else lead


@conformance_check("aggregator", of_values=True)
def winners_are_first(subject: Subject) -> None:
    """Where all pairs are judged alike, an item that wins every judgment is first, and one that loses all is last.

    The others stand in the order of their wins, and an item that no ballot names is not before the first of all
    ballots. ``winner-not-first`` declares otherwise.
    """
    it = subject.it
    if subject.declares("winner-not-first"):
        raise CheckSkipped("it declares winner-not-first")
    orders = [*itertools.permutations(range(3)), (1, 0), (3, 0, 4, 1, 2), (6, 1, 7, 0, 3, 5, 2, 4)]
    tried = [(order, judged, True, True) for order in orders for judged in agreed(it, order)]
    tried += [(order, judged, False, named) for order in orders for judged, named in agreed_at_the_ends(it, order)]
    if not tried:
        raise CheckSkipped("the checks know no judgments for it")
    for order, judged, whole, named in tried:
        pairs = [*itertools.combinations(order, 2)] if whole and subject.by_default else [(order[0], order[-1])]
        for method, structure in unrefused(it, judged):
            leads = [_lead(it, structure, *pair) for pair in pairs]
            if min(leads) < -ROUNDING or (named and subject.by_default and not max(leads) > ROUNDING):
                better, worse = pairs[int(np.argmin(leads))]
                raise CheckFailed(
                    f"{judged.label} is item {order[0]} of {judged.m}, item {better} is ahead of {worse}, and {method} "
                    f"gives {structure.tolist()}; where that is meant, declare winner-not-first"
                )
    if isinstance(it, SequentialAggregator):
        _margins_are_odd(it, subject.by_default)


def _margins_are_odd(it: SequentialAggregator, strict: bool) -> None:
    """Raise unless an item that has won is expected to win, and another one equally to lose."""
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
    """One judgment of weight 5 counts more than four of weight 1 against it, and one of weight 3 less."""
    it = subject.it
    if subject.declares("winner-not-first"):
        raise CheckSkipped("it declares winner-not-first")
    # Sequential aggregators may forget: the heavy vote is the last, and is tried where it counts more.
    weights = (5.0,) if subject.declares("sequential") else (5.0, 3.0)
    cases = [case for ends in ((0, 1), (1, 0)) for weight in weights for case in _weighed(it, *ends, weight)]
    if not cases:
        raise CheckSkipped("its judgments have no weights")
    for first, second, judged in cases:
        for method, structure in structures(it, judged):
            if not _lead(it, structure, first, second) > 0:
                raise CheckFailed(f"{judged.label}: {method} gives {structure.tolist()}, which puts {second} first")


def _weighed(it: Aggregator, heavy: int, light: int, weight: float) -> Iterator[tuple[int, int, JudgmentSample]]:
    """Yield one judgment of some weight for an item, with four for another, and which of them is ahead."""
    first, second = (heavy, light) if weight > 4 else (light, heavy)
    label = f"weight {weight:g} for item {heavy}, and four times 1 for item {light}"
    if isinstance(it, ComparisonAggregator):
        pairs = [(heavy, 2), (2, heavy), (light, 2), (2, light), *[(light, heavy)] * 4, (heavy, light)]
        weights = [*[1.0] * 8, weight]
        if it.structure == "edges":  # of which one may look at the first alone
            pairs, weights = pairs[::-1], weights[::-1]
        yield first, second, JudgmentSample(label, 3, samples.comparisons_of(samples.sample_of(pairs, 3, weights)))
    if isinstance(it, ComparisonAggregator | OrderAggregator) and "sequential" not in it.properties:
        ranked = [[heavy, light, 2], *[[light, heavy, 2]] * 4, [2, heavy, light], [2, light, heavy]]
        cast = samples.ballots_of([(items, [0, 1, 2]) for items in ranked], [weight, *[1.0] * 6])
        yield first, second, JudgmentSample(f"ballots, {label}", 3, cast)


@conformance_check("aggregator")
def ties_are_ties(subject: Subject) -> None:
    """A tie has no winner, whichever item it names first, and is a win and a loss; it is not left out."""
    it = subject.it
    if not isinstance(it, ComparisonAggregator):
        raise CheckSkipped("it is not made of comparisons")
    if it.structure == "scores" and not subject.declares("sequential"):
        _ties_are_level(it)
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


def _ties_are_level(it: Aggregator) -> None:
    """Raise unless two items that tie twice are level with two that win once against each other."""
    across = [pair for a in (0, 1) for b in (2, 3) for pair in ((a, b), (b, a))]
    votes = samples.comparisons_of(samples.sample_of([(0, 1), (0, 1), (2, 3), (3, 2), *across], 4))
    ties = np.arange(len(votes)) < 2
    for method, found in _taken(it, JudgmentSample("ties", 4, dataclasses.replace(votes, ties=ties))).items():
        must_agree(
            found, found[[2, 3, 0, 1]], LEVEL, f"{method}: two ties and a win with a loss are not level, but differ"
        )


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
    """Of items at equal scores, a step against the gradient puts none before a better one, and the best first.

    ``winner-not-first`` declares otherwise.
    """
    it = subject.it
    if subject.declares("winner-not-first"):
        raise CheckSkipped("it declares winner-not-first")
    for label, order, gradient in _slopes(it):
        rises = np.diff(gradient[order])
        slack = ROUNDING * max(1.0, float(np.abs(gradient).max()))
        if rises.min() < -slack or (subject.by_default and not rises.sum() > 0):
            raise CheckFailed(
                f"{label}: from the best to the worst the items are {order}, and the gradient at equal scores is "
                f"{gradient.tolist()}"
            )


def _slopes(it: Any) -> Iterator[tuple[str, list[int], NDArray[np.float64]]]:
    """Yield gradients at equal scores of some items, with the items from the best to the worst one."""
    if isinstance(it, ScoreSurrogate):
        for scores in map(
            np.array, ((2.0, 0.0), (0.0, 2.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 3.0, 0.0, 2.0), range(12))
        ):
            target = np.asarray(it.target(scores.astype(np.float64)))
            gradient = np.asarray(it.value_and_gradient(np.zeros(len(scores)), target)[1])
            yield f"scores {scores.tolist()}", np.argsort(-scores).tolist(), gradient
    elif isinstance(it, PairwiseSurrogate):
        for label, there, back in (("an edge from 0 to 1", 0.7, 0.0), ("edges of 2.5 from 0 to 1, .3 back", 2.5, 0.3)):
            weights, offsets = it.edges(np.array([there, back][: 1 + (back > 0)]))
            slopes = weights * it.dphi(-np.asarray(offsets))
            slope = float(slopes[0] - slopes[1:].sum())
            yield label, [0, 1], np.array([slope, -slope])


@conformance_check("loss", of_values=True)
def best_order_has_the_best_value(subject: Subject) -> None:
    """No order of items has a better value, by `direction`, than that of the labels; the reverse has a worse one."""
    it = subject.it
    for grades in ((1.0, 0.0), (3.0, 1.0, 0.0), (4.0, 3.0, 1.0, 0.0), (1.0, -2.0, -3.0)):
        truth = np.array(grades)
        best = _charged(it, truth, truth)
        for order in itertools.permutations(range(len(truth))):
            alpha = truth[list(order)]
            value = _charged(it, alpha, truth)
            if value < best - ROUNDING * max(1.0, abs(best)):
                raise CheckFailed(
                    f"labels {truth.tolist()}: scores {alpha.tolist()} have the value {abs(value):.6g}, better than "
                    f"{abs(best):.6g} of the labels themselves, though `direction` is {it.direction!r}"
                )
    labels = np.arange(12.0)  # more than a usual cutoff
    if subject.by_default and not _charged(it, labels, labels) < _charged(it, -labels, labels):
        raise CheckFailed("labels 0 to 11: the reverse order has the same value as the labels themselves")


def _charged(it: Any, alpha: NDArray[np.float64], labels: NDArray[np.float64]) -> float:
    """Return the value of scores, to be minimized, with labels or their differences as the structure."""
    structure = labels.copy() if it.structure == "scores" else np.maximum(labels[:, None] - labels, 0.0)
    value = float(it.value(alpha.copy(), structure))
    return value if it.direction == "minimize" else -value


@conformance_check("loss")
def ties_are_not_better_than_chance(subject: Subject) -> None:
    """Scores that tie, all or some, have no better value, over all numberings, than all orders have on average."""
    for grades in ((1.0, 0.0), (2.0, 1.0, 0.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0)):
        orders = [np.array(order, np.float64) for order in itertools.permutations(range(len(grades)))]
        labels = [np.array(one) for one in itertools.permutations(grades)]
        some = [(np.arange(len(grades)) < first).astype(np.float64) for first in range(len(grades))]
        values = {int(one.sum()): [_charged(subject.it, one, own) for own in labels] for one in some}
        first, tied = min(((at, float(np.mean(own))) for at, own in values.items()), key=lambda each: each[1])
        chance = float(np.mean([_charged(subject.it, alpha, labels[0]) for alpha in orders]))
        if tied < chance - ROUNDING * max(1.0, abs(chance)):
            which = f"all but the first {first} tie" if first else "all tie"
            raise CheckFailed(
                f"labels {list(grades)}: scores that {which} have the value {abs(tied):.6g}, better than "
                f"{abs(chance):.6g} of all orders on average: a contender that tells nothing apart would lead"
            )


@conformance_check("loss")
def risks_are_of_the_values(subject: Subject) -> None:
    """``expected`` is the mean of ``value``, and ``bayes_risk`` the best one over all orders."""
    it, rng, shares = subject.it, np.random.default_rng(12), np.array([0.3, 0.7])
    for m in (2, 3, 4):
        grades, graphs = rng.integers(0, 5, (2, m)).astype(np.float64), [samples.random_graph(m, k) for k in (1, 2)]
        drawn = grades if it.structure == "scores" else np.stack(graphs)
        alpha = rng.permutation(m).astype(np.float64)
        mean, tried = Loss.expected(it, alpha, drawn, shares), Loss.bayes_risk(it, drawn, shares)
        must_agree(
            it.expected(alpha, drawn, shares), mean, ROUNDING, f"{m} items: expected is not the mean of value, but off"
        )
        best = it.bayes_risk(drawn, shares)
        bounds = np.sort([best.lower, best.upper])
        must_agree(np.clip(tried.lower, *bounds), tried.lower, ROUNDING, f"{m} items: bayes_risk is off the best order")


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
