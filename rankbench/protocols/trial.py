"""A trial is one repetition of cross-validation: methods learn, choose parameters and are tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import ContenderDiverged
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.covariate_aggregator import (
    ControlledFit,
    CovariateAggregator,
    CovariateVotes,
    sees_covariates,
)
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.votes import Votes
from rankbench.plugin.third_party import disposable_judgments, is_ours
from rankbench.protocols.folds import Cut, grouping_of
from rankbench.protocols.links import (
    PairOutcomes,
    calibration_error,
    chosen_link,
    fit_tie_link,
    leveled,
    margin_disagreement,
    tie_log_loss,
    win_log_loss,
)
from rankbench.protocols.log_votes import GroupedVotes
from rankbench.ranking.covariates import covariate_votes


def scores_of_counts(
    aggregator: CountAggregator, counts: PairCounts, when: str, near: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return an aggregator's scores from counts, shape (m,), by Newton's method from scores that are near, if given.

    Raises
    ------
    ContenderDiverged
        There are no finite scores, or they stand on more scales than the votes; `when` says which votes.
    SpecError
        More items than it can rank.
    """
    lent = counts if is_ours(aggregator) else disposable_judgments(counts)
    if type(aggregator).scales is not CountAggregator.scales:
        own, whole = len(aggregator.scales(lent).sizes), len(counts.connected.sizes)
        if own > whole:
            raise ContenderDiverged(
                f"its scores stand on {own:,} scales of the {when}, more than its connected components ({whole:,}): "
                "margins between scales mean nothing; give it a ridge"
            )
    return call_aggregator(aggregator, lent, counts.m, None if near is None else near.copy())


def fit_with_covariates(aggregator: CovariateAggregator, votes: CovariateVotes, when: str) -> ControlledFit:
    """Return an aggregator's scores and effects of covariates; `when` names the votes in errors.

    Raises
    ------
    ContenderDiverged
        There is no finite fit, or scores stand on more scales than the votes themselves.
    """
    fit = aggregator.fit_controlled(votes)
    if len(fit.scales.sizes) > len(votes.counts().connected.sizes):
        raise ContenderDiverged(f"its scores stand on more scales than the {when}; give it a ridge")
    return fit


class Trial:
    """Votes and parts that all contenders of a repetition share.

    Parameters
    ----------
    grouped : GroupedVotes
    cut : Cut
    items : list of str, length m
    votes : callable
        Returns the votes themselves, in order: called only for contenders that see single votes.
    """

    def __init__(self, grouped: GroupedVotes, cut: Cut, items: list[str], votes: Callable[[], Votes]) -> None:
        self.kind, self.cut = grouped.kind, cut
        self._votes = votes
        self._everything = tuple(range(cut.tested))
        weights, numbers = grouped.parts(cut)
        self._counts = {
            chosen: grouped.counts(weights[list(chosen)], numbers[list(chosen)], items)
            for chosen in {self._everything, *(learned for learned, _ in cut.inner)}
        }
        # Of the predictions within the training part.
        self._inner = _outcomes_of_parts(weights, numbers, [part for _, part in cut.inner], grouped.pairs)
        self._test = _outcomes_of_parts(weights, numbers, [cut.tested], grouped.pairs)

    @cached_property
    def _part_of_vote(self) -> tuple[Votes, NDArray[np.int8]]:
        votes = self._votes()
        return votes, self.cut.part[grouping_of(votes, self.kind)]

    def scores(self, aggregator: Aggregator, parts: tuple[int, ...]) -> NDArray[np.float64]:
        """Return an aggregator's scores from some inner parts, shape (m,).

        Raises
        ------
        ContenderDiverged
            There are no finite scores, or they stand on more scales than the votes themselves.
        SpecError
            More items than it can rank.
        """
        if not isinstance(aggregator, CountAggregator):
            votes, part = self._part_of_vote
            aggregator.check_size(len(votes.items))
            comparisons = votes.comparisons(np.flatnonzero(np.isin(part, parts)))
            lent = comparisons if is_ours(aggregator) else disposable_judgments(comparisons)
            return call_aggregator(aggregator, lent, len(votes.items))
        return scores_of_counts(aggregator, self._counts[parts], "training votes")

    def _by_covariates(
        self, aggregator: CovariateAggregator, folds: Sequence[tuple[tuple[int, ...], int]]
    ) -> PairOutcomes:
        """Return the votes of some parts with margins from scores and effects of other parts.

        Raises
        ------
        ContenderDiverged
            There is no finite fit, or scores stand on more scales than the votes themselves.
        """
        votes, part = self._part_of_vote
        rows = covariate_votes(replace(votes, covariates=aggregator.shown(votes.covariates)))
        part = part if votes.rest is None else part[~votes.rest]
        found = []
        for learned, out in folds:
            fit = fit_with_covariates(aggregator, rows.take(np.isin(part, learned)).summed(), "training votes")
            tested = rows.take(part == out).summed()
            margins = _blind_margins(fit, tested)
            if margins.shape != (len(tested),) or not np.isfinite(margins).all():
                raise ContenderDiverged("its margins are not finite")
            found.append((leveled(margins, fit.scores), tested.outcomes, tested.weighted))
        outcomes = np.concatenate([each for _, each, _ in found])
        numbers = outcomes
        if any(weighted for *_, weighted in found):
            # A row is one vote of any weight, whose points may be split.
            numbers = (outcomes > 0) / np.maximum((outcomes > 0).sum(axis=1, keepdims=True), 1)
        won, lost, tied = np.ascontiguousarray(outcomes.T)
        decided = np.ascontiguousarray(numbers[:, 0] + numbers[:, 1])
        margins = np.concatenate([each for each, *_ in found])
        return PairOutcomes(margins, won, lost, tied, decided, decided + numbers[:, 2])

    def predicted(self, aggregator: Aggregator) -> PairOutcomes:
        """Return the training votes with margins from scores of other parts."""
        if sees_covariates(aggregator):
            return self._by_covariates(aggregator, self.cut.inner)
        return _with_margins(self._inner, [self.scores(aggregator, learned) for learned, _ in self.cut.inner])

    def tested(self, aggregator: Aggregator) -> PairOutcomes:
        """Return the held-out votes with margins from the scores of the training part."""
        if sees_covariates(aggregator):
            return self._by_covariates(aggregator, [(self._everything, self.cut.tested)])
        return _with_margins(self._test, [self.scores(aggregator, self._everything)])


