"""Checks of aggregators: relabelled items, near starts, score tables, formulas of intervals."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.interfaces.aggregator import (
    ComparisonAggregator,
    CountAggregator,
    NearStart,
    Resampling,
    WithCovariance,
)
from rankbench.interfaces.aggregator_calls import covariance_of, replicates_of, scores_of_each
from rankbench.interfaces.click_aggregator import SelectionAggregator
from rankbench.interfaces.method import Block
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.resamples import resamples_of
from rankbench.interfaces.sequential_aggregator import ScoreAggregator, SequentialAggregator
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.testing import samples
from rankbench.testing.calls import fitted_scores, objectives
from rankbench.testing.check import (
    CheckFailed,
    CheckSkipped,
    Subject,
    conformance_check,
    must_agree,
    relative_difference,
)
from rankbench.testing.judgment_samples import JudgmentSample, agreed, drawn, structures, unrefused

RELABELLING_TOLERANCE = 1e-7
CLEAR_TOLERANCE = 0.02
"""For aggregators that take votes in a random order, or stop early."""

MOST_NUMBERED = 4
"""Items that are numbered in every way."""


@conformance_check("aggregator", "surrogate", "loss", "method")
def equivariant_under_relabelling(subject: Subject) -> None:
    """Numbering the items anew numbers the result anew.

    Without the declaration ``equivariant``, methods are left out, as are tied scores of losses; aggregators of
    comparisons are tried where one order of the items is clear.
    """
    {
        "aggregator": _relabelled_aggregator,
        "surrogate": _relabelled_surrogate,
        "loss": _relabelled_loss,
        "method": _method,
    }[subject.kind](subject)


def _permutation(m: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng([m, seed]).permutation(m)


def _orders_of(m: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield all numberings of up to four items, one of more."""
    if m <= MOST_NUMBERED:
        yield from (np.array(new) for new in itertools.permutations(range(m)))
    else:
        yield _permutation(m, seed)


def _relabelled_aggregator(subject: Subject) -> None:
    it = subject.it
    exact = subject.declares("equivariant") or not isinstance(it, ComparisonAggregator)
    tolerance = RELABELLING_TOLERANCE if exact else CLEAR_TOLERANCE
    for judged in drawn(it) if exact else agreed(it, range(3)):
        for method, before in unrefused(it, judged):
            for new in _orders_of(judged.m, 0):
                after = dict(structures(it, judged.renumbered(new), method))[method]
                found = after[new] if it.structure == "scores" else after[np.ix_(new, new)]
                must_agree(found, before, tolerance, f"{judged.label}: the structure of {method} differs")


def _relabelled_surrogate(subject: Subject) -> None:
    it = subject.it
    if not isinstance(it, ScoreSurrogate):
        raise CheckSkipped("a sum over pairs is equivariant by construction")
    for m in (2, 3, 4, 7):
        rng = np.random.default_rng(m)
        tied = [scores for scores in samples.tied_labels() if len(scores) == m]
        for alpha, scores in ((rng.normal(size=m), one) for one in (rng.normal(size=m), *tied)):
            target = it.target(scores)
            value, gradient = it.value_and_gradient(alpha, target)
            for order in _orders_of(m, 3):
                label = f"{m} items, scores {scores}, numbered {order}"
                must_agree(
                    it.target(scores[order]), target[order], RELABELLING_TOLERANCE, f"{label}: the target differs"
                )
                moved, turned = it.value_and_gradient(alpha[order], target[order])
                must_agree(moved, value, RELABELLING_TOLERANCE, f"{label}: the value differs")
                must_agree(turned, gradient[order], RELABELLING_TOLERANCE, f"{label}: the gradient differs")


def _relabelled_loss(subject: Subject) -> None:
    for alpha, structure in _scored(subject.it, ties=subject.declares("equivariant")):
        _renumbered(subject.it, alpha, structure)


