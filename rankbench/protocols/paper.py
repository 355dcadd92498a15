"""The protocol `btl` is the experiment of section 6 of [DMJ13]_."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import StructureKind
from rankbench.core.runtime import block_entropy, draw_entropy
from rankbench.data.readers.parquet import design_heldout
from rankbench.data.simulators.btl import draw_comparisons, limit_scores, preference_matrix
from rankbench.data.tables.items import apply, load_queries, load_some, usable
from rankbench.errors import InputError
from rankbench.interfaces.cell import CellResult, ScoredItems, Split
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.method import Block, Method
from rankbench.interfaces.protocol import JUDGMENT, NOBODY, BlockTask, Prepared, Protocol, pack
from rankbench.interfaces.queries import Queries
from rankbench.interfaces.surrogate import Loss
from rankbench.losses.evaluate import Structures
from rankbench.methods.erm import ERM
from rankbench.protocols.judging import COMPARISON, answer, comparison_bytes, fit, judge, label_truth


class BTL(Protocol):
    """Comparisons drawn from labels by the BTL model (26), contenders judged by their losses.

    An observation is a query, uniform, and a pair of its items, uniform, ordered by
    chance: i before j with probability ``1 / (1 + exp(r_j - r_i))``. All n of a repetition
    are prefixes of one draw. Losses compare with the limit scores (27) and the preference probabilities (26), as the
    paper's do, or with the labels and their pairs: on the queries that were compared, and on others that were not.

    Queries whose items all have one label cannot be judged and are left out. Where a data
    set has fewer queries than are wanted, both parts and n shrink in proportion.

    Prefer it to compare methods that learn from features, on queries with grades. The comparisons are simulated.
    """

    name: ClassVar[str] = "btl"
    source: ClassVar[str] = "[DMJ13]_ section 6"
    splits: ClassVar[dict[Split, str]] = {
        "design": "Design queries (with training judgments, as in the paper)",
        "heldout": "Held-out queries (without training judgments)",
    }

    design: int = Field(default=500, ge=1, strict=True, description="Queries that are judged.")
    heldout: int = Field(default=500, ge=0, strict=True, description="Queries that contenders are only evaluated on.")
    transforms: str = Field(default="", description="Feature transforms, applied in order, with + between them.")
    judge: Literal["limit-scores", "labels"] = Field(
        default="limit-scores",
        description="Truth of losses: limit-scores (27) and probabilities (26), as in the paper, or labels.",
    )

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load a data set, leave out unusable queries, split and transform it."""
        dataset = self.required(dataset)
        items = dataset.scan()
        queries = load_queries(items, features=False)
        chosen = usable(queries)
        if len(chosen) < 2:
            raise InputError(
                f"data set {dataset!s} has {len(chosen)} usable queries; "
                "two with at least two different labels are needed"
            )
        notes, reduced = list[str](), list[str]()
        if len(chosen) < len(queries):
            notes.append(
                f"{len(queries) - len(chosen)} of {len(queries)} queries left out: all their labels are equal, "
                "or they have fewer than two items."
            )
        design, heldout = design_heldout([queries.ids[q] for q in chosen], self.design, self.heldout)
        scale = len(design) / self.design
        if (len(design), len(heldout)) != (self.design, self.heldout):
            reduced.append(
                f"{len(design)} design and {len(heldout)} held-out queries instead of {self.design} and "
                f"{self.heldout}; every n is scaled by {scale:.4g}, which keeps the judgments per query."
            )
        notes += reduced
        names = self.transforms.split("+") if self.transforms else []
        if names:
            notes.append(f"Features: {', then '.join(names)}.")
        kept = load_some(items, [queries.ids[q] for q in chosen[np.concatenate([design, heldout])]])
        parts: dict[Split, Queries] = {
            "design": apply(names, kept.take(np.arange(len(design)))),
            "heldout": apply(names, kept.take(np.arange(len(design), len(kept)))),
        }
        return replace(_prepared(self, dataset, parts, scale, tuple(notes)), reduced=tuple(reduced))

    def assumptions(self) -> list[str]:
        """Return sentences on the source of the judgments, which are simulated, and on the losses."""
        compared = (
            "Losses compare scores with the paper's limit scores (27); an item's limit score is its label minus the "
            "mean label of the query's other items. So losses differ from those against labels, and NDCG may exceed 1. "
            "Losses of graphs compare with the preference probabilities (26)."
            if self.judge == "limit-scores"
            else "Losses compare scores with the labels, not with the paper's limit scores (27). "
            "Losses of graphs compare with the pairs of different labels, which share a total weight of 1 per query."
        )
        return [
            f"{NOBODY}: every judgment is simulated, a comparison of two items of a query drawn "
            "from their labels by the Bradley-Terry-Luce model (26).",
            compared,
        ]

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the block's comparisons, fit every contender, judge each by every loss."""
        return self.scored(prepared, task)[0]

    def scored(self, prepared: Prepared, task: BlockTask) -> tuple[list[CellResult], list[ScoredItems]]:
        """Return the results of `execute`, and the scores of all items; see `Protocol.scored`."""
        key = task.key
        queries = {split: _queries(prepared, split) for split in self.splits}
        design = queries["design"]
        entropy = block_entropy(key.seed, prepared.fingerprint, key.n, key.repetition)
        judgments = draw_comparisons(design, key.n, draw_entropy(key.seed, prepared.fingerprint, key.repetition))
        block = Block(design, judgments, key.n, key.repetition, entropy)
        methods = {cell: found.component(Method) for cell, found in task.cells.items()}
        outcomes = fit(block, methods, lambda cell: task.advance(cell, 1.0))
        items = [ScoredItems(split, some, {}) for split, some in queries.items() if len(some)]
        judged = {
            one.split: judge(outcomes, one.queries, task.losses, partial(self._truth, one.queries), one.scores)
            for one in items
        }
        answers = [
            answer(cell, outcomes[cell], {split: rows.get(cell, {}) for split, rows in judged.items()})
            for cell in task.cells
        ]
        return answers, items

    def _truth(self, queries: Queries, structure: StructureKind) -> Structures:
        if self.judge == "labels":
            return label_truth(queries, structure)
        return limit_scores(queries) if structure == "scores" else partial(_preferences, queries)

    def cannot_judge(self, loss: Loss) -> str:
        """Return an error text for a loss that needs labels that are not shown, or ``""``."""
        if loss.grades and self.judge == "limit-scores":
            return f"{loss.name!r} counts relevant items, and limit scores are no grades: write btl:judge=labels"
        return ""

    def draw_bytes(self, prepared: Prepared, task: BlockTask) -> int:
        """Return the bytes of judgments in drawing order and by query, or by query in a fit."""
        return task.key.n * max(JUDGMENT + COMPARISON, comparison_bytes(task))

    def smaller(self, prepared: Prepared, task: BlockTask) -> tuple[Prepared, BlockTask] | None:
        """Return the block on three of its queries."""
        design = _queries(prepared, "design")
        few = design.take(np.arange(min(3, len(design))))
        small = _prepared(self, prepared.dataset, {"design": few, "heldout": few}, 1.0, ())
        cells = {cell: _shortened(contender) for cell, contender in task.cells.items()}
        return small, replace(task.of_size(50 * len(few)), cells=cells)


