"""The protocol `score-tables` ranks the systems of simulated score tables, whose true order is known."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.runtime import JUDGMENTS
from rankbench.errors import SpecError
from rankbench.interfaces.cell import CellResult, Split
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.interfaces.sequential_aggregator import ScoreAggregator
from rankbench.protocols.judging import each_unit
from rankbench.systems.system_ranking import rank_systems

_NUMBER = 8
"""Bytes of a score."""


class _Table(NamedTuple):
    """Scores, shape (1, T, S), and true ranks, shape (S,): 1 for the largest mean, equal ranks for equal means."""

    scores: NDArray[np.float64]
    ranks: NDArray[np.float64]


class ScoreTables(Protocol):
    r"""Systems ranked by the scores of simulated tables, with rank ranges: what ``rankbench rank`` does.

    .. math:: x_{ts} = \mu_s + \tau_t + \varepsilon_{ts}, \quad \mu_s \sim N(0, \sigma^2), \quad \tau_t \sim N(0, 1)

    for system s on task t of n, with noise of variance 1. A repetition draws other tasks; systems keep their means.

    *misordered*: share of pairs of systems whose scores are not in the order of their means, level ones half.
    *covered*: 1 where every system's rank by its mean is in its range, which ranges promise of 95% of tables. *width*:
    mean number of ranks in a range beside the first.

    Prefer it to measure how often the rank ranges of a method for score tables hold, and how narrow they are.
    """

    name: ClassVar[str] = "score-tables"
    source: ClassVar[str] = "[MWR24]_"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[str | None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("misordered", sentence="Share of pairs not in the order of their means.", low=0, high=1, jumps=True),
        Metric("covered", "maximize", "Share of tables whose ranges hold all ranks.", low=0, high=1, jumps=True),
        Metric("width", sentence="Mean number of ranks in a range beside the first.", low=0, jumps=True),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Tables (systems whose means are known)"}
    counts: ClassVar[str] = "tasks of each table"
    judged_on: ClassVar[str] = "tables"
    simulated: ClassVar[bool] = True
    few: ClassVar[int] = 5

    systems: int = Field(default=6, ge=2, le=100, strict=True, description="Systems S of a table.")
    tables: int = Field(default=20, ge=1, le=10_000, strict=True, description="Number of tables.")
    spread: float = Field(default=0.5, ge=0, le=100, description="Standard deviation sigma of the systems' means.")
    noise: Literal["normal", "exponential"] = Field(default="normal", description="Law of the noise, of variance 1.")
    replicates: int = Field(default=1000, ge=2, le=100_000, description="Resamples of tasks.")

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Draw the systems' means."""
        means = np.random.default_rng([seed, 0]).standard_normal((self.tables, self.systems)) * self.spread
        units = tuple(f"table {p + 1}" for p in range(self.tables))
        return Prepared(self, None, "", {"design": units}, pack("systems", means=means))

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the tables of a block, rank the systems of each by every contender, measure."""
        from scipy.stats import rankdata

        def drawn(p: int) -> _Table:
            rng = np.random.default_rng([task.key.seed, task.key.repetition, JUDGMENTS, p])
            means = prepared.arrays["systems.means"][p]
            shape = task.key.n, self.systems
            law = rng.standard_normal if self.noise == "normal" else rng.standard_exponential
            scores = means + rng.standard_normal((task.key.n, 1)) + law(shape)
            return _Table(scores[None], rankdata(-means))

        def measured(aggregator: ScoreAggregator, table: _Table) -> dict[str, float]:
            found = rank_systems(table.scores, aggregator, k=1, replicates=self.replicates, seed=task.key.seed)
            sign = 1.0 if aggregator.direction == "maximize" else -1.0
            low, high = np.triu_indices(self.systems, 1)
            ahead = np.sign(sign * (found.scores[low] - found.scores[high]))
            should = np.sign(table.ranks[high] - table.ranks[low])
            inside = (found.ranks[:, 0] <= table.ranks) & (table.ranks <= found.ranks[:, 1])
            values = {
                "misordered": float(np.where(ahead * should == 0, 0.5, ahead * should < 0).mean()),
                "covered": float(inside.all()),
                "width": float((found.ranks[:, 1] - found.ranks[:, 0]).mean()),
            }
            return {metric: values[metric] for metric in task.metrics}

        if task.key.n < self.few:
            raise SpecError(f"a table of {task.key.n} tasks cannot be resampled; n must be {self.few} or more")
        return each_unit(task, ScoreAggregator, self.tables, drawn, measured)

    def misfit(self, contender: Component) -> str:
        """Return an error text for a component that cannot rank the systems of a score table, or ``""``."""
        return "" if isinstance(contender, ScoreAggregator) else "it does not aggregate score tables"

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return the bytes of a table and of the resamples of its systems' scores."""
        return _NUMBER * self.systems * (task.key.n + self.replicates)

    def smaller(self, prepared: Prepared, task: BlockTask) -> tuple[Prepared, BlockTask] | None:
        """Return the block on one table."""
        small = self.model_copy(update={"tables": 1})
        return small.prepare(None, task.key.seed), task.of_size(self.few)

    def assumptions(self) -> list[str]:
        """Return sentences on the tables."""
        return [
            f"{self.tables} tables of {self.systems} systems with normal means, sd {self.spread:g}.",
            f"A score adds to the mean a normal effect of the task, sd 1, and {self.noise} noise of sd 1.",
        ]
