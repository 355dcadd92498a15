"""Faults planted in components of all kinds: each is named by the check that it is planted for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from numba import njit
from pydantic import Field

import rankbench
from rankbench.aggregators.sequential import Elo
from rankbench.core.component import Component
from rankbench.errors import InputError
from rankbench.interfaces.cell import CellResult
from rankbench.interfaces.exact import BayesRisk
from rankbench.interfaces.method import Fit, Fitted
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import Prepared
from rankbench.kernels import Kernel
from rankbench.kernels.signatures import AGGREGATE, LOSS
from rankbench.losses.positions import NDCG
from rankbench.testing.check import check_component, registered_check, run_check, subject_of

SOUND: list[type[Component]] = []
FAULTS: list[tuple[type[Component], str]] = []


def sound(cls: type[Component]) -> type[Component]:
    """Enter a component that passes all checks, so that faults are what fails in what derives from it."""
    SOUND.append(cls)
    return cls


def fails(check: str) -> Callable[[type[Component]], type[Component]]:
    """Enter a component with a fault, and the check that must name it."""

    def enter(cls: type[Component]) -> type[Component]:
        cls.__doc__ = "A component with a fault."
        cls.name = cls.__name__.lower()
        FAULTS.append((cls, check))
        return cls

    return enter


@sound
class Votes(rankbench.ComparisonAggregator):
    """The share of weight won less the share lost."""

    name = "votes"
    source = "This test"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        won, lost = np.bincount(winners, weights, m), np.bincount(losers, weights, m)
        return (won - lost) / weights.sum()


@fails("winners-are-first")
class VotesReversed(Votes):
    def aggregate(self, winners, losers, weights, m):
        return -super().aggregate(winners, losers, weights, m)


@fails("winners-are-first")
class VotesOfBallotsReversed(Votes):
    def from_orders(self, orders, m):
        return -super().from_orders(orders, m)


@fails("winners-are-first")
class VotesAllAlike(Votes):
    def aggregate(self, winners, losers, weights, m):
        return np.zeros(m)


@fails("equivariant-under-relabelling")
class VotesFirstShifted(Votes):
    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights, m) + 0.01 * (np.arange(m) == 0)


@fails("equivariant-under-relabelling")
class VotesLevelByNumber(Votes):
    """Items of one score are told apart by their numbers."""

    def aggregate(self, winners, losers, weights, m):
        return np.argsort(np.argsort(super().aggregate(winners, losers, weights, m), kind="stable")).astype(float)


@fails("equivariant-under-relabelling")
class VotesFirstFavored(Votes):
    """The item of number 0 is favored; it does not declare that numbers mean nothing."""

    properties = frozenset()

    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights, m) + 0.1 * (np.arange(m) == 0)


@fails("within-the-declared-range")
class VotesOutOfBounds(Votes):
    def bounds(self):
        return 0.0, None


@fails("winners-are-first")
class VotesReversedOfManyItems(Votes):
    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights, m) * (1 if m < 7 else -1)


@fails("weights-count")
class VotesUnweighted(Votes):
    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, np.ones_like(weights), m)


@fails("weights-count")
class VotesWeightSquared(Votes):
    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights**2, m)


@fails("weights-count")
class VotesWeightCut(Votes):
    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, np.minimum(weights, 3.0), m)


@fails("weights-count")
class VotesLostUnweighted(Votes):
    def aggregate(self, winners, losers, weights, m):
        return (np.bincount(winners, weights, m) - np.bincount(losers, None, m)) / weights.sum()


@fails("weights-count")
class VotesOfBallotsUnweighted(Votes):
    def from_orders(self, orders, m):
        import dataclasses

        return super().from_orders(dataclasses.replace(orders, weights=np.ones(len(orders))), m)


@fails("ties-are-ties")
class VotesTiesDropped(Votes):
    def from_comparisons(self, comparisons, m):
        if comparisons.ties is None:
            return super().from_comparisons(comparisons, m)
        kept = ~comparisons.ties
        if not kept.any():
            return np.zeros(m)
        return self.aggregate(comparisons.winners[kept], comparisons.losers[kept], comparisons.weights[kept], m)


@fails("ties-are-ties")
class VotesTiesWonByTheFirst(Votes):
    def from_comparisons(self, comparisons, m):
        return self.aggregate(comparisons.winners, comparisons.losers, comparisons.weights, m)


@fails("ties-are-ties")
class VotesTiesLostByBoth(Votes):
    def from_comparisons(self, comparisons, m):
        if comparisons.ties is None:
            return super().from_comparisons(comparisons, m)
        winners, losers, ties = comparisons.winners, comparisons.losers, comparisons.weights * comparisons.ties
        won = np.bincount(winners, comparisons.weights - ties, m)
        return won - np.bincount(losers, comparisons.weights, m) - np.bincount(winners, ties, m)


@fails("order-of-judgments-does-not-matter")
class VotesLastDecides(Votes):
    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights * np.linspace(1, 1.1, len(weights)), m)


@fails("works-on-read-only-arrays")
class VotesWritten(Votes):
    def aggregate(self, winners, losers, weights, m):
        weights /= weights.sum()
        return super().aggregate(winners, losers, weights, m)


@fails("surroundings-not-touched")
class VotesSeeding(Votes):
    def aggregate(self, winners, losers, weights, m):
        np.random.seed(1)  # noqa: NPY002
        return super().aggregate(winners, losers, weights, m)


@fails("same-input-same-result")
class VotesDrawn(Votes):
    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights, m) + 1e-9 * np.random.default_rng().normal(size=m)


@fails("same-input-same-result")
class VotesRemembered(Votes):
    def aggregate(self, winners, losers, weights, m):
        seen.append(len(winners))
        return super().aggregate(winners, losers, weights, m) * (1 + len(seen))


seen: list[int] = []


@fails("shape-and-finiteness")
class VotesOfFewDigits(Votes):
    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights, m).astype(np.float32)


@fails("edge-cases")
class VotesUnjudgedNan(Votes):
    def aggregate(self, winners, losers, weights, m):
        found = super().aggregate(winners, losers, weights, m)
        found[~np.isin(np.arange(m), [*winners, *losers])] = np.nan
        return found


@fails("parameters-work-within-their-bounds")
class VotesNanAtNineTenths(Votes):
    damping: float = Field(default=0.5, ge=0, le=1, description="A share.")

    def aggregate(self, winners, losers, weights, m):
        found = super().aggregate(winners, losers, weights, m)
        return found * np.nan if self.damping == 0.9 else found


@fails("parameters-work-within-their-bounds")
class VotesNanBetween(Votes):
    damping: float | None = Field(default=None, gt=0, lt=1, description="A share, or none.")

    def aggregate(self, winners, losers, weights, m):
        found = super().aggregate(winners, losers, weights, m)
        return found / (0.0 if self.damping is not None and self.damping > 0.999 else 1.0)


@fails("parameters-work-within-their-bounds")
class VotesNanAtTheOpenEnd(Votes):
    prior: float = Field(default=1.0, gt=0, description="A weight, which has no upper bound.")

    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights, m) * self.prior / (self.prior + 1.0)


@fails("parameters-work-within-their-bounds")
class VotesReversedByAWord(Votes):
    best: Literal["high", "low"] = Field(default="high", description="A word.")

    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights, m) * (-1 if self.best == "low" else 1)


@njit(AGGREGATE)
def halved(winners, losers, weights, m, params, work, out):
    out[:] = 0.0
    for e in range(len(winners)):
        out[winners[e]] += weights[e]
        out[losers[e]] -= weights[e] / 2
    out /= weights.sum()


@fails("compiled-aggregator-equals-numpy")
class VotesCompiledOtherwise(Votes):
    def kernel(self):
        return Kernel(halved)


@sound
class Counts(rankbench.CountAggregator):
    """The share of weight won less the share lost."""

    name = "counts"
    source = "This test"
    properties = frozenset({"equivariant"})

    def from_counts(self, counts):
        won, lost = counts.won_and_lost()
        return (won - lost) / (won.sum() or 1.0)


@fails("winners-are-first")
class CountsReversed(Counts):
    def from_counts(self, counts):
        return -super().from_counts(counts)


@fails("ties-are-ties")
class CountsTiesDropped(Counts):
    def from_counts(self, counts):
        import dataclasses

        return super().from_counts(dataclasses.replace(counts, ties=np.zeros(len(counts))))


@fails("names-do-not-matter")
class CountsByName(Counts):
    def from_counts(self, counts):
        return super().from_counts(counts) + 0.01 * np.argsort(np.argsort(counts.items))


@fails("works-on-read-only-arrays")
class CountsWritten(Counts):
    def from_counts(self, counts):
        counts.forward[:] = counts.forward + 1e-9
        return super().from_counts(counts)


@fails("near-starts-end-at-the-same-scores")
class CountsNearReversed(Counts):
    def from_counts_near(self, counts, scores):
        return -self.from_counts(counts)


@fails("replicates-are-scores-of-resamples")
class CountsReplicatesHalved(Counts):
    def replicates(self, scores, resamples):
        return np.stack([0.5 * self.from_counts(counts) for counts in resamples])


class CountsWithCovariance(Counts):
    def prefers_covariance(self):
        return True


@fails("covariance-is-that-of-resamples")
class CountsCertain(CountsWithCovariance):
    def covariance(self, counts, scores, clusters):
        return 1e-9 * np.eye(counts.m)


@fails("covariance-is-that-of-resamples")
class CountsUnknownCovariance(CountsWithCovariance):
    def covariance(self, counts, scores, clusters):
        return np.full((counts.m, counts.m), np.nan)


@sound
class Ballots(rankbench.OrderAggregator):
    """The mean place from below."""

    name = "ballots"
    source = "This test"
    properties = frozenset({"equivariant"})

    def from_orders(self, orders, m):
        rows = np.repeat(np.arange(len(orders)), np.diff(orders.starts))
        points = orders.weights[rows] * (m - orders.places)
        return np.bincount(orders.items, points, m) / orders.weights.sum()


@fails("winners-are-first")
class BallotsReversed(Ballots):
    def from_orders(self, orders, m):
        return -super().from_orders(orders, m)


@fails("weights-count")
class BallotsUnweighted(Ballots):
    def from_orders(self, orders, m):
        import dataclasses

        return super().from_orders(dataclasses.replace(orders, weights=np.ones(len(orders))), m)


@fails("weights-count")
class BallotsWeightSquared(Ballots):
    def from_orders(self, orders, m):
        return super().from_orders(replace(orders, weights=orders.weights**2), m)


@fails("order-of-judgments-does-not-matter")
class BallotsAsListed(Ballots):
    """Items of one place are told apart by where they are listed."""

    def from_orders(self, orders, m):
        import dataclasses

        listed = np.arange(len(orders.items)) - np.repeat(orders.starts[:-1], np.diff(orders.starts))
        return super().from_orders(dataclasses.replace(orders, places=listed.astype(np.int32)), m)


@sound
class Clicks(rankbench.SelectionAggregator):
    """Clicks on an item over the lists that showed it."""

    name = "clicks"
    source = "This test"

    def estimate(self, selections, item_offsets):
        from rankbench.interfaces.click_aggregator import longest_list, rows_of

        items, _ = rows_of(selections, item_offsets)
        shown = np.bincount(items, minlength=item_offsets[-1])
        clicked = np.bincount(items, selections.clicked, item_offsets[-1])
        return clicked / np.maximum(shown, 1), np.ones(longest_list(selections))


@fails("winners-are-first")
class ClicksReversed(Clicks):
    def estimate(self, selections, item_offsets):
        scores, examination = super().estimate(selections, item_offsets)
        return 1 - scores, examination


@fails("order-of-judgments-does-not-matter")
class ClicksFaded(Clicks):
    def estimate(self, selections, item_offsets):
        scores, examination = super().estimate(selections, item_offsets)
        return scores + 0.1 * (np.arange(len(scores)) == selections.items[-1]), examination


@fails("shape-and-finiteness")
class ClicksBelowZero(Clicks):
    def estimate(self, selections, item_offsets):
        scores, examination = super().estimate(selections, item_offsets)
        return scores - 0.5, examination


@fails("shape-and-finiteness")
class ClicksUnexamined(Clicks):
    def estimate(self, selections, item_offsets):
        scores, examination = super().estimate(selections, item_offsets)
        return scores, np.full_like(examination, np.nan)


@fails("queries-may-change-places")
class ClicksOfTheFirstQuery(Clicks):
    def estimate(self, selections, item_offsets):
        scores, examination = super().estimate(selections, item_offsets)
        scores[item_offsets[1] :] = 0.0
        return scores, examination


@fails("compiled-clicks-equal-numpy")
class ClicksCompiledOtherwise(Clicks):
    def selection_kernel(self):
        from rankbench.aggregators.kernels.clicks import click_rate

        return Kernel(click_rate, np.array([self.smoothing, 1.0]))


@sound
class Table(rankbench.ScoreAggregator):
    """The mean of scores."""

    name = "table"
    source = "This test"
    properties = frozenset({"equivariant"})

    def cells(self, values):
        return values.copy()


@fails("winners-are-first")
class TableReversed(Table):
    def cells(self, values):
        return -values


@fails("winners-are-first")
class TableOfRanks(Table):
    """Rank 1 is the best, and the direction does not say so."""

    def cells(self, values):
        return (values[..., None, :] > values[..., None]).sum(axis=-1) + 1.0


@fails("equivariant-under-relabelling")
class TableTiesByNumber(rankbench.ScoreAggregator):
    """Systems of one score on a task are told apart by their numbers; no property is declared."""

    source = "This test"

    def cells(self, values):
        return np.argsort(np.argsort(values, axis=-1, kind="stable"), axis=-1).astype(float)


@fails("weighted-tasks-count-as-often")
class TableUnweighted(rankbench.ScoreAggregator):
    source = "This test"
    properties = frozenset({"equivariant"})

    def from_scores(self, values, weights):
        return values.mean(axis=(0, 1))


@fails("weighted-tasks-count-as-often")
class TableOfTheFirstSeedsWeights(rankbench.ScoreAggregator):
    source = "This test"
    properties = frozenset({"equivariant"})

    def from_scores(self, values, weights):
        return np.einsum("t,rts->s", weights[0], values) / weights[0].sum() / len(values)


@sound
class Labels(rankbench.LabelAggregator):
    """The labels."""

    name = "labels-of-tests"
    source = "This test"
    properties = frozenset({"equivariant"})

    def from_labels(self, labels):
        return labels.copy()


@fails("winners-are-first")
class LabelsReversed(Labels):
    def from_labels(self, labels):
        return -labels


@sound
class Steps(rankbench.SequentialAggregator):
    """Ratings that move by a tenth with each vote."""

    name = "steps"
    source = "This test"
    properties = frozenset({"equivariant", "sequential"})

    def start(self, m):
        return np.zeros((m, 1))

    def ratings(self, state):
        return state[:, 0]

    def learn(self, state, votes, time):
        half = np.where(votes.ties, 0.0, 1.0) if votes.ties is not None else np.ones(len(votes))
        moved = np.concatenate([votes.weights * half, -votes.weights * half])
        items = np.concatenate([votes.winners, votes.losers])
        state[:, 0] *= 0.99
        np.add.at(state[:, 0], items, 0.1 * moved)

    def aggregate(self, winners, losers, weights, m):
        return self.from_comparisons(rankbench.Comparisons(np.array([0, len(winners)]), winners, losers, weights), m)

    def from_comparisons(self, comparisons, m):
        state = self.start(m)
        for row in range(len(comparisons)):
            rows = slice(row, row + 1)
            ties = None if comparisons.ties is None else comparisons.ties[rows]
            columns = (comparisons.winners[rows], comparisons.losers[rows], comparisons.weights[rows])
            self.learn(state, rankbench.Comparisons(np.array([0, 1]), *columns, ties), row)
        return self.ratings(state).copy()


@fails("winners-are-first")
class StepsRatedReversed(Steps):
    def ratings(self, state):
        return -state[:, 0]


@fails("winners-are-first")
class StepsForetoldReversed(Steps):
    def margins(self, state, first, second, time):
        return state[second, 0] - state[first, 0]


@fails("votes-of-one-time-are-learned-together")
class StepsOneByOne(Steps):
    def learn(self, state, votes, time):
        for row in range(len(votes)):
            rows = slice(row, row + 1)
            ties = None if votes.ties is None else votes.ties[rows]
            columns = (votes.winners[rows], votes.losers[rows], votes.weights[rows])
            super().learn(state, rankbench.Comparisons(np.array([0, 1]), *columns, ties), time)


@fails("works-on-read-only-arrays")
class StepsCenteredWhereAsked(Steps):
    def ratings(self, state):
        state -= state.mean()
        return state[:, 0]


@fails("compiled-walk-equals-numpy")
class EloForetellingHalves(Elo):
    def margins(self, state, first, second, time):
        return super().margins(state, first, second, time) / 2

    def walk_kernel(self):
        return super().walk_kernel()


@fails("order-of-sequential-judgments-matters")
class StepsInAnyOrder(Steps):
    def learn(self, state, votes, time):
        super().learn(state, votes, time)
        state[:, 0] /= 0.99 ** (time >= 0)

    def from_comparisons(self, comparisons, m):
        return Votes().from_comparisons(comparisons, m)

    def ratings(self, state):
        return np.round(state[:, 0], 6)


@sound
class Edges(rankbench.ComparisonAggregator):
    """The weight of each pair."""

    name = "edges"
    source = "This test"
    structure = "edges"
    properties = frozenset({"equivariant"})

    def aggregate(self, winners, losers, weights, m):
        found = np.zeros((m, m))
        np.add.at(found, (winners, losers), weights)
        return found


@fails("winners-are-first")
class EdgesTurned(Edges):
    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(losers, winners, weights, m)


@sound
class Hinge(rankbench.PairwiseSurrogate):
    """A squared hinge."""

    name = "squared-hinge-of-tests"
    source = "This test"
    properties = frozenset({"convex", "shift-invariant", "equivariant"})

    width: float = Field(default=1.0, gt=0, le=10, description="Margin from which on nothing is charged.")

    def phi(self, margin):
        return np.maximum(0.0, self.width - margin) ** 2 / 2

    def dphi(self, margin):
        return -np.maximum(0.0, self.width - margin)


@fails("gradient-is-the-difference-quotient")
class HingeNineTenths(Hinge):
    def dphi(self, margin):
        return 0.9 * super().dphi(margin)


@fails("gradient-is-the-difference-quotient")
class HingeWrongFarAway(Hinge):
    def dphi(self, margin):
        return np.where(margin < -6, 0.9, 1.0) * super().dphi(margin)


@fails("better-items-are-pushed-up")
class HingeReversed(Hinge):
    def phi(self, margin):
        return super().phi(-margin)

    def dphi(self, margin):
        return -super().dphi(-margin)


@fails("convex-at-random-chords")
class HingeBent(Hinge):
    def phi(self, margin):
        return np.minimum(super().phi(margin), 3.0)

    def dphi(self, margin):
        return np.where(super().phi(margin) < 3.0, super().dphi(margin), 0.0)


@fails("parameters-work-within-their-bounds")
class HingeBentByAParameter(Hinge):
    properties = frozenset({"convex"})

    power: float = Field(default=2.0, ge=0.5, le=3, description="Of the hinge.")

    def phi(self, margin):
        return np.maximum(1e-3, self.width - margin) ** self.power

    def dphi(self, margin):
        gap = np.maximum(1e-3, self.width - margin)
        return np.where(self.width - margin > 1e-3, -self.power * gap ** (self.power - 1), 0.0)


@fails("parameters-work-within-their-bounds")
class HingeReversedAtTheEnd(Hinge):
    turn: float = Field(default=0.0, ge=0, le=1, description="Share of the reversed hinge.")

    def phi(self, margin):
        return (1 - self.turn) * super().phi(margin) + self.turn * super().phi(-margin)

    def dphi(self, margin):
        return (1 - self.turn) * super().dphi(margin) - self.turn * super().dphi(-margin)


@fails("edges-are-weighed-one-by-one")
class HingeOfSharesOfWeights(Hinge):
    def edges(self, weights):
        return weights / weights.max(initial=1e-9), np.zeros_like(weights)


@fails("second-derivative-is-the-difference-quotient")
class HingeSmooth(Hinge):
    """The hinge itself, declared to be smooth."""

    properties = frozenset({"convex", "smooth"})

    def phi(self, margin):
        return np.maximum(0.0, self.width - margin)

    def dphi(self, margin):
        return -(margin < self.width).astype(float)

    def ddphi(self, margin):
        return np.zeros_like(margin)


@fails("second-derivative-is-the-difference-quotient")
class HingeFlatFarAway(Hinge):
    properties = frozenset({"convex", "smooth"})

    def ddphi(self, margin):
        return ((margin < self.width) & (margin > -10)).astype(float)


@sound
class Squares(rankbench.ScoreSurrogate):
    """Half the mean square."""

    name = "squares"
    source = "This test"
    properties = frozenset({"convex", "smooth", "quadratic", "target-linear", "equivariant"})

    def target(self, scores):
        return scores - scores.mean()

    def value_and_gradient(self, alpha, target):
        return float(((alpha - target) ** 2).sum()) / (2 * len(alpha)), (alpha - target) / len(alpha)


@fails("better-items-are-pushed-up")
class SquaresReversed(Squares):
    def target(self, scores):
        return scores.mean() - scores


@fails("better-items-are-pushed-up")
class SquaresReversedOfMore(Squares):
    def target(self, scores):
        return super().target(scores) * (1 if len(scores) == 2 else -1)


@fails("equivariant-under-relabelling")
class SquaresTiesByNumber(Squares):
    def target(self, scores):
        return np.argsort(np.argsort(scores, kind="stable")).astype(float)


@fails("equivariant-under-relabelling")
class SquaresTiesByNumberUndeclared(Squares):
    properties = frozenset({"convex"})

    def target(self, scores):
        return np.argsort(np.argsort(scores, kind="stable")).astype(float)


@fails("hessian-is-the-slope-of-the-gradient")
class SquaresCurvedNineTenths(Squares):
    def hessian(self, alpha, target):
        return 0.9 * np.eye(len(alpha)) / len(alpha)


@fails("hessian-is-the-slope-of-the-gradient")
class SquaresCurvedOtherwiseFarAway(Squares):
    def hessian(self, alpha, target):
        return np.eye(len(alpha)) / len(alpha) * (1 if np.abs(alpha).max() < 3 else 2)


@sound
class Misordered(rankbench.Loss):
    """The share of pairs in the wrong order, a tie half of one."""

    name = "misordered"
    source = "This test"
    properties = frozenset({"shift-invariant", "equivariant"})
    range = (0.0, 1.0)

    def value(self, alpha, structure):
        better = structure[:, None] > structure
        wrong = (alpha[:, None] < alpha) + 0.5 * (alpha[:, None] == alpha)
        return float(wrong[better].mean()) if better.any() else 0.0


@fails("best-order-has-the-best-value")
class MisorderedReversed(Misordered):
    direction = "maximize"


@fails("best-order-has-the-best-value")
class MisorderedOfTheWorst(Misordered):
    def value(self, alpha, structure):
        return super().value(-alpha, structure)


@fails("best-order-has-the-best-value")
class MisorderedNever(Misordered):
    def value(self, alpha, structure):
        return 0.3


@fails("ties-are-not-better-than-chance")
class MisorderedTiesForFree(Misordered):
    def value(self, alpha, structure):
        better = structure[:, None] > structure
        return float((alpha[:, None] < alpha)[better].mean()) if better.any() else 0.0


@fails("risks-are-of-the-values")
class MisorderedExpectedTwice(Misordered):
    def expected(self, alpha, structures, probabilities):
        return 2 * super().expected(alpha, structures, probabilities)


@fails("risks-are-of-the-values")
class MisorderedWithoutBayesRisk(Misordered):
    def bayes_risk(self, structures, probabilities=None):
        return BayesRisk(0.0, 0.0, np.zeros(structures.shape[1]))


@fails("within-the-declared-range")
class MisorderedBelowZero(Misordered):
    def value(self, alpha, structure):
        return super().value(alpha, structure) - 0.1


@fails("equivariant-under-relabelling")
class MisorderedTiesByNumber(Misordered):
    """Items of one score are taken in their order."""

    def value(self, alpha, structure):
        places = np.empty(len(alpha))
        places[np.argsort(-alpha, kind="stable")] = -np.arange(len(alpha))
        return super().value(places, structure)


@fails("equivariant-under-relabelling")
class MisorderedLabelsByNumber(Misordered):
    """Items of one label are told apart by their numbers; it does not declare that numbers do not matter."""

    properties = frozenset({"shift-invariant"})

    def value(self, alpha, structure):
        return super().value(alpha, np.argsort(np.argsort(structure, kind="stable")).astype(float))


@fails("equivariant-under-relabelling")
class MisorderedLabelsOfTwoByNumber(Misordered):
    """As before, of two items alone."""

    def value(self, alpha, structure):
        tied = len(alpha) == 2 and structure[0] == structure[1]
        return super().value(alpha, structure + 0.5 * tied * np.arange(len(alpha)))


@njit(LOSS)
def nothing(alpha, structure, params, work):
    return 0.0


@fails("shift-invariant")
class MisorderedOfRoundedScores(Misordered):
    def value(self, alpha, structure):
        return super().value(np.round(alpha, 2), structure)


@fails("shift-invariant")
class MisorderedOfCutScores(Misordered):
    def value(self, alpha, structure):
        return super().value(np.clip(alpha, -20, 20), structure)


@fails("best-order-has-the-best-value")
class MisorderedOfSizesOfLabels(Misordered):
    def value(self, alpha, structure):
        return super().value(alpha, np.abs(structure))


@fails("compiled-loss-equals-numpy")
class MisorderedCompiledOtherwise(Misordered):
    def kernel(self):
        return Kernel(nothing)


@fails("ranked-loss-equals-numpy")
class MisorderedRankedOtherwise(Misordered):
    def ranked_kernel(self):
        return NDCG(cutoff=3).ranked_kernel()


@fails("works-on-read-only-arrays")
class MisorderedSorting(Misordered):
    def value(self, alpha, structure):
        found = super().value(alpha, structure)
        alpha.sort()
        return found


@sound
class Descent(rankbench.StepOptimizer):
    """Steps of a tenth against the gradient."""

    name = "descent"
    source = "This test"

    def step(self, theta, gradient, t, penalty, state):
        return theta - 0.1 * (gradient + penalty.l2 * theta)


@fails("step-descends")
class DescentUphill(Descent):
    def step(self, theta, gradient, t, penalty, state):
        return theta + 1e-3 * gradient


@fails("step-descends")
class DescentOfThreeSteps(Descent):
    def step(self, theta, gradient, t, penalty, state):
        return super().step(theta, gradient, t, penalty, state) if t < 4 else theta


@fails("step-descends")
class DescentOfOneCoordinate(Descent):
    def step(self, theta, gradient, t, penalty, state):
        moved = super().step(theta, gradient, t, penalty, state)
        return np.where(np.arange(len(theta)) == 0, moved, theta)


@fails("penalties-hold")
class DescentUnpenalized(Descent):
    def step(self, theta, gradient, t, penalty, state):
        return theta - 0.1 * gradient


@fails("penalties-hold")
class DescentUnbounded(Descent):
    penalties = frozenset({"l2", "radius"})


@fails("solver-says-how-optimal-it-is")
class SolverAtOnce(rankbench.Solver):
    source = "This test"

    def solve(self, problem):
        return Fit(np.zeros(problem.dimension), 0.0, 0, True)


@sound
class Wins(rankbench.Method):
    """Least squares on the differences of features."""

    name = "wins"
    source = "This test"

    def direction(self, block):
        first = np.repeat(block.design.offsets[:-1], block.comparisons.counts)
        x, said = block.design.x.astype(np.float64), block.comparisons
        return (x[first + said.winners] - x[first + said.losers]).sum(axis=0)

    def fit(self, block):
        theta = self.direction(block)
        return Fitted(lambda queries: queries.x.astype(np.float64) @ theta)


@fails("learns-what-judgments-say")
class WinsReversed(Wins):
    def direction(self, block):
        return -super().direction(block)


@fails("labels-do-not-matter")
class WinsPeeking(Wins):
    def fit(self, block):
        if block.design.truth is None:
            return super().fit(block)
        theta = block.design.truth @ block.design.x
        return Fitted(lambda queries: queries.x @ theta)


@fails("same-input-same-result")
class WinsDrawn(Wins):
    def direction(self, block):
        return super().direction(block) + np.random.default_rng().normal(size=block.design.x.shape[1])


@fails("stochastic-ones-vary")
class WinsNotDrawn(Wins):
    properties = frozenset({"stochastic"})


@fails("works-on-read-only-arrays")
class WinsScaling(Wins):
    def fit(self, block):
        block.design.x[:] *= 2
        return super().fit(block)


@fails("items-are-mapped-one-by-one")
class Standardized(rankbench.Model):
    source = "This test"

    def features(self, x):
        return (x - x.mean(axis=0)).astype(np.float32) if len(x) else x


class OneTrial(rankbench.Protocol):
    """A protocol that the checks do not execute."""

    source = "This test"
    table = None
    metrics = (Metric("loss"),)
    splits: ClassVar[dict[str, str]] = {"design": "One"}

    def prepare(self, dataset, seed):
        raise NotImplementedError

    def execute(self, prepared, task):
        raise NotImplementedError


@fails("judged-on-something")
class TrialOfNothing(OneTrial):
    splits: ClassVar[dict[str, str]] = {}


@fails("judged-on-something")
class TrialBelowItsRange(OneTrial):
    metrics = (Metric("loss", low=0.0, high=1.0, chance=2.0),)


@sound
class Guesses(rankbench.Protocol):
    """Contenders guess three numbers."""

    name = "guesses"
    source = "This test"
    contender = "aggregator"
    table = None
    simulated = True
    metrics = (Metric("missed", low=0.0, high=1.0),)
    splits: ClassVar[dict[str, str]] = {"design": "Numbers"}

    def prepare(self, dataset, seed):
        return Prepared(self, None, "", {"design": ("one", "two", "three")})

    def execute(self, prepared, task):
        return [CellResult(cell, "done", losses={("missed", "design"): self.missed(task)}) for cell in task.cells]

    def missed(self, task):
        return np.random.default_rng([task.key.seed, task.key.repetition]).random(3)


@fails("blocks-are-judged-alike")
class GuessesOfNothing(Guesses):
    def execute(self, prepared, task):
        raise NotImplementedError


@fails("blocks-are-judged-alike")
class GuessesDrawn(Guesses):
    def missed(self, task):
        return np.random.default_rng().random(3)


@fails("blocks-are-judged-alike")
class GuessesOfNeighbors(Guesses):
    def missed(self, task):
        return super().missed(task) / len(task.cells)


@fails("blocks-are-judged-alike")
class GuessesBelowZero(Guesses):
    def missed(self, task):
        return super().missed(task) - 1


@fails("blocks-are-judged-alike")
class GuessesOfTwo(Guesses):
    def missed(self, task):
        return super().missed(task)[:2]


@fails("blocks-are-judged-alike")
class GuessesOfTheFirst(Guesses):
    def execute(self, prepared, task):
        return super().execute(prepared, task)[:1]


class Lines(rankbench.Reader):
    """One comparison a line: winner, a space, loser."""

    source = "This test"
    extensions = (".lines",)

    @classmethod
    def example(cls):
        return b"ann bob\nbob cy\n"

    @classmethod
    def sniff(cls, path, head):
        return False

    def scan(self, path):
        try:
            rows = [line.split(" ") for line in path.read_text().splitlines()]
        except (OSError, ValueError) as error:
            raise InputError(str(error), path=path) from error
        if not rows or any(len(row) != 2 or not all(row) for row in rows):
            raise InputError("a line is no winner and loser", path=path)
        return pl.DataFrame([("q", *row) for row in rows], schema=["query_id", "winner", "loser"], orient="row").lazy()


@sound
class SoundLines(Lines):
    """One comparison a line: winner, a space, loser."""

    name = "sound-lines"


@fails("damaged-examples-are-errors-or-tables")
class LinesUnchecked(Lines):
    def scan(self, path):
        rows = [("q", *line.split(" ")) for line in path.read_text().splitlines()]
        return pl.DataFrame(rows, schema=["query_id", "winner", "loser"], orient="row").lazy()


@fails("missing-and-empty-files-are-errors")
class LinesOfNoFile(Lines):
    def scan(self, path):
        if path.exists() and path.read_bytes():
            return super().scan(path)
        return pl.DataFrame({"query_id": ["q"], "winner": ["a"], "loser": ["b"]}).lazy()


@fails("sniffing-never-fails")
class LinesSniffing(Lines):
    @classmethod
    def sniff(cls, path, head):
        return head[0] == 35


@fails("extensions-are-endings")
class LinesEnding(Lines):
    extensions = ("LINES",)


class Stars(rankbench.TableKind):
    """A user gives an item stars."""

    name = "stars"
    source = "This test"
    columns = ("query_id", "stars")
    optional = ("weight",)

    @classmethod
    def example(cls):
        return {"query_id": ["a", "b"], "stars": [3.0, 4.0], "weight": [1.0, 2.0]}

    def check(self, raw):
        from rankbench.interfaces.table_check import TableCheck

        types = {"query_id": pl.String(), "stars": pl.Float64(), "weight": pl.Float64()}
        return partial(TableCheck, raw, pl.Schema({name: types[name] for name in types if name in raw.schema}))


@sound
class SoundStars(Stars):
    """A user gives an item stars."""

    name = "sound-stars"


@fails("example-is-read-by-its-names")
class StarsCalledScores(Stars):
    columns = ("query_id", "system", "score")

    @classmethod
    def example(cls):
        return {"query_id": ["a", "b"], "system": ["x", "y"], "score": [3.0, 4.0]}


@fails("example-is-read-by-its-names")
class StarsOfOtherRoles(Stars):
    shapes = (("query", "points"),)


@fails("example-is-read-by-its-names")
class StarsUndeclared(Stars):
    optional = ()


@fails("example-is-read-by-its-names")
class StarsDoubled(Stars):
    def read(self, raw, reading):
        found = super().read(raw, reading)
        return replace(found, table=replace(found.table, frame=found.table.frame.with_columns(pl.col("stars") * 2)))


@fails("parameters-work-within-their-bounds")
class ReversedAtTheLastWholeNumber(Votes):
    count: int = Field(default=5, ge=1, le=200, description="Reversed above 150.")

    def aggregate(self, winners, losers, weights, m):
        found = super().aggregate(winners, losers, weights, m)
        return -found if self.count > 150 else found


@fails("parameters-work-within-their-bounds")
class NanAtZero(Votes):
    count: int = Field(default=5, ge=-5, le=5, description="No number at 0.")

    def aggregate(self, winners, losers, weights, m):
        return super().aggregate(winners, losers, weights, m) * (1.0 if self.count else np.nan)


@fails("parameters-work-within-their-bounds")
class ReversedInTheMiddleOfALongRange(Votes):
    share: float = Field(default=1.0, ge=0, le=1000, description="Reversed between 150 and 950.")

    def aggregate(self, winners, losers, weights, m):
        found = super().aggregate(winners, losers, weights, m)
        return -found if 150 < self.share < 950 else found


@fails("parameters-are-validated")
class NanOrNone(Votes):
    share: float | None = Field(default=None, description="Accepts nan.")


@fails("winners-are-first")
class ReversedBetweenFirstAndLast(Votes):
    def aggregate(self, winners, losers, weights, m):
        found = super().aggregate(winners, losers, weights, m).copy()
        between = (found < found.max() - 1e-9) & (found > found.min() + 1e-9)
        found[between] *= -0.9
        return found


@fails("winners-are-first")
class AbsoluteScores(rankbench.ScoreAggregator):
    source = "This test"
    properties = frozenset({"equivariant"})

    def cells(self, values):
        return np.abs(values)


@fails("winners-are-first")
class UnnamedItemsFirst(rankbench.OrderAggregator):
    source = "This test"
    properties = frozenset({"equivariant"})

    def from_orders(self, orders, m):
        found = np.zeros(m)
        for at, (start, stop) in enumerate(itertools.pairwise(orders.starts)):
            items, places = orders.items[start:stop], orders.places[start:stop]
            behind = (places > places[:, None]).sum(axis=1) - (places < places[:, None]).sum(axis=1)
            found[items] += orders.weights[at] * behind
            found[np.setdiff1d(np.arange(m), items)] += 10 * orders.weights[at]
        return found


@fails("ties-are-not-better-than-chance")
class SomeTiesGoByTheLabels(rankbench.Loss):
    source = "This test"
    range = (0.0, 1.0)
    properties = frozenset({"equivariant"})

    def value(self, alpha, structure):
        gain, discount = 2.0**structure - 1, 1 / np.log2(np.arange(len(alpha)) + 2)
        ideal = (np.sort(gain)[::-1] * discount).sum()
        if not ideal > 0:
            return 0.0
        if (alpha == alpha[0]).all():
            return float(1 - gain.mean() * discount.sum() / ideal)
        return float(1 - (gain[np.lexsort((-structure, -alpha))] * discount).sum() / ideal)


@fails("winners-are-first")
class BallotsWithTiesDropped(Ballots):
    def from_orders(self, orders, m):
        rows = np.repeat(np.arange(len(orders)), np.diff(orders.starts))
        tied = [len({*own}) < len(own) for own in np.split(orders.places, orders.starts[1:-1])]
        points = orders.weights[rows] * ~np.array(tied)[rows] * (m - orders.places)
        return np.bincount(orders.items, points, m) / orders.weights.sum()


@fails("winners-are-first")
class ClicksReversedOnLongLists(Clicks):
    def estimate(self, selections, item_offsets):
        scores, examination = super().estimate(selections, item_offsets)
        return (1 - scores if np.diff(selections.starts).min() > 2 else scores), examination


@fails("weighted-tasks-count-as-often")
class TableOfTheFirstSeed(rankbench.ScoreAggregator):
    source = "This test"
    properties = frozenset({"equivariant"})

    def from_scores(self, values, weights):
        return np.einsum("t,ts->s", weights.sum(axis=0), values[0]) / weights.sum()


@fails("better-items-are-pushed-up")
class HingeUnweighted(Hinge):
    def edges(self, weights):
        return np.ones_like(weights), np.zeros_like(weights)


@fails("better-items-are-pushed-up")
class SquaresOfManyReversed(Squares):
    def target(self, scores):
        return super().target(scores) * (1 if len(scores) < 10 else -1)


@fails("better-items-are-pushed-up")
class SquaresReversedBetweenFirstAndLast(Squares):
    def target(self, scores):
        between = (scores < scores.max()) & (scores > scores.min())
        return super().target(scores) * np.where(between, -0.9, 1.0)


@fails("penalties-hold")
class DescentPenalizedTwice(Descent):
    def step(self, theta, gradient, t, penalty, state):
        return theta - 0.1 * (gradient + 2 * penalty.l2 * theta)


@fails("penalties-hold")
class DescentOfSquaresInPlaceOfSizes(Descent):
    penalties = frozenset({"l2", "l1"})

    def step(self, theta, gradient, t, penalty, state):
        return theta - 0.1 * (gradient + (penalty.l2 + penalty.l1) * theta)


@fails("penalties-hold")
class DescentInATenthOfTheRadius(Descent):
    penalties = frozenset({"l2", "radius"})

    def step(self, theta, gradient, t, penalty, state):
        moved = super().step(theta, gradient, t, penalty, state)
        return moved * min(1.0, penalty.radius / 10 / max(np.linalg.norm(moved), 1e-9))


@fails("solver-says-how-optimal-it-is")
class SolverThatStaysAtZero(rankbench.Solver):
    source = "This test"

    def solve(self, problem):
        theta = np.zeros(problem.dimension)
        return Fit(theta, float(np.linalg.norm(problem.value_and_gradient(theta)[1])), 0, False)


@fails("scores-are-of-each-query-alone")
class WinsOfAllQueriesStandardized(Wins):
    def fit(self, block):
        theta = self.direction(block)
        return Fitted(lambda queries: queries.x / queries.x.std(axis=0) @ theta)


@fails("scores-are-of-each-query-alone")
class WinsByRow(Wins):
    def fit(self, block):
        return Fitted(lambda queries: np.arange(len(queries.x), dtype=float))


@fails("blocks-are-judged-alike")
class GuessesOfNoNumbers(Guesses):
    def missed(self, task):
        return np.full(3, np.nan)


@fails("blocks-are-judged-alike")
class GuessesOfOneSeed(Guesses):
    def missed(self, task):
        return np.random.default_rng(1).random(3)


@fails("blocks-are-judged-alike")
class GuessesWithoutLosses(Guesses):
    def execute(self, prepared, task):
        return [CellResult(cell, "done") for cell in task.cells]


@fails("blocks-are-judged-alike")
class GuessesInVain(Guesses):
    def execute(self, prepared, task):
        return [CellResult(cell, "error", "nothing worked") for cell in task.cells]


@fails("example-is-read")
class LinesRemembered(Lines):
    def scan(self, path):
        if path not in remembered:
            remembered[path] = super().scan(path)
        return remembered[path]


remembered: dict[Path, pl.LazyFrame] = {}


@fails("line-ends-do-not-matter")
class LinesWithoutTheLast(Lines):
    def scan(self, path):
        found = super().scan(path)
        return found if path.read_bytes().endswith(b"\n") else found.head(1)


@fails("line-ends-do-not-matter")
class LinesOfUnix(Lines):
    def scan(self, path):
        try:
            rows = [line.split(" ") for line in path.read_bytes().decode().removesuffix("\n").split("\n")]
        except (OSError, ValueError) as error:
            raise InputError(str(error), path=path) from error
        if any(len(row) != 2 or not all(row) for row in rows):
            raise InputError("a line is no winner and loser", path=path)
        return pl.DataFrame([("q", *row) for row in rows], schema=["query_id", "winner", "loser"], orient="row").lazy()


Less = type(rankbench.get(rankbench.ClaimKind, "less"))


@fails("sides-exclude-each-other")
class LessNever(Less):
    def claimed(self, lower, upper):
        return np.zeros(len(lower), bool)


@fails("sides-exclude-each-other")
class LessAlways(Less):
    def claimed(self, lower, upper):
        return ~np.isnan(lower)

    def opposed(self, lower, upper):
        return np.zeros(len(lower), bool)


@fails("fingerprint-is-a-sha256")
class DataOfOneFingerprint(rankbench.Dataset):
    source = "This test"
    title = "Votes"
    licence = "none"
    simulated = True
    table = "pairs"
    size: int = Field(default=3, ge=2, le=50, description="Votes.")

    def scan(self):
        row = {"query_id": "q", "winner": "a", "loser": "b"}
        return pl.DataFrame([row] * self.size).lazy()

    def fingerprint(self):
        return sha256(self.name.encode()).hexdigest()


@pytest.mark.parametrize("cls", part_of(SOUND), ids=lambda cls: cls.name)
def test_components_without_the_fault_pass(cls: type[Component]) -> None:
    assert [str(result) for result in check_component(cls) if not result.ok] == []


@pytest.mark.parametrize(("cls", "check"), FAULTS, ids=lambda value: getattr(value, "name", ""))
def test_the_check_names_the_fault(cls: type[Component], check: str) -> None:
    result, _ = run_check(subject_of(cls), registered_check(check))
    assert result.status == "failed", str(result)
