"""Equivariance: how the items are numbered does not matter."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.method import Block
from rankbench.kinds.queries import Orders, Selections
from rankbench.kinds.score_aggregator import ScoreAggregator
from rankbench.kinds.surrogate import ScoreSurrogate
from rankbench.testing import samples
from rankbench.testing.calls import fitted_scores
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.close import relative_difference
from rankbench.testing.subjects import Subject

TOLERANCE = 1e-7


@conformance_check("aggregator", "surrogate", "loss", "method")
def equivariant_under_relabelling(subject: Subject) -> None:
    """Where it is declared, numbering the items anew numbers the result anew."""
    if not subject.declares("equivariant"):
        raise CheckSkipped("it does not declare equivariant")
    {"aggregator": _aggregator, "surrogate": _surrogate, "loss": _loss, "method": _method}[subject.kind](subject)


def _permutation(m: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng([m, seed]).permutation(m)


def _aggregator(subject: Subject) -> None:
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
        if (difference := relative_difference(found, before)) > TOLERANCE:
            raise CheckFailed(f"{m} items, {k} judgments: the structure differs by {difference:.3g}")


def _surrogate(subject: Subject) -> None:
    it = subject.it
    if not isinstance(it, ScoreSurrogate):
        raise CheckSkipped("a sum over pairs is equivariant by construction")
    for m in (2, 7):
        rng = np.random.default_rng(m)
        alpha, scores, order = rng.normal(size=m), rng.normal(size=m), _permutation(m, 3)
        target = it.target(scores)
        if relative_difference(it.target(scores[order]), target[order]) > TOLERANCE:
            raise CheckFailed(f"{m} items: the target depends on the numbering")
        value, gradient = it.value_and_gradient(alpha, target)
        moved, turned = it.value_and_gradient(alpha[order], target[order])
        if (
            abs(moved - value) > TOLERANCE * max(1.0, abs(value))
            or relative_difference(turned, gradient[order]) > TOLERANCE
        ):
            raise CheckFailed(f"{m} items: value or gradient depend on the numbering")


def _loss(subject: Subject) -> None:
    it = subject.it
    for m in (2, 5, 9):
        rng = np.random.default_rng(m)
        alpha, order = rng.integers(0, 4, m).astype(np.float64), _permutation(m, 4)
        structure = samples.random_structure(it.structure, m, rng)
        moved = structure[order] if it.structure == "scores" else structure[np.ix_(order, order)]
        before, after = it.value(alpha, structure.copy()), it.value(alpha[order], np.ascontiguousarray(moved))
        if abs(before - after) > TOLERANCE * max(1.0, abs(before)):
            raise CheckFailed(f"{m} items with ties: {before:.9g} becomes {after:.9g}")


def _method(subject: Subject) -> None:
    design = samples.queries(9)
    said = samples.random_comparisons(design, 40, 9)
    renamed, resaid, moved = samples.relabelled_sample(design, said, 9)
    before, after = (
        fitted_scores(subject.it.fit(Block(queries, judgments, len(judgments), 0, (1, 2, 3))), queries)
        for queries, judgments in ((design, said), (renamed, resaid))
    )
    if (difference := relative_difference(after[moved], before)) > 1e-5:
        raise CheckFailed(f"the scores differ by {difference:.3g}")


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
                f"where weights {said} stand against .3 + .3, their order changes the structure by {difference:.3g}: "
                "sums differ by rounding; take them for level within a tolerance, or declare sequential"
            )


def _changed(it: Any, sample: samples.Sample, order: NDArray[np.int64]) -> float:
    """Return by how much an order of the judgments changes the structure; 0 within the tolerance."""
    winners, losers, weights, m = sample
    before = it.aggregate(winners, losers, weights, m)
    difference = relative_difference(it.aggregate(winners[order], losers[order], weights[order], m), before)
    return difference if difference > TOLERANCE else 0.0


@conformance_check("aggregator")
def additive_is_the_average_of_single_judgments(subject: Subject) -> None:
    """Where ``additive`` is declared, k judgments give the average of what each gives alone."""
    it = subject.it
    if not subject.declares("additive"):
        raise CheckSkipped("it does not declare additive")
    if subject.declares("sequential") or it.judgments != "comparisons" or it.needs_truth:
        raise CheckSkipped("the average over all samples is not that of the single judgments")
    winners, losers, weights, m = samples.votes(5, 12, 62, weighted=True)
    alone = [it.aggregate(winners[[c]], losers[[c]], weights[[c]], m) for c in range(12)]
    if (
        difference := relative_difference(it.aggregate(winners, losers, weights, m), np.mean(alone, axis=0))
    ) > TOLERANCE:
        raise CheckFailed(f"the structure differs from the average by {difference:.3g}")
