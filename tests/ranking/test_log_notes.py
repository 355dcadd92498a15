"""What a reader of counted votes is told of scales that are a method's own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.interfaces.aggregator import CountAggregator
from rankbench.interfaces.pair_counts import PairCounts, Scales
from rankbench.ranking.count import count_pairs
from rankbench.ranking.ranked_log import CountedVotes


class OneScale(CountAggregator):
    """Has a prior that puts everything on one scale, whatever was compared."""

    name: ClassVar[str] = "one-scale"
    source: ClassVar[str] = "a test"

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        return np.zeros(counts.m)

    def scales(self, counts: PairCounts) -> Scales:
        return Scales(np.zeros(counts.m, np.int32), np.array([counts.m]))


class EachAlone(OneScale):
    """Compares nothing."""

    name: ClassVar[str] = "each-alone"

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        return np.zeros(counts.m)

    def scales(self, counts: PairCounts) -> Scales:
        return Scales(np.arange(counts.m, dtype=np.int32), np.ones(counts.m, np.int64))


LOG = CountedVotes(count_pairs(*np.array([[0, 1], [1, 2], [3, 4]]).T))


def test_the_note_names_the_method_and_counts_scales_and_groups() -> None:
    (note,) = LOG.notes(EachAlone())
    assert note.startswith("each-alone puts the items on 5 scales, although chains of comparisons connect 2 groups: ")
    (note,) = LOG.notes(BradleyTerry(ridge=0.0))
    assert note.startswith("bradley-terry:ridge=0 puts the items on 5 scales")
    connected = CountedVotes(count_pairs(*np.array([[0, 1], [1, 2]]).T))
    assert "although all items are connected: " in connected.notes(EachAlone())[0]


def test_nothing_is_said_where_the_method_has_no_more_scales_than_the_log() -> None:
    assert LOG.notes(BradleyTerry()) == []
    # Fewer scales than groups: no pair that was compared has been torn apart.
    assert LOG.notes(OneScale()) == []
