"""The protocol `graded` judges methods that learn from graded labels, by folds for training, validation and test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.runtime import block_entropy
from rankbench.core.text import count_text
from rankbench.data.readers.parquet import design_heldout
from rankbench.data.tables.items import apply, load_queries, load_some, usable
from rankbench.errors import InputError
from rankbench.interfaces.cell import CellResult, ScoredItems, Split
from rankbench.interfaces.contender import sees_truth
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.interfaces.protocol import BlockPart, BlockTask, Prepared, Protocol, pack
from rankbench.interfaces.queries import Queries
from rankbench.interfaces.surrogate import Loss
from rankbench.methods.erm import ERM
from rankbench.protocols.judging import answer, fit, judge, label_truth

PARTS = 5
"""Parts of a data set: a fold trains on three of them, validates on the next one and tests on the last one."""

SHIPPED = ("train", "vali", "test")
"""Beginnings of the query names of a data set that ships its first fold."""

_TEST: Split = "heldout"

_Outcomes = dict[str, "Fitted | Exception"]


class Graded(Protocol):
    """Learn from labels of some queries, stop and choose on others, be judged by labels of yet others.

    The folds are LETOR's: queries are in five parts, and fold f of five learns from the parts f, f + 1 and f + 2,
    validates on f + 3 and tests on f + 4, counted in a circle. Where the names of queries begin with train, vali and
    test, as those of `mq2008` and `mslr-web10k`, the first fold is the shipped one: its training queries, in their
    order, are three parts of equal size. Elsewhere a hash of their names deals queries to parts.

    Every contender gets the labels of the training queries (``block.design.labels``) and, for early stopping, those of
    the validation queries (``block.validation``); there are no comparisons. Of a grid, the point with the best mean of
    the first loss on the validation queries is taken, in each fold. Test labels are shown to nobody. Each query is
    judged once, in the fold that tests it. Repetitions differ in the seeds of contenders alone.

    Queries whose items all have one label cannot be judged and are left out.

    Prefer it to compare learners on queries with grades, as published results on LETOR and MSLR do.
    """

    name: ClassVar[str] = "graded"
    source: ClassVar[str] = "[QL13]_ section 3"
    splits: ClassVar[dict[Split, str]] = {_TEST: "Test queries (each in the fold that holds it out)"}
    counts: ClassVar[str] = ""
    tunes: ClassVar[bool] = True
    teaches_labels: ClassVar[bool] = True

    folds: int = Field(default=PARTS, ge=1, le=PARTS, strict=True, description="Folds, from the first one on.")
    transforms: str = Field(default="", description="Feature transforms, applied in order, with + between them.")

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load a data set, deal its queries to parts, leave out queries without a judgment, transform features."""
        dataset = self.required(dataset)
        items = dataset.scan()
        queries = load_queries(items, features=False)
        parts, note = _parts(queries.ids)
        chosen = usable(queries)
        if missing := sorted({*range(PARTS)} - {*parts[chosen].tolist()}):
            raise InputError(
                f"part {missing[0] + 1} of {PARTS} of data set {dataset!s} has no query with two different labels"
            )
        notes, title = [note], self.splits[_TEST]
        if left := len(queries) - len(chosen):
            title = title.replace(
                ")", f"; {left} of {count_text(len(queries), 'query')} are left out: one item, or equal labels)"
            )
        names = self.transforms.split("+") if self.transforms else []
        if names:
            notes.append(f"Features: {', then '.join(names)}.")
        kept, parts = apply(names, load_some(items, [queries.ids[q] for q in chosen])), parts[chosen]
        arrays = pack("items", x=kept.x, offsets=kept.offsets, labels=kept.labels)
        arrays |= pack("queries", parts=parts, names=np.array(kept.ids, np.str_))
        tested = tuple(kept.ids[q] for q in np.concatenate([_of_fold(parts, fold)[2] for fold in range(self.folds)]))
        units = {_TEST: tested}
        return Prepared(self, dataset, dataset.fingerprint(), units, arrays, 1.0, tuple(notes), {_TEST: title})

    def assumptions(self) -> list[str]:
        """Return sentences on the labels that contenders see, on losses and on intervals."""
        return [
            "Contenders learn from the labels of training queries, and choose parameters and the moment to stop on "
            "validation queries.",
            "Losses compare scores with the labels of test queries, which no contender sees.",
            "Repetitions differ in the seeds of contenders alone.",
            "Intervals are over test queries. Queries of one fold share a fitted model: intervals do not cover other "
            "training data.",
        ]

    def misfit(self, contender: Component) -> str:
        """Return an error text for a method that cannot learn from labels, or ``""``."""
        if isinstance(contender, Method) and contender.needs_truth:
            return (
                "it declares needs_truth, so it reads the labels of the queries that it ranks, and protocol 'graded' "
                "hides them. Leave needs_truth out: every method gets the labels of the training queries here"
            )
        if isinstance(contender, ERM) and not sees_truth(contender):
            return "it learns from comparisons, and there are none: write aggregator=labels, or label-pairs for pairs"
        return ""

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Fit every contender in every fold, choose on validation queries, judge on test queries."""
        return self.scored(prepared, task)[0]

    def part(self, prepared: Prepared, task: BlockTask, share: float) -> BlockPart:
        """Return the block with fewer folds."""
        few = self.model_copy(update={"folds": max(1, round(self.folds * share))})
        tested = int((prepared.arrays["queries.parts"][:, None] == (np.arange(few.folds) + PARTS - 1) % PARTS).sum())
        units = {_TEST: prepared.units[_TEST][:tested]}
        return BlockPart(replace(prepared, protocol=few, units=units), task, few.folds / self.folds)

    def scored(self, prepared: Prepared, task: BlockTask) -> tuple[list[CellResult], list[ScoredItems]]:
        """Return the results of `execute`, and the scores of the test queries of each fold; see `Protocol.scored`."""
        key, whole = task.key, _queries(prepared)
        parts = prepared.arrays["queries.parts"]
        entropy = block_entropy(key.seed, prepared.fingerprint, key.n, key.repetition)
        found: dict[str, list[CellResult]] = {cell: [] for cell in task.cells}
        items = list[ScoredItems]()
        for fold in range(self.folds):
            train, validation, test = (whole.take(rows) for rows in _of_fold(parts, fold))
            block = replace(Block.from_labels(train, key.repetition, (*entropy, fold)), validation=validation)
            items.append(ScoredItems(_TEST, test, {}))
            for cell, result in _judged(block, items[-1], task, self.folds).items():
                found[cell].append(result)
        return [_together(cell, results) for cell, results in found.items()], items


def _parts(ids: list[str]) -> tuple[NDArray[np.int64], str]:
    """Return the part of each query, from 0, and a note on the rule."""
    of_file = [next((name for name in SHIPPED if one.startswith(name)), "") for one in ids]
    parts = np.empty(len(ids), np.int64)
    if {*of_file} == {*SHIPPED}:
        rows = [np.flatnonzero(np.array(of_file) == name) for name in SHIPPED]
        groups = [*np.array_split(rows[0], PARTS - 2), *rows[1:]]
        note = "Folds: the shipped one (train, vali, test) first, then its five parts in turn, as LETOR rotates them."
    else:
        order = design_heldout(ids, len(ids), 0)[0]
        groups = np.array_split(order, PARTS)
        note = (
            "Folds: a hash of their names deals queries to five parts, because the data do not ship training, "
            "validation and test queries."
        )
    for part, members in enumerate(groups):
        parts[members] = part
    return parts, note


def _of_fold(parts: NDArray[np.int64], fold: int) -> list[NDArray[np.int64]]:
    """Return the training, validation and test queries of a fold."""
    place = (parts - fold) % PARTS
    return [np.flatnonzero(which) for which in (place < PARTS - 2, place == PARTS - 2, place == PARTS - 1)]


def _queries(prepared: Prepared) -> Queries:
    offsets, x, labels = (prepared.arrays[f"items.{name}"] for name in ("offsets", "x", "labels"))
    return Queries(prepared.arrays["queries.names"].tolist(), offsets.copy(), x, labels.copy())


def _judged(block: Block, test: ScoredItems, task: BlockTask, folds: int) -> dict[str, CellResult]:
    """Return the contenders' results of a fold; a grid uses its best point on the validation queries."""
    grids = {cell: contender.grid(Method) for cell, contender in task.cells.items()}
    points = {f"{cell} {at}": method for cell, grid in grids.items() for at, method in enumerate(grid)}

    def fitted(name: str) -> None:
        cell = name.rpartition(" ")[0]
        task.advance(cell, 1 / (folds * len(grids[cell])))

    # `erm` weighs queries by their comparisons.
    composed = {name: method for name, method in points.items() if sees_truth(method)}
    others = {name: method for name, method in points.items() if name not in composed}
    outcomes = fit(block, composed, fitted) | fit(block.without_comparisons(), others, fitted, taught=True)
    validated = _means(outcomes, block.validation, task.losses[0]) if block.validation else {}
    chosen: dict[str, str] = {}
    for cell, grid in grids.items():
        names = [f"{cell} {at}" for at in range(len(grid))]
        chosen[cell] = min(names, key=lambda name: validated.get(name, np.inf))
    finalists: _Outcomes = {cell: outcomes[name] for cell, name in chosen.items()}
    rows = judge(finalists, test.queries.unlabelled(), task.losses, partial(label_truth, test.queries), test.scores)
    results = {}
    for cell, outcome in finalists.items():
        results[cell] = answer(cell, outcome, {_TEST: rows.get(cell, {})})
        if len(grids[cell]) > 1 and isinstance(outcome, Fitted):
            results[cell].info["choice"] = float(chosen[cell].rpartition(" ")[2])
    return results


def _means(outcomes: _Outcomes, queries: Queries, loss: Loss) -> Mapping[str, float]:
    """Return the mean loss of each outcome, less is better; an outcome without losses becomes an error."""
    rows = judge(outcomes, queries.unlabelled(), [loss], partial(label_truth, queries))
    sign = 1.0 if loss.direction == "minimize" else -1.0
    return {name: sign * float(values[str(loss)].mean()) for name, values in rows.items() if values}


def _together(cell: str, folds: list[CellResult]) -> CellResult:
    """Return the results of all folds as one: the worst optimality, means of facts, losses concatenated.

    A fact that a fold lacks, such as one that was no finite number, has no mean.
    """
    for one in folds:
        if one.status != "done":
            return one
    shared = [name for name in folds[0].info if name != "choice" and all(name in one.info for one in folds)]
    facts = {name: float(np.mean([one.info[name] for one in folds])) for name in shared}
    facts |= {f"choice-{at}": one.info["choice"] for at, one in enumerate(folds, 1) if "choice" in one.info}
    losses = {place: np.concatenate([one.losses[place] for one in folds]) for place in folds[0].losses}
    return replace(folds[0], optimality=max(one.optimality for one in folds), info=facts, losses=losses)