def _prepared(
    protocol: Protocol, dataset: Dataset | None, parts: Mapping[Split, Queries], scale: float, notes: tuple[str, ...]
) -> Prepared:
    arrays: dict[str, NDArray[Any]] = {}
    for split, part in parts.items():
        arrays |= pack(split, x=part.x, offsets=part.offsets, labels=part.labels)
    fingerprint = dataset.fingerprint() if dataset else ""
    units = {split: tuple(part.ids) for split, part in parts.items()}
    return Prepared(protocol, dataset, fingerprint, units, arrays, scale, notes)


def _queries(prepared: Prepared, split: Split) -> Queries:
    offsets, x, labels = (prepared.arrays[f"{split}.{name}"] for name in ("offsets", "x", "labels"))
    # Kernels take writable arrays; only the features are too large to copy.
    return Queries(list(prepared.units[split]), offsets.copy(), x, labels.copy())


def _preferences(queries: Queries, q: int) -> NDArray[np.float64]:
    return preference_matrix(queries.labels[queries.offsets[q] : queries.offsets[q + 1]])


def _shortened(contender: Contender) -> Contender:
    """Return a contender with few steps, which compiles all that it needs."""
    method = contender.component(Method)
    few = method.model_copy(update={"draws": 50, "curve": 3}) if isinstance(method, ERM) else method
    return Contender.single(few)
