"""Aggregators of evalica, as they come: what is wrong with one is shown by its results.

References
----------
.. [U25] D. Ustalov. Reliable, reproducible, and really fast leaderboards with Evalica. COLING, 2025.
.. [N23] M. E. J. Newman. Efficient computation of rankings from pairwise comparisons. JMLR 24, 2023.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import rankbench
from rankbench.core.component import Property
from rankbench.errors import ContenderDiverged
from rankbench_peers.packages import package
from rankbench_peers.votes import one_by_one

__all__ = [
    "EvalicaAverageWinRate",
    "EvalicaBradleyTerry",
    "EvalicaCounting",
    "EvalicaEigen",
    "EvalicaElo",
    "EvalicaNewman",
    "EvalicaPageRank",
    "EvalicaPeer",
]

Scale = Literal["own", "log"]

SCALE = "Scores as evalica gives them, or their logarithms, which is what score differences are made for."


class EvalicaPeer(rankbench.ComparisonAggregator):
    """Base of the aggregators of evalica: votes go in as they are, weights and ties too.

    Attributes
    ----------
    function : str
        Name of the function in evalica.
    """

    packages: ClassVar[tuple[str, ...]] = ("evalica",)
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})
    function: ClassVar[str]

    tie_weight: float = Field(default=0.5, ge=0, allow_inf_nan=False, description="Points of each side in a tie.")

    def options(self) -> dict[str, Any]:
        """Return the arguments of the function beside the votes."""
        return {"tie_weight": self.tie_weight}

    def on_scale(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores on the scale that was asked for."""
        return scores

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return evalica's scores, shape (m,)."""
        offsets = np.array([0, len(winners)])
        return self.from_comparisons(rankbench.Comparisons(offsets, winners, losers, weights), m)

    def from_comparisons(self, comparisons: rankbench.Comparisons, m: int) -> NDArray[np.float64]:
        """Return evalica's scores, shape (m,), ties dealt with by evalica.

        Raises
        ------
        ContenderDiverged
            A score is not finite, or has no logarithm where that was asked for.
        SpecError
            evalica is not installed.
        """
        evalica = package("evalica", "evalica")
        pandas = package("pandas", "evalica")
        ties = np.zeros(len(comparisons), np.bool_) if comparisons.ties is None else comparisons.ties
        outcomes = [evalica.Winner.Draw if tie else evalica.Winner.X for tie in ties.tolist()]
        found = getattr(evalica, self.function)(
            comparisons.winners.tolist(),
            comparisons.losers.tolist(),
            outcomes,
            index=pandas.RangeIndex(m),
            weights=comparisons.weights.tolist(),
            **self.options(),
        )
        scores = self.on_scale(found.scores.reindex(range(m)).to_numpy(dtype=np.float64, copy=True))
        if not np.isfinite(scores).all():
            raise ContenderDiverged("evalica: a score is not finite")
        return scores


class EvalicaRatios(EvalicaPeer):
    """Base of the iterated ones, whose positive scores stand for ratios."""

    scale: Scale = Field(default="own", description=SCALE)
    tolerance: float = Field(default=1e-6, gt=0, lt=1, description="Change at which it stops.")
    limit: int = Field(default=100, ge=1, le=1_000_000, description="Iterations at most; it then gives what it has.")

    def options(self) -> dict[str, Any]:
        """Return the arguments of the function beside the votes."""
        return {"tie_weight": self.tie_weight, "tolerance": self.tolerance, "limit": self.limit}

    def on_scale(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores, or their logarithms."""
        if self.scale == "own":
            return scores
        if (scores <= 0).any():
            raise ContenderDiverged("evalica: a score is not positive, so that it has no logarithm")
        return np.log(scores)


class EvalicaBradleyTerry(EvalicaRatios):
    """evalica's Bradley-Terry strengths by maximum likelihood; a tie is half a win each way."""

    name: ClassVar[str] = "evalica-bradley-terry"
    source: ClassVar[str] = "[N23]_; evalica.bradley_terry [U25]_"
    function: ClassVar[str] = "bradley_terry"
    # Items are updated in turn until the change is small: their order is in the last digits. Of votes that all agree
    # there is no maximum, and all items end level.
    properties: ClassVar[frozenset[Property]] = frozenset({"winner-not-first"})


class EvalicaNewman(EvalicaRatios):
    """evalica's Newman iteration: strengths with ties by maximum likelihood, as Davidson's.

    evalica's ``v_init`` is no parameter here: the iteration starts from equal strengths,
    where it cancels, and has no effect on anything.
    """

    name: ClassVar[str] = "evalica-newman"
    source: ClassVar[str] = "[N23]_; evalica.newman [U25]_"
    # Of votes that all agree there is no maximum, and it stops anywhere.
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "winner-not-first"})
    function: ClassVar[str] = "newman"

    tie_weight: float = Field(default=1.0, ge=0, allow_inf_nan=False, description="Weight of a tie.")


