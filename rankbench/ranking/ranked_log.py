"""A ranked log has one interface for votes, ballots and clicks, with totals of items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.davidson_firth import core_size
from rankbench.aggregators.social_choice import MajorityRule
from rankbench.errors import ContenderDiverged, InputError, SpecError, option
from rankbench.interfaces.aggregator import MOST_DENSE, Aggregator, WithErrorDraws, WithProfile
from rankbench.interfaces.aggregator_calls import call_aggregator, covariance_of, replicates_of, scales_of
from rankbench.interfaces.metric import ESTIMATED
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts
from rankbench.interfaces.resamples import draws_of, resamples_of
from rankbench.logs.votes import Votes
from rankbench.ranking.rank_ranges import reference_items, relative_covariance
from rankbench.ranking.sampling_units import (
    Units,
    degrees_of_freedom,
    has_interval,
    units_of_counts,
    units_of_votes,
    units_words,
)
from rankbench.stats.moderation import RangeErrors, moderated

_ROUNDED = 1e-9


class ItemTallies(NamedTuple):
    """Sums over a log, by item.

    Attributes
    ----------
    judged : ndarray of float64, shape (m,)
        Weight of the votes that an item was in, of the ballots that name it, or how often it was shown.
    won : ndarray of float64, shape (m,)
        Weight of the votes that it won, a tie being half a win each; of the ballots that put it first, or how often it
        was clicked.
    judged_words, won_words : str
        Names of both: "votes" and "wins", "ballots" and "firsts", "shown" and "clicks".
    judgments : int
        Number of judgments of the log.
    voters : float
        Total weight of ballots; 0 of other judgments.
    """

    judged: NDArray[np.float64]
    won: NDArray[np.float64]
    judged_words: str
    won_words: str
    judgments: int
    voters: float = 0.0


def tallies_of_counts(counts: PairCounts) -> ItemTallies:
    """Return the votes and wins of each item."""
    won, lost = counts.won_and_lost()
    judged, whole = won + lost, np.rint(won + lost)
    # Points of split votes sum to whole votes, but for rounding.
    judged = np.where(np.abs(judged - whole) < _ROUNDED, whole, judged)
    return ItemTallies(judged, won, "votes", "wins", counts.judgments)


def ridge_of(aggregator: Aggregator) -> float:
    """Return the penalty on an aggregator's scores, its parameter ``ridge``; 0 if it has none, or another penalty."""
    said = aggregator.config()
    return float(said.get("ridge", 0.0)) if said.get("penalty", "ridge") == "ridge" else 0.0


def estimated_items(aggregator: Aggregator, counts: PairCounts) -> int:
    """Return the number of items with estimates in Firth's penalty, an aggregator's parameter ``penalty``; 0: none."""
    core = core_size(counts) if aggregator.config().get("penalty") == "firth" and counts.m > MOST_DENSE else 0
    return core if core > MOST_DENSE else 0


class RankedLog(ABC):
    """A log that an aggregator can rank, with the units that are independent in it.

    Attributes
    ----------
    items : list of str, length m
    by_judge : bool
        Judges are the units.
    units : Units
    few_judges : Units or None
        Judges that are too few to be the units, which are votes of these judges.
    """

    items: list[str]
    by_judge: bool
    few_judges: Units | None = None

    @property
    @abstractmethod
    def units(self) -> Units:
        """Independent units, and the votes in them."""

    @property
    @abstractmethod
    def tallies(self) -> ItemTallies:
        """Each item's numbers of judgments and of wins."""

    @abstractmethod
    def scores(self, aggregator: Aggregator) -> NDArray[np.float64]:
        """Return the scores of the items, shape (m,).

        Raises
        ------
        ContenderDiverged
            They are not finite, or too far apart.
        SpecError
            There are more items than the aggregator can rank.
        """

    @abstractmethod
    def scales(self, aggregator: Aggregator) -> NDArray[np.int64]:
        """Return a number for each item, (m,), equal for items with comparable scores."""

    def winners(self, aggregator: Aggregator) -> NDArray[np.bool_] | None:
        """Return whether a rule of social choice elects each item, (m,); None of other aggregators."""
        return None

    @abstractmethod
    def replicates(
        self, aggregator: Aggregator, scores: NDArray[np.float64], resamples: int, seed: int
    ) -> NDArray[np.float64]:
        """Return the scores of resamples of the units, (B, m); a row without scores is nan."""

    def covariance(self, aggregator: Aggregator, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str]]:
        """Return the covariance of the scores by the aggregator's formula, (m, m), and notes on it."""
        raise SpecError("there are sandwich intervals for votes only; take bootstrap")

    def error_draws(
        self, aggregator: Aggregator, scores: NDArray[np.float64], seed: int
    ) -> Iterator[NDArray[np.float64]]:
        """Return errors of more scores than `covariance` has room for, (K, m) at a time.

        Raises
        ------
        InputError
            The aggregator has no formula for them.
        """
        raise InputError(
            f"there is no formula for intervals of {len(self.items):,} items (at most {MOST_DENSE:,}); take "
            f"bradley-terry and {option('intervals', 'sandwich')}, or bootstrap"
        )

    def score_ends(
        self,
        aggregator: Aggregator,
        scores: NDArray[np.float64],
        items: Sequence[int],
        level: float,
        reference: NDArray[np.bool_],
    ) -> NDArray[np.float64] | None:
        """Return both ends of likelihood intervals of k items, (k, 2); None unless votes are independent."""
        return None

    def range_errors(
        self,
        aggregator: Aggregator,
        scores: NDArray[np.float64],
        scales: NDArray[np.int64],
        covariance: NDArray[np.float64],
        resamples: int,
        seed: int,
    ) -> RangeErrors | None:
        """Return the errors for rank ranges.

        None: the covariance, with the degrees of freedom of the units. It is by formula if there are no resamples.
        """
        return None

    def notes(self, aggregator: Aggregator, scales: NDArray[np.int64]) -> list[str]:
        """Return notes for readers of the scores, on such `scales`."""
        return []


