"""Aggregators of score tables: means over tasks and seeds of scores, of ranks, and of systems beaten."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Property
from rankbench.kinds.score_aggregator import ScoreAggregator

__all__ = ["BordaCount", "MeanRank", "MeanScore"]


class MeanScore(ScoreAggregator):
    """The mean of a system's scores over tasks and seeds: a task counts as much as its scale is wide."""

    name: ClassVar[str] = "mean-score"
    source: ClassVar[str] = "the average column of most leaderboards"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    unit: ClassVar[str] = "the tasks' own"

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores themselves."""
        return values


class MeanRank(ScoreAggregator):
    """The mean of a system's ranks among all systems, by task and seed; 1 is the best, equal scores share ranks."""

    name: ClassVar[str] = "mean-rank"
    source: ClassVar[str] = "M. Friedman, The use of ranks, Journal of the American Statistical Association 32, 1937"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    direction: ClassVar[Literal["minimize", "maximize"]] = "minimize"
    unit: ClassVar[str] = "rank, 1 is the best"

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each system's rank in its task and seed."""
        from scipy.stats import rankdata

        return np.asarray(rankdata(-values, axis=-1), dtype=np.float64)


class BordaCount(ScoreAggregator):
    """The mean number of systems that a system beats, by task and seed, a tie being half of one.

    S systems less the mean rank, so of one order with it.
    """

    name: ClassVar[str] = "borda-count"
    source: ClassVar[str] = "J.-C. de Borda, 1781; the rank of MTEB's leaderboards"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    unit: ClassVar[str] = "systems beaten, on average"

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many systems each one beats in its task and seed."""
        from scipy.stats import rankdata

        return np.asarray(rankdata(values, axis=-1), dtype=np.float64) - 1.0