class EvalicaEigen(EvalicaRatios):
    """evalica's eigenvector of the matrix of wins, which is the wrong way round.

    In evalica 0.4.2 the matrix is transposed, so that an item's score is the sum of
    the scores of those it *lost* to, times losses: the worst item comes first. It is
    left so: what is measured is what evalica gives.
    """

    name: ClassVar[str] = "evalica-eigen"
    source: ClassVar[str] = "evalica.eigen [U25]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "winner-not-first"})
    function: ClassVar[str] = "eigen"


class EvalicaPageRank(EvalicaRatios):
    """evalica's PageRank on the graph from losers to winners."""

    name: ClassVar[str] = "evalica-pagerank"
    source: ClassVar[str] = "evalica.pagerank [U25]_"
    function: ClassVar[str] = "pagerank"

    damping: float = Field(default=0.85, ge=0, le=1, description="Chance of following an edge.")

    def options(self) -> dict[str, Any]:
        """Return the arguments of the function beside the votes."""
        return super().options() | {"damping": self.damping}


class EvalicaCounting(EvalicaPeer):
    """evalica's counting: the number of wins, a tie half of one."""

    name: ClassVar[str] = "evalica-counting"
    source: ClassVar[str] = "evalica.counting [U25]_"
    function: ClassVar[str] = "counting"


class EvalicaAverageWinRate(EvalicaPeer):
    """evalica's average win rate: the mean over opponents of the share of wins."""

    name: ClassVar[str] = "evalica-average-win-rate"
    source: ClassVar[str] = "evalica.average_win_rate [U25]_"
    function: ClassVar[str] = "average_win_rate"


class EvalicaElo(EvalicaPeer):
    """evalica's Elo ratings, vote by vote.

    In evalica 0.4.2 a weight multiplies the outcome, not the step: with weight 2 a win is
    worth two, whatever was expected, and with weight 1/2 a favorite that wins loses points. So
    evalica is given no weights: a vote of weight w is listed w times, and a weight that is no whole
    number is refused.
    """

    name: ClassVar[str] = "evalica-elo"
    source: ClassVar[str] = "evalica.elo [U25]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})
    function: ClassVar[str] = "elo"

    k: float = Field(default=4.0, gt=0, allow_inf_nan=False, description="Points that a vote moves at most.")
    initial: float = Field(default=1000.0, allow_inf_nan=False, description="Rating that everybody starts with.")
    base: float = Field(default=10.0, gt=1, allow_inf_nan=False, description="Base of the odds.")
    points: float = Field(
        default=400.0, gt=0, allow_inf_nan=False, description="Points in a factor `base` of the odds."
    )

    def options(self) -> dict[str, Any]:
        """Return the arguments of the function beside the votes."""
        return super().options() | {"k": self.k, "initial": self.initial, "base": self.base, "scale": self.points}

    def from_comparisons(self, comparisons: rankbench.Comparisons, m: int) -> NDArray[np.float64]:
        """Return evalica's ratings, shape (m,), of each vote as often as its weight says.

        Raises
        ------
        ContenderDiverged
            A rating is not finite.
        InputError
            A weight is no whole number, or there would be more than 2,000,000 votes.
        SpecError
            evalica is not installed.
        """
        return super().from_comparisons(one_by_one(comparisons), m)