@dataclass(frozen=True, eq=False)
class CountedVotes(RankedLog):
    """Votes as sums by pair, by judge (or vote, where they have weights) if that is the unit.

    Only they rank a log without a look at single votes.

    Attributes
    ----------
    data : PairCounts or ClusterCounts
    by_judge : bool
    known_units : Units, optional
        Those of the data, if they are known already.
    split : bool
        Whether points of votes are split: see `rankbench.ranking.sampling_units.units_of_counts`.
    few_judges : Units, optional
        See `RankedLog`.
    """

    one_way: ClassVar[bool] = True
    """Votes are alike by judge alone. By query too, one covariance does not tell the two apart."""

    data: PairCounts | ClusterCounts
    by_judge: bool = False
    known_units: Units | None = None
    split: bool = False
    few_judges: Units | None = None

    @property
    def counts(self) -> PairCounts:
        """The sums over all units."""
        return self.data.counts if isinstance(self.data, ClusterCounts) else self.data

    @property
    def items(self) -> list[str]:  # type: ignore[override]
        """Names of the items."""
        return self.counts.items

    @cached_property
    def units(self) -> Units:
        """Independent units, and the votes in them."""
        found = units_of_counts(self.data, split=self.split) if self.known_units is None else self.known_units
        return replace(found, noun=units_words(self.by_judge, self.few_judges))

    @cached_property
    def tallies(self) -> ItemTallies:
        """The votes and wins of each item."""
        return tallies_of_counts(self.counts)

    def scores(self, aggregator: Aggregator) -> NDArray[np.float64]:
        """Return the scores of the items, shape (m,)."""
        return call_aggregator(aggregator, self.counts, self.counts.m)

    def scales(self, aggregator: Aggregator) -> NDArray[np.int64]:
        """Return a number for each item, (m,)."""
        return scales_of(aggregator, self.counts).scale_of.astype(np.int64)

    def winners(self, aggregator: Aggregator) -> NDArray[np.bool_] | None:
        """Return whether a rule of social choice elects each item, (m,); None of other aggregators."""
        return aggregator.winners(self.counts.observed()) if isinstance(aggregator, MajorityRule) else None

    def replicates(
        self, aggregator: Aggregator, scores: NDArray[np.float64], resamples: int, seed: int
    ) -> NDArray[np.float64]:
        """Return the scores of resamples of the units, (B, m)."""
        return replicates_of(aggregator, scores, resamples_of(self.data, resamples, seed))

    def covariance(self, aggregator: Aggregator, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str]]:
        """Return the covariance of the scores by the aggregator's formula, (m, m), and notes on it."""
        clusters = self.data if isinstance(self.data, ClusterCounts) else None
        return covariance_of(aggregator, self.counts, scores, clusters), []

    def error_draws(
        self, aggregator: Aggregator, scores: NDArray[np.float64], seed: int
    ) -> Iterator[NDArray[np.float64]]:
        """Return errors of more scores than `covariance` has room for, (K, m) at a time."""
        if not isinstance(aggregator, WithErrorDraws) or not self.one_way:
            return super().error_draws(aggregator, scores, seed)
        clusters = self.data if isinstance(self.data, ClusterCounts) else None
        return aggregator.error_draws(self.counts, scores, clusters, seed)

    def score_ends(
        self,
        aggregator: Aggregator,
        scores: NDArray[np.float64],
        items: Sequence[int],
        level: float,
        reference: NDArray[np.bool_],
    ) -> NDArray[np.float64] | None:
        """Return both ends of likelihood intervals of k items, (k, 2); None unless votes are single and whole."""
        dependent = self.by_judge or not self.one_way or self.split or self.counts.weighted
        if dependent or not isinstance(aggregator, WithProfile):
            return None
        return aggregator.score_ends(self.counts, scores, items, level, reference)

    def range_errors(
        self,
        aggregator: Aggregator,
        scores: NDArray[np.float64],
        scales: NDArray[np.int64],
        covariance: NDArray[np.float64],
        resamples: int,
        seed: int,
    ) -> RangeErrors | None:
        """Return the covariance by judge, moderated; by vote unmoderated, as a formula knows the variance of a vote.

        Votes without judges that are resampled keep the degrees of freedom of the units, and so do weighted votes: a
        few of them may be most of a variance.
        """
        if self.counts.weighted or not self.one_way:
            return None
        if not self.by_judge:
            return None if resamples else RangeErrors(covariance, np.full(len(scores), np.inf))
        if resamples:
            drawn = replicates_of(aggregator, scores, resamples_of(self.counts, resamples, seed))
            single = np.cov(drawn[np.isfinite(drawn).all(axis=1)], rowvar=False).reshape(covariance.shape)
        else:
            single = covariance_of(aggregator, self.counts, scores, None)
        known = has_interval(self.units)
        if aggregator.only_differences():
            reference = reference_items(covariance, scales, known)
            covariance, single = (relative_covariance(one, scales, reference) for one in (covariance, single))
        return moderated(covariance, single, self.units.items, degrees_of_freedom(self.units), known)

    def notes(self, aggregator: Aggregator, scales: NDArray[np.int64]) -> list[str]:
        """Return notes for readers of the scores."""
        own, connected = int(scales.max()) + 1, len(self.counts.connected.sizes)
        estimated = estimated_items(aggregator, self.counts)
        remarks = [ESTIMATED.sentence.format(value=estimated)] if estimated else []
        if own <= connected:
            return remarks
        groups = "all items are connected" if connected == 1 else f"chains of comparisons connect {connected} groups"
        return [
            *remarks,
            f"{aggregator} puts the items on {own} scales, although {groups}: no finite distance separates some "
            "compared items. Plain maximum likelihood has none where one side won every time. bradley-terry with "
            "a ridge, or with Firth's penalty, has one scale for all connected items",
        ]


