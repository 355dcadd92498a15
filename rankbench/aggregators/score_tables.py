"""Aggregators of score tables rank systems by means of scores, of ranks, or of Borda counts on each task."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Property
from rankbench.interfaces.sequential_aggregator import ScoreAggregator


class MeanScore(ScoreAggregator):
    """The mean of a system's scores over tasks and seeds: a task counts as much as its scale is wide.

    Prefer it where all tasks have one scale.

    Examples
    --------
    >>> import rankbench
    >>> scores = {"model": ["ada", "bob", "cy"], "math": [0.9, 0.6, 0.3], "code": [0.6, 0.7, 0.1]}
    >>> rankbench.rank(scores, ["mean-score"], columns="system=model,scores=*").table.select("system", "score").rows()
    [('ada', 0.75), ('bob', 0.65), ('cy', 0.2)]
    """

    name: ClassVar[str] = "mean-score"
    source: ClassVar[str] = "the average column of most leaderboards"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    unit: ClassVar[str] = "the tasks' own"

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores themselves."""
        return values


class MeanRank(ScoreAggregator):
    """The mean of a system's ranks among all systems, by task and seed; 1 is the best, equal scores share ranks.

    Prefer it where the scales of tasks differ.

    Examples
    --------
    >>> import rankbench
    >>> scores = {"model": ["ada", "bob", "cy"], "math": [0.9, 0.6, 0.3], "code": [0.6, 0.7, 0.1]}
    >>> rankbench.rank(scores, ["mean-rank"], columns="system=model,scores=*").table.select("system", "score").rows()
    [('ada', 1.5), ('bob', 1.5), ('cy', 3.0)]
    """

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

    Prefer it to `mean-rank` where readers expect that more is better; both order the systems alike.

    Examples
    --------
    >>> import rankbench
    >>> scores = {"model": ["ada", "bob", "cy"], "math": [0.9, 0.6, 0.3], "code": [0.6, 0.7, 0.1]}
    >>> rankbench.rank(scores, ["borda-count"], columns="system=model,scores=*").table.select("system", "score").rows()
    [('ada', 1.5), ('bob', 1.5), ('cy', 0.0)]
    """

    name: ClassVar[str] = "borda-count"
    source: ClassVar[str] = "J.-C. de Borda, 1781; the rank of MTEB's leaderboards"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    unit: ClassVar[str] = "systems beaten, on average"

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number of systems that each one beats in its task and seed."""
        from scipy.stats import rankdata

        return np.asarray(rankdata(values, axis=-1), dtype=np.float64) - 1.0