def _blind_margins(fit: ControlledFit, votes: CovariateVotes) -> NDArray[np.float64]:
    """Return a fit's margins of votes with their outcomes hidden, which the order of items would reveal.

    As a log is read, the first item of a vote is its winner.
    """
    signs = np.where(votes.first > votes.second, -1.0, 1.0)
    values = votes.covariates.values
    turned = replace(votes.covariates, values=values * signs.astype(values.dtype)[:, None])
    low, high = np.minimum(votes.first, votes.second), np.maximum(votes.first, votes.second)
    shown = CovariateVotes(votes.items, low, high, np.zeros((len(votes), 3)), turned)
    margins = np.array(fit.margins(shown))
    return margins * signs if margins.shape == signs.shape else margins


_PairsOfParts: TypeAlias = list[tuple[NDArray[np.int32], NDArray[np.int32]]]
"""Items of the pairs that votes of each part are on."""


def _outcomes_of_parts(
    weights: NDArray[np.float64], numbers: NDArray[np.float64], parts: Sequence[int], pairs: NDArray[np.int32]
) -> tuple[_PairsOfParts, PairOutcomes]:
    """Return the pairs of some parts, and the sums of the parts one behind the other, with margins of 0."""
    rows = [np.flatnonzero(numbers[part].any(axis=1)) for part in parts]

    def beside(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        of_parts = [sums[part, own] for part, own in zip(parts, rows, strict=True)]
        return np.concatenate([np.zeros((0, 3)), *of_parts])

    won, lost, tied = np.ascontiguousarray(beside(weights).T)
    of_low, of_high, level = beside(numbers).T
    decided = of_low + of_high
    outcomes = PairOutcomes(np.zeros(len(won)), won, lost, tied, decided, decided + level)
    return [(pairs[own, 0], pairs[own, 1]) for own in rows], outcomes


def _with_margins(parts: tuple[_PairsOfParts, PairOutcomes], scores: Sequence[NDArray[np.float64]]) -> PairOutcomes:
    """Return the sums with the margins of each part by its own scores."""
    items, outcomes = parts
    margins = [
        leveled(of_part[low] - of_part[high], of_part) for of_part, (low, high) in zip(scores, items, strict=True)
    ]
    return replace(outcomes, margins=np.concatenate([np.zeros(0), *margins]))


def trial_losses(
    grid: Sequence[Aggregator], trial: Trial, losses: Sequence[str]
) -> tuple[Mapping[str, float], dict[str, float]]:
    """Return one contender's losses on the held-out votes, and its chosen parameters.

    Parameters
    ----------
    grid : sequence of Aggregator
        One point, or several to choose from.
    trial : Trial
    losses : sequence of str
        Of `rankbench.protocols.own_log.OwnLog.metrics`.

    Raises
    ------
    ContenderDiverged, SpecError
        See `Trial.scores` and `rankbench.protocols.links.fit_link`.
    """
    point, link, b, seen = chosen_link((trial.predicted(point) for point in grid), stated=grid[0].stated)
    held = trial.tested(grid[point])
    info = {"point": float(point), "probit": float(link == "probit"), "scale": b}
    found = {}
    for loss in losses:
        if loss == "disagreement":
            found[loss] = margin_disagreement(held)
        elif loss == "log-loss":
            found[loss] = win_log_loss(held, b, link)
        elif loss == "calibration":
            found[loss] = calibration_error(held, b, link)
        else:
            tie_b, info["nu"] = fit_tie_link(seen)
            found[loss] = tie_log_loss(held, tie_b, info["nu"])
    return found, info