class RefittedLog(RankedLog):
    """A log whose resamples are ranked one by one, each from its judgments."""

    @abstractmethod
    def _refitted(self, aggregator: Aggregator, times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """Return scores, (m,), of the log with each unit counted `times`, (G,); None: once."""

    def _drawn(self, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
        """Yield the number of draws of each unit in each resample, (G,)."""
        draws = draws_of(self.units.count, resamples, seed)
        return map(draws.times, range(resamples))

    def scores(self, aggregator: Aggregator) -> NDArray[np.float64]:
        """Return the scores of the items, shape (m,): see `RankedLog`."""
        return self._refitted(aggregator, None)

    def replicates(
        self, aggregator: Aggregator, scores: NDArray[np.float64], resamples: int, seed: int
    ) -> NDArray[np.float64]:
        """Return the scores of resamples of the units, (B, m); a row without scores is nan."""
        drawn = np.full((resamples, len(self.items)), np.nan)
        for row, times in zip(drawn, self._drawn(resamples, seed), strict=True):
            try:
                row[:] = self._refitted(aggregator, times)
            except (ContenderDiverged, InputError):
                continue
        return drawn


@dataclass(frozen=True, eq=False)
class OrderedVotes(RefittedLog):
    """Votes one by one, in their order, for methods that cannot use counts.

    Attributes
    ----------
    votes : Votes
    by_judge : bool
        Judges are the units; else single votes are.
    few_judges : Units, optional
        See `RankedLog`.
    """

    votes: Votes
    by_judge: bool = False
    few_judges: Units | None = None

    @property
    def items(self) -> list[str]:  # type: ignore[override]
        """Names of the items."""
        return self.votes.items

    @cached_property
    def _unit(self) -> NDArray[np.integer]:
        """Number of the unit of each vote, (n,)."""
        return self.votes.judges if self.by_judge and self.votes.judges is not None else self.votes.numbers

    @cached_property
    def units(self) -> Units:
        """Independent units, and the votes in them."""
        return replace(units_of_votes(self.votes, self._unit), noun=units_words(self.by_judge, self.few_judges))

    @cached_property
    def tallies(self) -> ItemTallies:
        """The votes and wins of each item."""
        return tallies_of_counts(self.votes.counts())._replace(judgments=self.votes.count)

    def _refitted(self, aggregator: Aggregator, times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        # In their order, a vote that was drawn twice two times in a row.
        rows = None if times is None else np.repeat(np.arange(len(self.votes)), times[self._unit])
        return call_aggregator(aggregator, self.votes.comparisons(rows), len(self.items))

    def scales(self, aggregator: Aggregator) -> NDArray[np.int64]:
        """Return a number for each item, (m,)."""
        return self.votes.counts().connected.scale_of.astype(np.int64)

    def notes(self, aggregator: Aggregator, scales: NDArray[np.int64]) -> list[str]:
        """Return notes for readers of the scores."""
        order = self.votes.order_note() if "sequential" in aggregator.properties else ""
        return [order] if order else []
