"""Your own log: what it says about its items."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from rankbench.component import Component
from rankbench.counts.units import units_of_votes
from rankbench.counts.votes import Votes
from rankbench.errors import SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.cell import RANKING, CellResult, Layout, Split
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.metric import RIDGE, Fact, Metric
from rankbench.kinds.protocol import BlockTask, Prepared, Protocol
from rankbench.plugin import manager
from rankbench.protocols.own_log import OwnLog
from rankbench.protocols.votes import misfit_of, unpack_votes, votes_of
from rankbench.ranking.certainty import FEW, LARGEST, ridge_of, too_thin
from rankbench.ranking.ranking import Cluster, ItemRanking, clusters_of, rank_items

__all__ = ["Items"]


class Items(Protocol):
    """Every contender ranks the items of a log, with intervals.

    Scores come from all votes, intervals and rank ranges from a bootstrap of judges (see
    `rankbench.ranking.ranking.rank_items`). ``lower`` and ``upper`` are nan for items that too
    few votes are about, and for contenders that are ``irregular``: such items may hold any
    place. Items that no chain of comparisons connects are
    said to be so, and never put on one scale.
    """

    name: ClassVar[str] = "items"
    source: ClassVar[str] = "[Owen07]_; [MWR24]_"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[Any] = "comparisons"
    metrics: ClassVar[tuple[Metric, ...]] = tuple(Metric(name, "maximize") for name in RANKING)
    facts: ClassVar[tuple[Fact, ...]] = (RIDGE,)
    splits: ClassVar[dict[Split, str]] = {"design": "Items"}
    counts: ClassVar[str] = "votes"
    layout: ClassVar[Layout] = "ranking"

    replicates: int = Field(default=500, ge=0, le=100_000, description="Bootstrap replicates.")
    cluster: Cluster = Field(default="judge", description="What is resampled: judge or vote.")

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load the votes; n = 1 of the suite stands for all of them."""
        if dataset is None:
            raise SpecError(f"protocol {self.name!r} needs a log")
        log = votes_of(dataset)
        units: dict[Split, tuple[str, ...]] = {"design": tuple(log.votes.items)}
        notes = (*log.notes, *self._notes(log.votes))
        return Prepared(self, dataset, log.fingerprint, units, log.arrays, float(len(log.votes)), notes)

    def _notes(self, votes: Votes) -> list[str]:
        """Return what a reader of the intervals must know."""
        if not self.replicates:
            return []
        notes = []
        alone = votes.judges is None or votes.judges.max() == 0
        units = units_of_votes(votes, clusters_of(votes, self.cluster))
        if self.cluster == "judge" and alone:
            why = "the log does not say who judged" if votes.judges is None else "all votes are of one judge"
            notes.append(
                f"Intervals of items come from resampled votes, as {why}: they are too narrow if votes of one judge "
                "are alike."
            )
        elif self.cluster == "judge" and units.effective < FEW:
            notes.append(
                f"Few judges: {units.count:,}, who by their shares of the votes count like {units.effective:.1f}. "
                "Intervals of items are rough, and wide."
            )
        return [*notes, *(f"{note}." for note in too_thin(units))]

    def refusal(self, dataset: Dataset) -> str:
        """Return why a data set is no log of votes; empty if it is one."""
        return OwnLog().refusal(dataset)

    def misfit(self, contender: Component) -> str:
        """Return why a component cannot rank the items of a log; empty if it can."""
        return misfit_of(contender)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Rank the items by every contender."""
        from rankbench.kinds.guard import failed, guarded

        votes = unpack_votes(prepared)
        found = []
        for cell, spec in task.cells.items():
            aggregator = manager.get(Aggregator, spec)
            ranking = guarded(partial(self._ranking, votes, aggregator, task.key.seed))
            found.append(
                failed(cell, ranking) if isinstance(ranking, Exception) else _cell(cell, ranking, ridge_of(aggregator))
            )
        return found

    def _ranking(self, votes: Votes, aggregator: Aggregator, seed: int) -> ItemRanking:
        if self.replicates and len(votes.items) > LARGEST and "irregular" not in aggregator.properties:
            raise SpecError(
                f"intervals compare all pairs of items, and {len(votes.items):,} are too many (at most {LARGEST:,}); "
                "set replicates=0 for none"
            )
        return rank_items(votes, aggregator, replicates=self.replicates, cluster=self.cluster, seed=seed)


def _cell(cell: str, ranking: ItemRanking, ridge: float) -> CellResult:
    values = {
        "score": ranking.scores,
        "lower": ranking.lower,
        "upper": ranking.upper,
        "rank-low": ranking.low.astype(np.float64),
        "rank-high": ranking.high.astype(np.float64),
    }
    facts = {"scales": float(ranking.scales.max() + 1), "clusters": float(ranking.units.count if ranking.units else 0)}
    if np.isfinite(ranking.lower).any():
        facts["ridge"] = ridge
    return CellResult(cell, "done", "", math.nan, {(metric, "design"): values[metric] for metric in RANKING}, {}, facts)
