"""Scores that contenders give to items, as TREC runs with their qrels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankbench.core.runtime import settle_runtime
from rankbench.core.spec import parse
from rankbench.core.text import distinct
from rankbench.errors import SpecError, StoreError
from rankbench.interfaces.cell import RANKING, ScoredItems, Split
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import Protocol
from rankbench.plugin import manager
from rankbench.reports.rerun import planned_again, same_machine
from rankbench.reports.same_cells import SameCells, places_of
from rankbench.runner.run_record import suite_record
from rankbench.store.journal import StoredResults
from rankbench.store.records import Member, SuiteRecord


def trec_files(results: StoredResults) -> dict[str, bytes]:
    """Return TREC runs, and qrels of the labels, by file.

    A journal keeps losses and no scores of items. rankbench therefore fits the contenders of the first repetition at
    the largest n again, and compares their losses with the stored ones. A ranking of named items needs no fit: its
    scores are stored.

    Parameters
    ----------
    results : StoredResults

    Returns
    -------
    dict of str to bytes
        ``EXPERIMENT-SPLIT-CONTENDER.run`` and ``EXPERIMENT-SPLIT.qrels``. A document is an item's name, or its place
        in the query, from 0.

    Raises
    ------
    SpecError
        No contender scores items.
    StoreError
        The fits have other losses than the stored ones, or the data are others.
    InputError
        The data are not here.
    """
    record, members = results.record(), _first(results)
    ranked = [m for m in members if record.source(m.experiment).layout == "ranking"]
    files = _rankings(results, ranked)
    if scoring := [m for m in members if m not in ranked and _scores(record.source(m.experiment).protocol)]:
        files |= _fitted(results, scoring)
    if not files:
        raise SpecError(
            "no contender of this suite scores items, so there are no TREC runs; btl, graded and items have scores"
        )
    return files


def _scores(protocol: str) -> bool:
    """Return whether a protocol has the scores of items."""
    return manager.component_class(Protocol, parse(protocol).name).scored is not Protocol.scored


def _first(results: StoredResults) -> list[Member]:
    """Return the finished cells of the first repetition at each experiment's largest n."""
    cells = results.cells()
    done = [m for m in results.members() if m.cell in cells and cells[m.cell].status == "done"]
    chosen: dict[str, tuple[int, int]] = {}
    for m in sorted(done, key=lambda m: (-m.n, m.repetition)):
        chosen.setdefault(m.experiment, (m.n, m.repetition))
    return [m for m in done if (m.n, m.repetition) == chosen[m.experiment]]


def _rankings(results: StoredResults, members: Iterable[Member]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for m in members:
        for split, items in results.record().source(m.experiment).units.items():
            if (scores := results.losses(m.cell, RANKING[0], split)) is not None:
                files[_free(files, m, split)] = _run([m.experiment], [items], [scores], m.label)
    return files


def _fitted(results: StoredResults, members: Sequence[Member]) -> dict[str, bytes]:
    settle_runtime()
    planned = planned_again(results.record())
    if isinstance(planned, list):
        raise StoreError("; ".join(f"{one.where}: {one.what}" for one in planned))
    shown = places_of(planned.plan.members, results)
    labels = {cell: [m for m in members if m.cell == place.cell] for cell, place in shown.items()}
    now = SuiteRecord.model_validate(suite_record(planned))
    same = SameCells(results, now, exact=same_machine(results))
    files: dict[str, bytes] = {}
    for task in planned.plan.tasks:
        if not (cells := {cell: contender for cell, contender in task.cells.items() if labels.get(cell)}):
            continue
        source = planned.sources[task.source]
        answers, items = source.protocol.scored(source, replace(task, cells=cells))
        for answer in answers:
            same.add(shown[answer.cell], answer)
        files |= _of_block(items, labels, source.dataset)
    if same.differences:
        first = same.differences[0]
        raise StoreError(
            f"{len(same.differences)} numbers of the fits are not the stored ones, first {first.where}: {first.what}; "
            "rankbench verify --rerun compares all of them"
        )
    return files


def _of_block(
    items: Sequence[ScoredItems], labels: Mapping[str, Sequence[Member]], dataset: Dataset | None
) -> dict[str, bytes]:
    """Return the runs and qrels of a block; a split may come in several parts, as folds."""
    names, files = _names(dataset), dict[str, bytes]()
    for split in dict.fromkeys(one.split for one in items):
        parts = [_Topics(one, names) for one in items if one.split == split]
        for cell in dict.fromkeys(cell for part in parts for cell in part.items.scores):
            for m in labels[cell]:
                files[_free(files, m, split)] = b"".join(part.run(cell, m.label) for part in parts)
                files[f"{_file(m.experiment, split)}.qrels"] = b"".join(part.qrels for part in parts)
    return files


class _Topics:
    """Topics of TREC files: queries with the names of their items."""

    def __init__(self, items: ScoredItems, names: Mapping[str, list[str]]) -> None:
        self.items, queries = items, items.queries
        self.rows = [slice(*ends) for ends in zip(queries.offsets[:-1], queries.offsets[1:], strict=True)]
        places = ([str(place) for place in range(part.stop - part.start)] for part in self.rows)
        self.docs = [names.get(query) or own for query, own in zip(queries.ids, places, strict=True)]

    def run(self, cell: str, label: str) -> bytes:
        """Return the run of a cell."""
        return _run(self.items.queries.ids, self.docs, [self.items.scores[cell][part] for part in self.rows], label)

    @cached_property
    def qrels(self) -> bytes:
        """The labels of all items."""
        topics, lines = _words(self.items.queries.ids), list[str]()
        for query, docs, part in zip(self.items.queries.ids, self.docs, self.rows, strict=True):
            words = _words(docs)
            grades = self.items.queries.labels[part].tolist()
            lines += [f"{topics[query]} 0 {words[doc]} {grade:g}\n" for doc, grade in zip(docs, grades, strict=True)]
        return "".join(lines).encode()


def _names(dataset: Dataset | None) -> dict[str, list[str]]:
    """Return the names of the items of each query, where they have names."""
    if dataset is None or not dataset.named:
        return {}
    table = dataset.scan().select("query_id", "name").collect()
    return {
        str(query): part["name"].to_list() for (query,), part in table.partition_by("query_id", as_dict=True).items()
    }


def _file(*parts: str) -> str:
    return "-".join(re.sub(r"[^\w.=+]+", "-", part).strip("-.") for part in parts)


def _free(files: Mapping[str, bytes], m: Member, split: Split) -> str:
    """Return a file's name that no other contender has."""
    name = _file(m.experiment, split, m.label)
    while f"{name}.run" in files:
        name += "_"
    return f"{name}.run"


def _words(names: Iterable[str]) -> dict[str, str]:
    """Return names without spaces, which separate the words of a line."""
    return distinct(names, lambda name: re.sub(r"\s", "_", name))


def _run(
    queries: Sequence[str], docs: Sequence[Sequence[str]], scores: Sequence[NDArray[np.float64]], label: str
) -> bytes:
    topics, tag = _words(queries), next(iter(_words([label]).values()))
    lines = []
    for query, of_query, values in zip(queries, docs, scores, strict=True):
        words = _words(of_query)
        for rank, place in enumerate(np.argsort(-values, kind="stable"), 1):
            lines.append(f"{topics[query]} Q0 {words[of_query[place]]} {rank} {float(values[place])!r} {tag}\n")
    return "".join(lines).encode()