def _scored(it: Any, *, ties: bool) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield scores of items, all different or with ties, and structures: of few items all labels of three grades."""
    rng = np.random.default_rng(66)
    drawn_structures = [samples.random_structure(it.structure, m, rng) for m in (2, 3, 4, 4, 5, 9)]
    for structure in [*drawn_structures, *(samples.tied_labels() if it.structure == "scores" else ())]:
        m = len(structure)
        for grades in (2, 3):
            yield (
                rng.integers(0, grades, m).astype(np.float64) if ties else np.asarray(rng.permutation(m), np.float64),
                structure,
            )


def _renumbered(it: Any, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> None:
    before = it.value(alpha.copy(), structure.copy())
    for order in _orders_of(len(alpha), 4):
        moved = structure[order] if it.structure == "scores" else structure[np.ix_(order, order)]
        after = it.value(alpha[order], np.ascontiguousarray(moved))
        trouble = (
            f"scores {alpha} of items with the structure {structure.tolist()}, numbered {order}: the value differs"
        )
        must_agree(after, before, RELABELLING_TOLERANCE, trouble)


def _method(subject: Subject) -> None:
    if not subject.declares("equivariant"):
        raise CheckSkipped("it does not declare equivariant")
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
    """Unless ``sequential`` is declared, judgments, and the items of a tie, may come in any order."""
    it = subject.it
    if subject.declares("sequential"):
        raise CheckSkipped("it declares sequential")
    for judged in drawn(it):
        for method, before in structures(it, judged):
            after = dict(structures(it, judged.reordered(np.random.default_rng(61)), method))[method]
            trouble = f"{judged.label}, shuffled: {method} changes the structure (declare sequential, if it shall)"
            must_agree(after, before, RELABELLING_TOLERANCE, trouble)
    if not isinstance(it, ComparisonAggregator):
        return
    winners, losers, weights, m = samples.level_votes()
    before = it.aggregate(winners, losers, weights, m)
    for first in itertools.permutations(range(3)):
        order = np.array([*first, 3, 4])
        after = it.aggregate(winners[order], losers[order], weights[order], m)
        if (difference := relative_difference(after, before)) > RELABELLING_TOLERANCE:
            said = " + ".join(f"{weight:g}" for weight in weights[order[:3]])
            raise CheckFailed(
                f"where weights {said} stand against .3 + .3, their order changes the structure by {difference:.3g}. "
                "Sums differ by rounding; take them for level within a tolerance, or declare sequential"
            )


@conformance_check("aggregator", base=SequentialAggregator)
def votes_of_one_time_are_learned_together(subject: Subject) -> None:
    """The order of votes of one time means nothing to ``learn``."""
    it, said = subject.it, JudgmentSample("votes", 5, samples.tied_sample(samples.votes(5, 30, 68)))
    before, after = it.start(5), it.start(5)
    it.learn(before, said.judgments, 0)
    it.learn(after, said.reordered(np.random.default_rng(69)).judgments, 0)
    must_agree(after, before, RELABELLING_TOLERANCE, "30 votes of one time, shuffled: learn changes the state")


@conformance_check("aggregator", declares="sequential")
def order_of_sequential_judgments_matters(subject: Subject) -> None:
    """Where ``sequential`` is declared, some other order of the judgments gives other scores."""
    it = subject.it
    for judged in drawn(it):
        for seed in range(3):
            try:
                found = dict(structures(it, judged))
                others = dict(structures(it, judged.reordered(np.random.default_rng(seed))))
            except InputError:  # as of fractions of votes
                continue
            if any(relative_difference(others[method], one) > 0 for method, one in found.items()):
                return
    raise CheckFailed("it declares sequential, and shuffled judgments give the same scores: leave it out")


@conformance_check("aggregator", base=CountAggregator)
def names_do_not_matter(subject: Subject) -> None:
    """Counts of items with other names have the same scores."""
    for m, k in ((3, 9), (6, 80)):
        counts = PairCounts.from_comparisons(samples.tied_sample(samples.votes(m, k, 63)), m).observed()
        others = dataclasses.replace(counts, items=[f"item {m - i}" for i in range(m)])
        before, after = subject.it.from_counts(counts), subject.it.from_counts(others)
        must_agree(after, before, RELABELLING_TOLERANCE, f"{m} items with other names: the scores differ")


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


@conformance_check("aggregator", base=SelectionAggregator)
def queries_may_change_places(subject: Subject) -> None:
    """Of clicks on two queries, the items keep their scores where the other query comes first."""
    clicks = samples.clicks(4, 30, 70), samples.clicks(6, 40, 71)
    before = subject.it.estimate(samples.clicks_of_both(*clicks), np.array([0, 4, 10]))[0]
    after = subject.it.estimate(samples.clicks_of_both(*clicks[::-1]), np.array([0, 6, 10]))[0]
    must_agree(
        np.roll(after, 4), before, RELABELLING_TOLERANCE, "queries in another order: scores of their items differ"
    )


@conformance_check("aggregator", base=ScoreAggregator)
def weighted_tasks_count_as_often(subject: Subject) -> None:
    """Of a score table, a task or seed of weight 2 counts as one that is there twice, and one of weight 0 as none."""
    it = subject.it
    for seeds in (1, 3):
        values = samples.score_table(5, 6, seeds)
        of_tasks, of_seeds = np.array([2, 0, 1, 1, 3, 0]), np.array([0, 1, 2][-seeds:])
        before = it.from_scores(values, np.outer(of_seeds, of_tasks).astype(np.float64))
        repeated = values.repeat(of_seeds, axis=0).repeat(of_tasks, axis=1)
        after = it.from_scores(repeated, np.ones(repeated.shape[:2]))
        must_agree(after, before, RELABELLING_TOLERANCE, f"{seeds} seeds: what is repeated moves scores")


@conformance_check("aggregator")
def replicates_are_scores_of_resamples(subject: Subject) -> None:
    """``replicates`` returns the scores of ``from_counts`` for each resample."""
    it = subject.it
    if not (isinstance(it, Resampling) and isinstance(it, CountAggregator)):
        raise CheckSkipped("it has no replicates")
    counts = _many_votes()
    resamples = resamples_of(counts, 5, 0)
    found = replicates_of(it, it.from_counts(counts), resamples)
    must_agree(found, scores_of_each(it, resamples), NEAR_START_TOLERANCE, "replicates differ from scores of resamples")


LARGEST_RATIO = 2.0
"""Of standard errors by formula and by 200 resamples, which agree within some 10% for many votes."""


@conformance_check("aggregator")
def covariance_is_that_of_resamples(subject: Subject) -> None:
    """``covariance`` is finite, and its standard errors of differences are about those of resamples."""
    it = subject.it
    if not (isinstance(it, WithCovariance) and isinstance(it, CountAggregator)):
        raise CheckSkipped("it has no covariance")
    counts = _many_votes()
    scores = it.from_counts(counts)
    formula = covariance_of(it, counts, scores, None)
    resampled = np.cov(scores_of_each(it, resamples_of(counts, 200, 0)), rowvar=False)
    (found, expected) = (np.diag(c)[:, None] + np.diag(c) - c - c.T for c in (formula, resampled))
    pairs = np.triu_indices(counts.m, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.sqrt(found[pairs] / expected[pairs])
    if not ((ratios < LARGEST_RATIO) & (ratios > 1 / LARGEST_RATIO)).all():
        raise CheckFailed(
            f"standard errors of differences by covariance are {ratios.min():.3g} to {ratios.max():.3g} times those of "
            "resampled votes"
        )


def _many_votes() -> PairCounts:
    """Return 2,000 votes on five items, a third of them ties."""
    return PairCounts.from_comparisons(samples.tied_sample(samples.votes(5, 2000, 67)), 5).observed()


SHIFTS = (0.5, -3.0, 8.0)
SHIFT_TOLERANCE = 1e-8


@conformance_check("surrogate", "loss", "aggregator", declares="shift-invariant", of_values=True)
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
    for m, unit in itertools.product((2, 6, 9), (1 / 4, 1 / 1024)):
        # Sums of powers of 2 are exact, so that ties stay ties. Small units show rounded scores, large shifts cut ones.
        alpha = rng.integers(-8, 8, m) * unit
        structure = samples.random_structure(it.structure, m, rng)
        value = it.value(alpha.copy(), structure.copy())
        for shift in (*SHIFTS, 1 / 512, 100.0):
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
