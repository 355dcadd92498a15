"""Who is first, and how sure that is, by stretches of time."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Component
from rankbench.counts.units import ENOUGH, Units
from rankbench.errors import SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.cell import RANKING, VOTES, CellResult, Layout, Split
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.metric import Fact, Metric
from rankbench.kinds.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.plugin.resolve import reference
from rankbench.protocols.log_votes import misfit_of, unchanged
from rankbench.protocols.own_log import OwnLog
from rankbench.protocols.periods import counts_of_period, dated_votes
from rankbench.ranking.certainty import item_rank_ranges, judged_enough, score_intervals
from rankbench.ranking.logs import CountedVotes
from rankbench.ranking.ranking import normal_deviations

__all__ = ["PeriodLeaders"]


class PeriodLeaders(Protocol):
    """The first item of each stretch of years, with its score and the places that it may hold.

    Who is first says `method`: the highest score of those that ten votes are about, among the items that chains of
    comparisons connect with most others. Contenders rank all items of the stretch by its votes alone, with
    intervals by formula; a row is what they say of that item. Its rank range is among the items of its stretch that ten
    votes are about and that stand on its scale: 1 alone means that it is shown to be above each other one of these.
    Rows of different stretches are not compared.
    """

    name: ClassVar[str] = "period-leaders"
    source: ClassVar[str] = "[MWR24]_"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[Any] = "comparisons"
    metrics: ClassVar[tuple[Metric, ...]] = (
        *(Metric(name, "maximize", jumps=name.startswith("rank-")) for name in RANKING),
        Metric(VOTES, "maximize", "How many votes the item is in."),
    )
    facts: ClassVar[tuple[Fact, ...]] = ()
    splits: ClassVar[dict[Split, str]] = {"design": "Stretches of time, and who was first"}
    counts: ClassVar[str] = "votes"
    layout: ClassVar[Layout] = "series"

    years: int = Field(default=1, ge=1, le=1000, description="Years of a stretch.")
    method: Annotated[Aggregator, reference(Aggregator)] = Field(
        default="bradley-terry:penalty=firth", validate_default=True, description="By whose scores an item is first."
    )

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load the votes with their years, and find who was first."""
        if dataset is None:
            raise SpecError(f"protocol {self.name!r} needs a log")
        fingerprint = dataset.fingerprint()
        log = dated_votes(dataset, self.years)
        unchanged(dataset, fingerprint)
        votes = log.votes
        stored = {
            "winners": votes.winners,
            "losers": votes.losers,
            "ties": votes.ties,
            "weights": np.array(votes.weights),
            "period": log.period,
        }
        names, first, kept = [], [], []
        for p, name in enumerate(log.names):
            found = self._first(_of_period(stored, p))
            if found is not None:
                names.append(f"{name}: {votes.items[found]}")
                first.append(found)
                kept.append(p)
        if not names:
            raise SpecError(f"no stretch of {self.years} years has an item with ten votes")
        arrays = pack("dated", **stored, first=np.array(first), kept=np.array(kept))
        left = len(log.names) - len(names)
        notes = (f"{left} of {len(log.names)} stretches have no item with ten votes.",) if left else ()
        return Prepared(self, dataset, fingerprint, {"design": tuple(names)}, arrays, float(len(votes)), notes)

    def _first(self, log: CountedVotes) -> int | None:
        judged = log.tallies().judged
        scales = log.scales(self.method)
        known = (judged >= ENOUGH) & (scales == np.bincount(scales).argmax())
        if not known.any():
            return None
        scores = np.where(known, log.scores(self.method), -np.inf)
        return int(log.items[int(scores.argmax())])

    def refusal(self, dataset: Dataset) -> str:
        """Return why a data set is no log of votes; empty if it is one."""
        return OwnLog().refusal(dataset)

    def misfit(self, contender: Component) -> str:
        """Return why a component cannot rank the items of a stretch with intervals; empty if it can."""
        why = misfit_of(contender)
        if why or not isinstance(contender, Aggregator):
            return why
        return "" if contender.has_covariance() else f"{contender.name!r} has no formula for intervals"

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Rank the items of each stretch by every contender."""
        from rankbench.kinds.guard import failed, guarded

        found = []
        for cell, contender in task.cells.items():
            values = guarded(partial(_rows, prepared, contender.component(Aggregator), task.key.seed))
            if isinstance(values, Exception):
                found.append(failed(cell, values))
                continue
            losses: dict[tuple[str, Split], NDArray[np.float64]] = {
                (name, "design"): array for name, array in values.items()
            }
            found.append(CellResult(cell, "done", "", math.nan, losses))
        return found


def _of_period(stored: dict[str, NDArray[Any]], p: int) -> CountedVotes:
    """Return the votes of a stretch; items are called by their numbers."""
    rows = np.flatnonzero(stored["period"] == p)
    winners, losers, ties, weights = (stored[name][rows] for name in ("winners", "losers", "ties", "weights"))
    most = int(max(stored["winners"].max(), stored["losers"].max())) + 1
    return CountedVotes(counts_of_period(winners, losers, ties, weights, [str(i) for i in range(most)])[0])


def _row(log: CountedVotes, aggregator: Aggregator, item: str, seed: int) -> tuple[float, ...]:
    """Return what an aggregator says of an item: score, interval, places among those of ten votes, and votes."""
    scores, scales, units = log.scores(aggregator), log.scales(aggregator), log.units
    covariance = log.covariance(aggregator, scores)[0]
    at = log.items.index(item)
    lower, upper = score_intervals(scores, np.sqrt(np.maximum(np.diag(covariance), 0)), units)
    # What few votes are about may hold any place: of these nothing is said.
    kept = np.flatnonzero(judged_enough(units) & (scales == scales[at]))
    some = Units(units.count, units.effective, units.items[kept], units.votes[kept], units.of_variance[kept])
    block = covariance[np.ix_(kept, kept)]
    low, high = item_rank_ranges(scores[kept], block, scales[kept], some, normal_deviations(block, seed))
    place = int(np.searchsorted(kept, at))
    ends = (low[place], high[place]) if at in kept else (1, len(kept))
    return float(scores[at]), float(lower[at]), float(upper[at]), *map(float, ends), float(log.tallies().judged[at])


def _rows(prepared: Prepared, aggregator: Aggregator, seed: int) -> dict[str, NDArray[np.float64]]:
    stored = {name.removeprefix("dated."): array for name, array in prepared.arrays.items()}
    lines = []
    for p, item in zip(stored["kept"].tolist(), stored["first"].tolist(), strict=True):
        lines.append(_row(_of_period(stored, p), aggregator, str(item), seed))
    columns = np.array(lines, dtype=np.float64).T
    return {name: np.ascontiguousarray(column) for name, column in zip((*RANKING, VOTES), columns, strict=True)}
