"""Who is first, and how sure that is, by stretches of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rankbench.component import Component
from rankbench.counts.units import ENOUGH, Units
from rankbench.errors import SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.cell import RANKING, VOTES, Split
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.metric import Metric
from rankbench.kinds.protocol import Prepared
from rankbench.plugin.resolve import reference
from rankbench.protocols.log_votes import misfit_of
from rankbench.protocols.periods import (
    DatedVotes,
    PeriodProtocol,
    PeriodRows,
    counts_of_period,
    dated_votes,
    years_text,
)
from rankbench.ranking.certainty import item_rank_ranges, judged_enough, score_intervals
from rankbench.ranking.logs import CountedVotes
from rankbench.ranking.ranking import normal_deviations

__all__ = ["PeriodLeaders"]


class PeriodLeaders(PeriodProtocol):
    """The first item of each stretch of years, with its score and the places that it may hold.

    Who is first says `method`: the highest score of those that ten votes are about, among the items that chains of
    comparisons connect with most others. Contenders rank all items of the stretch by its votes alone, with
    intervals by formula; a row is what they say of that item. Its rank range is among all items of its stretch:
    those that fewer than ten votes are about, and those on other scales, may hold any place. So 1 alone means that
    it is shown to be above each other item, and that each other one was judged.
    Rows of different stretches are not compared. Stretches follow one another, or one ends `every` so many years, and
    then they overlap: neighbors share votes.
    """

    name: ClassVar[str] = "period-leaders"
    source: ClassVar[str] = "[MWR24]_"
    metrics: ClassVar[tuple[Metric, ...]] = (
        *(Metric(name, "maximize", jumps=name.startswith("rank-")) for name in RANKING),
        Metric(VOTES, "maximize", "How many votes the item is in."),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Stretches of time, and who was first"}

    years: int = Field(default=1, ge=1, le=1000, description="Years of a stretch.")
    every: int = Field(
        default=0, ge=0, le=1000, description="Years from the end of a stretch to that of the next one; 0: as `years`."
    )
    method: Annotated[Aggregator, reference(Aggregator)] = Field(
        default="bradley-terry:penalty=firth", validate_default=True, description="By whose scores an item is first."
    )

    @model_validator(mode="after")
    def _whole_steps(self) -> Self:
        if self.every and self.years % self.every:
            raise ValueError(f"every={self.every} does not divide years={self.years}")
        return self

    def dated(self, dataset: Dataset) -> DatedVotes:
        """Load the votes with the steps of time from which stretches are put together."""
        return dated_votes(dataset, self.every or self.years)

    def rows(self, log: DatedVotes, votes: Mapping[str, NDArray[Any]]) -> PeriodRows:
        """Return the stretches with who was first in each, of those in which somebody was."""
        names, first, kept = [], [], []
        since = log.years[:, 0] + ((self.every or self.years) - self.years)
        begins = np.searchsorted(log.years[:, 0], since)
        lasts = log.years[:, 1].tolist()
        for p, (begin, year, last) in enumerate(zip(begins.tolist(), since.tolist(), lasts, strict=True)):
            found = self._first(_of_periods(votes, begin, p))
            if found is not None:
                names.append(f"{years_text(year, last)}: {log.votes.items[found]}")
                first.append(found)
                kept.append((begin, p))
        if not names:
            raise SpecError(f"no stretch of {self.years} years has an item with ten votes")
        left = len(log.names) - len(names)
        notes = (f"{left} of {len(log.names)} stretches have no item with ten votes.",) if left else ()
        return PeriodRows(names, {"first": np.array(first), "kept": np.array(kept)}, notes)

    def _first(self, log: CountedVotes) -> int | None:
        judged = log.tallies().judged
        scales = log.scales(self.method)
        known = (judged >= ENOUGH) & (scales == np.bincount(scales).argmax())
        if not known.any():
            return None
        scores = np.where(known, log.scores(self.method), -np.inf)
        return int(log.items[int(scores.argmax())])

    def misfit(self, contender: Component) -> str:
        """Return why a component cannot rank the items of a stretch with intervals; empty if it can."""
        why = misfit_of(contender)
        if why or not isinstance(contender, Aggregator):
            return why
        return "" if contender.has_covariance() else f"{contender.name!r} has no formula for intervals"

    def series(self, prepared: Prepared, aggregator: Aggregator, seed: int) -> dict[str, NDArray[np.float64]]:
        """Rank the items of each stretch, and return what the contender says of its first."""
        stored = self.stored(prepared)
        lines = [
            _row(_of_periods(stored, begin, end), aggregator, str(item), seed)
            for (begin, end), item in zip(stored["kept"].tolist(), stored["first"].tolist(), strict=True)
        ]
        columns = np.array(lines, dtype=np.float64).T
        return {name: np.ascontiguousarray(column) for name, column in zip((*RANKING, VOTES), columns, strict=True)}


def _of_periods(stored: Mapping[str, NDArray[Any]], begin: int, end: int) -> CountedVotes:
    """Return the votes of the periods from one to another; items are called by their numbers."""
    rows = np.flatnonzero((begin <= stored["period"]) & (stored["period"] <= end))
    winners, losers, ties, weights = (stored[name][rows] for name in ("winners", "losers", "ties", "weights"))
    most = int(max(stored["winners"].max(), stored["losers"].max())) + 1
    return CountedVotes(counts_of_period(winners, losers, ties, weights, [str(i) for i in range(most)])[0])


def _row(log: CountedVotes, aggregator: Aggregator, item: str, seed: int) -> tuple[float, ...]:
    """Return what an aggregator says of an item: score, interval, places among all items of the log, and votes."""
    scores, scales, units = log.scores(aggregator), log.scales(aggregator), log.units
    covariance = log.covariance(aggregator, scores)[0]
    at = log.items.index(item)
    lower, upper = score_intervals(scores, np.sqrt(np.maximum(np.diag(covariance), 0)), units)
    # What few votes are about, and what stands on another scale, may hold any place.
    kept = np.flatnonzero(judged_enough(units) & (scales == scales[at]))
    some = Units(units.count, units.effective, units.items[kept], units.votes[kept], units.of_variance[kept])
    block = covariance[np.ix_(kept, kept)]
    low, high = item_rank_ranges(scores[kept], block, scales[kept], some, normal_deviations(block, seed))
    place = int(np.searchsorted(kept, at))
    ends = (low[place], high[place] + len(scores) - len(kept)) if at in kept else (1, len(scores))
    return float(scores[at]), float(lower[at]), float(upper[at]), *map(float, ends), float(log.tallies().judged[at])
