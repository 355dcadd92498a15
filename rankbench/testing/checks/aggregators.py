"""Checks of aggregators: relabelled items, near starts, score tables."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.aggregator import CountAggregator, NearStart
from rankbench.interfaces.method import Block
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Orders, Selections
from rankbench.interfaces.sequential_aggregator import ScoreAggregator
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.testing import samples
from rankbench.testing.calls import fitted_scores, must_agree, objectives, relative_difference
from rankbench.testing.check import CheckFailed, CheckSkipped, Subject, conformance_check

RELABELLING_TOLERANCE = 1e-7


@conformance_check("aggregator", "surrogate", "loss", "method", declares="equivariant")
def equivariant_under_relabelling(subject: Subject) -> None:
    """Where it is declared, numbering the items anew numbers the result anew."""
    {
        "aggregator": _relabelled_aggregator,
        "surrogate": _relabelled_surrogate,
        "loss": _relabelled_loss,
        "method": _method,
    }[subject.kind](subject)


def _permutation(m: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng([m, seed]).permutation(m)


def _relabelled_aggregator(subject: Subject) -> None:
    it = subject.it
    for seed, (m, k) in enumerate([(2, 1), (4, 6), (5, 60), (8, 200)]):
        new = _permutation(m, seed)
        if isinstance(it, ScoreAggregator):
            values, weights = samples.score_table(m, k + 1, 2), np.ones((2, k + 1))
            renamed = np.empty_like(values)
            renamed[..., new] = values
            before, after = it.from_scores(values, weights), it.from_scores(renamed, weights)
        elif it.needs_truth:
            labels = np.random.default_rng(seed).integers(0, 5, m).astype(np.float64)
            moved = np.empty(m)
            moved[new] = labels
            before, after = it.from_labels(labels), it.from_labels(moved)
        elif it.judgments == "comparisons":
            winners, losers, weights, _ = samples.votes(m, k, seed, weighted=seed % 2 == 1)
            before = it.aggregate(winners, losers, weights, m)
            after = it.aggregate(new[winners].astype(np.int32), new[losers].astype(np.int32), weights, m)
        elif it.judgments == "selections":
            shown = samples.clicks(m, k, seed)
            moved_items = new[shown.items].astype(np.int32)
            before = it.from_selections(shown, m)
            after = it.from_selections(Selections(shown.offsets, shown.starts, moved_items, shown.clicked), m)
        else:
            cast = samples.ballots(m, k, seed)
            moved_items = new[cast.items].astype(np.int32)
            before = it.from_orders(cast, m)
            after = it.from_orders(Orders(cast.offsets, cast.starts, moved_items, cast.places, cast.weights), m)
        found = after[new] if it.structure == "scores" else after[np.ix_(new, new)]
        must_agree(found, before, RELABELLING_TOLERANCE, f"{m} items, {k} judgments: the structure differs")


def _relabelled_surrogate(subject: Subject) -> None:
    it = subject.it
    if not isinstance(it, ScoreSurrogate):
        raise CheckSkipped("a sum over pairs is equivariant by construction")
    for m in (2, 7):
        rng = np.random.default_rng(m)
        alpha, scores, order = rng.normal(size=m), rng.normal(size=m), _permutation(m, 3)
        target = it.target(scores)
        must_agree(it.target(scores[order]), target[order], RELABELLING_TOLERANCE, f"{m} items: the target differs")
        value, gradient = it.value_and_gradient(alpha, target)
        moved, turned = it.value_and_gradient(alpha[order], target[order])
        must_agree(moved, value, RELABELLING_TOLERANCE, f"{m} items: the value differs")
        must_agree(turned, gradient[order], RELABELLING_TOLERANCE, f"{m} items: the gradient differs")


def _relabelled_loss(subject: Subject) -> None:
    it = subject.it
    for m in (2, 5, 9):
        rng = np.random.default_rng(m)
        alpha, order = rng.integers(0, 4, m).astype(np.float64), _permutation(m, 4)
        structure = samples.random_structure(it.structure, m, rng)
        moved = structure[order] if it.structure == "scores" else structure[np.ix_(order, order)]
        before, after = it.value(alpha, structure.copy()), it.value(alpha[order], np.ascontiguousarray(moved))
        must_agree(after, before, RELABELLING_TOLERANCE, f"{m} items with ties: the value differs")


def _method(subject: Subject) -> None:
    design = samples.queries(9)
    said = samples.random_comparisons(design, 40, 9)
    renamed, resaid, moved = samples.relabelled_sample(design, said, 9)
    before, after = (
        fitted_scores(subject.it.fit(Block(queries, judgments, len(judgments), 0, (1, 2, 3))), queries)
        for queries, judgments in ((design, said), (renamed, resaid))
    )
    must_agree(after[moved], before, 1e-5, "the scores differ")


@conformance_check("aggregator")
def order_of_judgments_does_not_matter(subject: Subject) -> None:
    """Unless ``sequential`` is declared, judgments may come in any order."""
    it = subject.it
    if subject.declares("sequential"):
        raise CheckSkipped("it declares sequential")
    if it.needs_truth or it.judgments != "comparisons":
        raise CheckSkipped("it is not made of comparisons")
    for m, k in ((4, 6), (6, 80)):
        sample = samples.votes(m, k, 61, weighted=True)
        if difference := _changed(it, sample, _permutation(k, 61)):
            raise CheckFailed(f"shuffled judgments change the structure by {difference:.3g}; declare sequential")
    level = samples.level_votes()
    for order in itertools.permutations(range(3)):
        if difference := _changed(it, level, np.array([*order, 3, 4])):
            said = " + ".join(f"{weight:g}" for weight in level[2][list(order)])
            raise CheckFailed(
                f"where weights {said} stand against .3 + .3, their order changes the structure by {difference:.3g}. "
                "Sums differ by rounding; take them for level within a tolerance, or declare sequential"
            )


def _changed(it: Any, sample: samples.Sample, order: NDArray[np.int64]) -> float:
    """Return by how much an order of the judgments changes the structure; 0 within the tolerance."""
    winners, losers, weights, m = sample
    before = it.aggregate(winners, losers, weights, m)
    difference = relative_difference(it.aggregate(winners[order], losers[order], weights[order], m), before)
    return difference if difference > RELABELLING_TOLERANCE else 0.0


@conformance_check("aggregator", declares="additive")
def additive_is_the_average_of_single_judgments(subject: Subject) -> None:
    """Where ``additive`` is declared, k judgments give the average of what each gives alone."""
    it = subject.it
    if subject.declares("sequential") or it.judgments != "comparisons" or it.needs_truth:
        raise CheckSkipped("the average over all samples is not that of the single judgments")
    winners, losers, weights, m = samples.votes(5, 12, 62, weighted=True)
    alone = [it.aggregate(winners[[c]], losers[[c]], weights[[c]], m) for c in range(12)]
    found, trouble = it.aggregate(winners, losers, weights, m), "the structure differs from the average"
    must_agree(found, np.mean(alone, axis=0), RELABELLING_TOLERANCE, trouble)


NEAR_START_TOLERANCE = 1e-6


@conformance_check("aggregator")
def near_starts_end_at_the_same_scores(subject: Subject) -> None:
    """``from_counts_near`` returns the scores of ``from_counts``, whatever scores it begins at."""
    it = subject.it
    if not (isinstance(it, NearStart) and isinstance(it, CountAggregator)):
        raise CheckSkipped("it has no from_counts_near")
    for seed, (m, k) in enumerate([(2, 6), (5, 60), (8, 300)]):
        judged = samples.tied_sample(samples.votes(m, k, seed, weighted=seed % 2 == 1))
        counts = PairCounts.from_comparisons(judged, m).observed()
        expected = it.from_counts(counts)
        rng = np.random.default_rng([seed, m])
        for start in (expected, expected + 0.1 * rng.normal(size=m), np.zeros(m)):
            trouble = f"{m} items, {k} judgments: another start moves scores"
            must_agree(it.from_counts_near(counts, start), expected, NEAR_START_TOLERANCE, trouble)


@conformance_check("aggregator", base=ScoreAggregator)
def weighted_tasks_count_as_often(subject: Subject) -> None:
    """Of a score table, a task of weight 2 counts as one that is there twice, and one of weight 0 as none."""
    it = subject.it
    for seeds in (1, 3):
        values = samples.score_table(5, 6, seeds)
        weights = np.array([2.0, 0.0, 1.0, 1.0, 3.0, 0.0])
        times = np.repeat(np.arange(6), weights.astype(np.int64))
        before = it.from_scores(values, np.tile(weights, (seeds, 1)))
        after = it.from_scores(values[:, times], np.ones((seeds, len(times))))
        must_agree(after, before, RELABELLING_TOLERANCE, f"{seeds} seeds: tasks that are repeated move scores")


SHIFTS = (0.5, -3.0, 8.0)
SHIFT_TOLERANCE = 1e-8


@conformance_check("surrogate", "loss", "aggregator", declares="shift-invariant")
def shift_invariant(subject: Subject) -> None:
    """Where it is declared, a constant added to all scores changes nothing."""
    {"surrogate": _shifted_surrogate, "loss": _shifted_loss, "aggregator": _shifted_aggregator}[subject.kind](subject)


def _shifted_surrogate(subject: Subject) -> None:
    rng = np.random.default_rng(51)
    for objective in objectives(subject):
        alpha = rng.normal(size=objective.m)
        value, total = objective.value(alpha), float(objective.gradient(alpha).sum())
        for shift in SHIFTS:
            trouble = f"{objective.label}: with alpha + {shift} the value differs"
            must_agree(objective.value(alpha + shift), value, SHIFT_TOLERANCE, trouble)
        if abs(total) > SHIFT_TOLERANCE * max(1.0, float(np.abs(objective.gradient(alpha)).max())):
            raise CheckFailed(f"{objective.label}: the gradient sums to {total:.3g}, not to 0")


def _shifted_loss(subject: Subject) -> None:
    it = subject.it
    rng = np.random.default_rng(52)
    for m in (2, 6, 9):
        # Quarters: adding halves is exact, so that ties stay ties.
        alpha = rng.integers(-8, 8, m) / 4
        structure = samples.random_structure(it.structure, m, rng)
        value = it.value(alpha.copy(), structure.copy())
        for shift in SHIFTS:
            moved = it.value(alpha + shift, structure.copy())
            must_agree(moved, value, SHIFT_TOLERANCE, f"{m} items: with alpha + {shift} the value differs")


def _shifted_aggregator(subject: Subject) -> None:
    it = subject.it
    if not it.needs_truth:
        raise CheckSkipped("it is not made from labels: there is nothing to shift")
    labels = np.array([0.0, 1.0, 4.0, 1.0, 2.0])
    for shift in SHIFTS:
        moved, trouble = it.from_labels(labels + shift), f"with labels + {shift} the structure differs"
        must_agree(moved, it.from_labels(labels.copy()), SHIFT_TOLERANCE, trouble)
