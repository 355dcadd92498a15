"""Votes in memory, ranked as the engine ranks a log."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.ranking.partial_counts import count_clusters
from rankbench.ranking.rank import ItemRanking, rank
from rankbench.ranking.ranked_log import CountedVotes, OrderedVotes, RankedLog
from rankbench.ranking.votes import Votes


def log_of(votes: Votes, aggregator: Aggregator, by_judge: bool) -> RankedLog:
    """Return what the aggregator is shown: sums by judge or vote, or votes."""
    if not isinstance(aggregator, CountAggregator):
        return OrderedVotes(votes, by_judge)
    units = votes.judges if by_judge else np.arange(len(votes))
    plain = not by_judge and bool((votes.weights == 1).all())
    if plain:
        return CountedVotes(votes.counts())
    weights = None if (votes.weights == 1).all() else votes.weights
    said = {"weights": weights, "ties": votes.ties, "items": votes.items}
    return CountedVotes(count_clusters(votes.winners, votes.losers, units, **said), by_judge)


def rank_items(
    votes: Votes,
    aggregator: Aggregator,
    *,
    replicates: int = 500,
    cluster: Literal["judge", "vote"] = "judge",
    seed: int = 0,
) -> ItemRanking:
    """Rank votes with intervals from resampled judges (votes, where the log does not name two); 0 replicates: none."""
    by_judge = cluster == "judge" and votes.judges is not None and bool(votes.judges.max() > 0)
    intervals = ("judges" if by_judge else "bootstrap") if replicates else None
    log = log_of(votes, aggregator, by_judge)
    return rank(log, aggregator, intervals=intervals, resamples=max(replicates, 1), seed=seed)[0]
