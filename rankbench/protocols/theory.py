"""The theorems' own populations: surrogates that are consistent there, and those that are not."""

from __future__ import annotations

from functools import partial
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from rankbench.component import Component
from rankbench.errors import SpecError
from rankbench.kinds.cell import CellResult, Layout, Split
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.guard import failed, guarded
from rankbench.kinds.loss import Loss
from rankbench.kinds.metric import Metric
from rankbench.kinds.protocol import BlockTask, Prepared, Protocol
from rankbench.kinds.surrogate import PairwiseSurrogate, ScoreSurrogate, Surrogate
from rankbench.plugin.resolve import reference
from rankbench.theory.consistency import Consistency, consistency_in
from rankbench.theory.risks import AggregationName
from rankbench.theory.settings import Setting, settings

__all__ = ["Theory"]


class Theory(Protocol):
    """Surrogates on the small populations of the papers' proofs, by Definition 3; nothing is drawn.

    A population is a distribution over a few graphs, or score vectors, of three items.
    ``verdict`` is 1 where the surrogate is consistent and -1 or 0 where it is not; it is
    the sign of ``gap``, the least surrogate risk among the orders of items that do not
    minimize the true risk, less that among those that do: below 0, minimizing the
    surrogate ends in a wrong order; at 0, it may. ``excess`` is the largest true risk above
    the least one that minimizing it can end in. Gaps do not compare between surrogates:
    each has a scale of its own.

    A surrogate of graphs sees score vectors as graphs with weights ``[G(s_i) - G(s_j)]_+``,
    G that of the loss; a surrogate of scores sees the net weights of graphs.

    Notes
    -----
    Risks are sums over the population, minimized over each of the 3! orders to about
    1e-11; a gap within 1e-9 of 0 is called 0. A consistent surrogate has a gap above 0 on
    *every* population, which no table shows: the theorems do.
    """

    name: ClassVar[str] = "theory"
    source: ClassVar[str] = "[DMJ13]_ Definition 3, Theorems 2 and 3; [DMJ10]_ Theorem 13, section 3.1"
    contender: ClassVar[str] = "surrogate"
    table: ClassVar[None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "verdict",
            "maximize",
            "The sign of the gap.",
            low=-1,
            high=1,
            jumps=True,
            words={1.0: "consistent", 0.0: "either", -1.0: "inconsistent"},
        ),
        Metric("gap", "maximize", "Least surrogate risk of wrong orders, less that of right ones."),
        Metric("excess", sentence="Largest true risk above the least that minimizing can end in.", low=0, jumps=True),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Populations (laws of judgments that are known exactly)"}
    counts: ClassVar[str] = ""
    layout: ClassVar[Layout] = "exact"

    loss: Annotated[Loss, reference(Loss)] = Field(
        default="pairwise-disagreement", validate_default=True, description="The true loss."
    )
    aggregation: AggregationName = Field(
        default="none",
        description="What surrogates see of a population of graphs: each of them (none), the mean graph (mean) or its "
        "difference graph (difference), as after aggregating infinitely many judgments.",
    )

    @model_validator(mode="after")
    def _aggregates_graphs(self) -> Self:
        if self.aggregation != "none" and self.loss.structure != "edges":
            raise ValueError(f"aggregation is of graphs, and loss {self.loss.name!r} is of {self.loss.structure}")
        return self

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Name the populations; there is nothing to load and nothing to draw."""
        chosen = settings(self.loss.structure)
        notes = tuple(f"{setting.name}: {setting.text}." for setting in chosen)
        return Prepared(self, None, "", {"design": tuple(setting.name for setting in chosen)}, notes=notes)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Compute gap and excess of each surrogate on each population."""
        return [self._cell(cell, found.component(Surrogate), task.metrics) for cell, found in task.cells.items()]

    def misfit(self, contender: Component) -> str:
        """Return why a surrogate cannot be evaluated; empty if it can."""
        if isinstance(contender, PairwiseSurrogate | ScoreSurrogate):
            return ""
        return f"surrogate {contender.name!r} is neither of edges nor of scores"

    def _cell(self, cell: str, surrogate: Surrogate, metrics: tuple[str, ...]) -> CellResult:
        found: list[Consistency] = []
        for setting in settings(self.loss.structure):
            one = guarded(partial(self._on, surrogate, setting))
            if isinstance(one, Exception):
                return failed(cell, one)
            found.append(one)
        values = {metric: np.array([getattr(one, metric) for one in found]) for metric in metrics}
        if not all(np.isfinite(array).all() for array in values.values()):
            return CellResult(cell, "diverged", "its risk is not finite on some population")
        return CellResult(cell, "done", losses={(metric, "design"): array for metric, array in values.items()})

    def _on(self, surrogate: Surrogate, setting: Setting) -> Consistency:
        found = consistency_in(surrogate, setting, self.loss, self.aggregation)
        if np.isposinf(found.gap):
            raise SpecError(f"loss {self.loss!s} has the same risk for all orders of {setting.name!r}")
        return found
