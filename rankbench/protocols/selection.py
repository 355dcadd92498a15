"""The protocol `selection` judges click aggregators on simulated users."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Component, StructureKind
from rankbench.core.runtime import draw_entropy
from rankbench.core.text import returned_numbers
from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator, LabelAggregator
from rankbench.interfaces.aggregator_calls import label_structure
from rankbench.interfaces.cell import CellResult, Split
from rankbench.interfaces.click_aggregator import ClickPopulation, SelectionAggregator
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import BlockTask, Contender, Prepared, Protocol, pack
from rankbench.interfaces.queries import Selections
from rankbench.losses.evaluate import Structures
from rankbench.plugin.third_party import disposable_judgments
from rankbench.protocols.judging import each_cell, losses_of, usable_scores

SOME = 1000
"""Sessions that tell how much memory more of them take."""


class Selection(Protocol):
    """Click sessions drawn from a known population, aggregators judged by ranking losses.

    All n sessions of a repetition are prefixes of one draw. A contender gets the sessions, its
    scores of the queries' items are judged against their true grades, by loss components:
    those of scores against the grades, those of edges against the graph with
    the difference of the grades on the edge from each item to each worse one. An
    aggregator that needs the truth gets the grades: the best that can be done.

    Prefer it to compare aggregators of clicks where the truth is known; `click-prediction` is for real logs.
    """

    name: ClassVar[str] = "selection"
    source: ClassVar[str] = "[DMJ13]_ section 5.2"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[str | None] = "selections"
    splits: ClassVar[dict[Split, str]] = {"design": "Queries (judged against their true grades)"}
    counts: ClassVar[str] = "sessions"
    few: ClassVar[int] = 50

    def refusal(self, dataset: Dataset) -> str:
        """Refuse real logs: nobody knows the truth about their items."""
        if isinstance(dataset, ClickPopulation):
            return ""
        return super().refusal(dataset) or (
            f"protocol {self.name!r} judges by the truth, which data set {dataset!s} does not have"
        )

    def misfit(self, contender: Component) -> str:
        """Refuse aggregators of other judgments, but for those that are told the truth."""
        if isinstance(contender, SelectionAggregator | LabelAggregator):
            return ""
        return f"{contender.kind} {contender.name!r} does not aggregate selections"

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Ask a population for its queries and their grades."""
        if not isinstance(dataset, ClickPopulation):
            raise SpecError(f"protocol {self.name!r} needs a population of selections whose truth is known")
        truth = dataset.truth()
        arrays = pack("truth", offsets=truth.offsets, labels=truth.labels)
        return Prepared(self, dataset, dataset.fingerprint(), {"design": tuple(truth.ids)}, arrays)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the block's sessions, aggregate them, judge each contender's scores by every loss."""
        key = task.key
        offsets, labels = prepared.arrays["truth.offsets"], prepared.arrays["truth.labels"]
        dataset = prepared.dataset
        if not isinstance(dataset, ClickPopulation):
            raise SpecError(f"protocol {self.name!r} was prepared without a population")
        log = dataset.draw(key.n, draw_entropy(key.seed, prepared.fingerprint, key.repetition))
        truth = partial(_truth, offsets, labels)

        def judged(cell: str, contender: Contender) -> CellResult:
            alpha = _scores(contender.component(Aggregator), log, offsets, labels)
            losses: dict[tuple[str, Split], NDArray[np.float64]] = {}
            for metric, values in losses_of(task.losses, alpha[None], truth, offsets).items():
                if isinstance(values, Exception):
                    raise values
                losses[metric, "design"] = values[0]
            return CellResult(cell, "done", losses=losses)

        return each_cell(task, judged)

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return what sessions take, as long as some that are drawn, and the copy that a contender gets."""
        dataset = prepared.dataset
        if not isinstance(dataset, ClickPopulation) or task.key.n <= SOME:
            return 0
        some = dataset.draw(SOME, draw_entropy(task.key.seed, prepared.fingerprint, task.key.repetition))
        return 2 * task.key.n * sum(part.nbytes for part in (some.starts, some.items, some.clicked)) // SOME


def _scores(
    aggregator: Aggregator, log: Selections, offsets: NDArray[np.int64], labels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return scores of all items: from all queries' selections where the aggregator takes them."""
    if isinstance(aggregator, SelectionAggregator):
        scores = returned_numbers(aggregator.fit(disposable_judgments(log), offsets.copy()).scores, "scores")
        return usable_scores(scores, int(offsets[-1]))
    of_queries = np.split(labels, offsets[1:-1])
    return np.concatenate([usable_scores(label_structure(aggregator, own.copy()), len(own)) for own in of_queries])


def _truth(offsets: NDArray[np.int64], labels: NDArray[np.float64], structure: StructureKind) -> Structures:
    if structure == "scores":
        return labels.copy()

    def graph(q: int) -> NDArray[np.float64]:
        grades = labels[offsets[q] : offsets[q + 1]]
        return np.maximum(grades[:, None] - grades[None, :], 0.0)

    return graph
