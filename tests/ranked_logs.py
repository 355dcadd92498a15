"""Votes that are drawn, and votes in memory, ranked as the engine ranks a log."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
import pytest
from drawn_votes import two_items
from numpy.typing import NDArray
from scipy.special import expit

from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts
from rankbench.logs.count import count_clusters
from rankbench.logs.votes import Votes
from rankbench.ranking.rank import Ranking, rank
from rankbench.ranking.ranked_log import CountedVotes, OrderedVotes, RankedLog


def sided_votes(
    rng: np.random.Generator,
    scores: NDArray[np.float64],
    n: int,
    *,
    side: float | NDArray[np.float64],
    length: float,
    strong_left: float,
    tastes: NDArray[np.float64] | None = None,
) -> pl.DataFrame:
    """Return votes with effects of the side and of a length; the stronger of two stands left with a chance.

    Parameters
    ----------
    side : float or ndarray of shape (n,)
        Log-odds for the left in three of four votes, the others being neutral.
    tastes : ndarray of shape (n, m), optional
        What a vote adds to the score of each item.
    """
    one, other = two_items(rng, n, len(scores))
    strong, weak = np.minimum(one, other), np.maximum(one, other)
    left_is_strong = rng.random(n) < strong_left
    left, right = np.where(left_is_strong, strong, weak), np.where(left_is_strong, weak, strong)
    neutral, lengths = rng.random(n) < 0.25, np.exp(rng.standard_normal((n, 2)))
    margin = scores[left] - scores[right] + side * ~neutral + length * (np.log(lengths) @ [1, -1])
    if tastes is not None:
        margin += tastes[np.arange(n), left] - tastes[np.arange(n), right]
    width = len(str(len(scores) - 1))
    names = {name: [f"i{i:0{width}}" for i in items] for name, items in (("left", left), ("right", right))}
    said = {"winner": np.where(rng.random(n) < expit(margin), "left", "right"), "neutral": neutral}
    return pl.DataFrame({**names, **said, "length_left": lengths[:, 0], "length_right": lengths[:, 1]})


def short_chunks(patch: pytest.MonkeyPatch, rows: int) -> None:
    """Count so many rows of a log at a time."""
    for module in ("thread_tables", "count", "count_log", "stream"):
        patch.setattr(f"rankbench.logs.{module}.ROWS", rows)


def bytes_of(found: PairCounts | ClusterCounts) -> list[object]:
    """Return all that was counted, arrays as bytes."""
    counts = found.counts if isinstance(found, ClusterCounts) else found
    arrays = [counts.starts, counts.high, counts.forward, counts.backward, counts.ties]
    said: list[object] = [counts.items, counts.judgments, counts.weighted]
    if isinstance(found, ClusterCounts):
        said.append(found.clusters)
        arrays += [found.starts, found.cells, found.weights]
    return said + [array.tobytes() for array in arrays]


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
) -> Ranking:
    """Rank votes with intervals from resampled judges (votes, where the log does not name two); 0 replicates: none."""
    by_judge = cluster == "judge" and votes.judges is not None and bool(votes.judges.max() > 0)
    intervals = ("judges" if by_judge else "bootstrap") if replicates else None
    log = log_of(votes, aggregator, by_judge)
    return rank(log, aggregator, intervals=intervals, resamples=max(replicates, 1), seed=seed)
