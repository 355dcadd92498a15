"""Judgments and runs in memory, as users of ir_measures, pytrec_eval and ranx hold them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeAlias

import polars as pl

from rankbench.data.readers.frame_source import frame_in_memory
from rankbench.data.readers.trec import as_qrels, as_run
from rankbench.errors import InputError, SpecError

QrelsInMemory: TypeAlias = "Mapping[str, Mapping[str, float]] | pl.DataFrame | pl.LazyFrame"
"""Grades by topic and document, or a frame with the columns ``query_id, doc_id, relevance``."""

ALONE = "run"
"""Name of a run in memory that has none."""


def qrels_in_memory(qrels: object) -> pl.DataFrame:
    """Return judgments as `rankbench.data.readers.trec.read_qrels` does.

    Parameters
    ----------
    qrels : QrelsInMemory

    Raises
    ------
    InputError
        A column is missing; a grade is no finite number; a document is judged twice. With the row.
    SpecError
        It is neither dicts nor a frame.
    """
    return as_qrels(_rows(qrels, "qrels", "grade", "relevance"))


def runs_in_memory(runs: object) -> pl.DataFrame:
    """Return runs as `rankbench.data.readers.trec.read_run` does.

    Parameters
    ----------
    runs : mapping or frame
        Scores by topic and document, ``{topic: {document: score}}``, or a frame with the columns ``query_id, doc_id,
        score`` and perhaps ``system``; or several of them by the name of the system.

    Raises
    ------
    InputError, SpecError
        As of `qrels_in_memory`.
    """
    if not isinstance(runs, Mapping) or not _by_system(runs):
        return as_run(_rows(runs, "a run", "score", "score"))
    tables = []
    for name, run in runs.items():
        table = as_run(_rows(run, f"run {name!r}", "score", "score"))
        tables.append(table.with_columns(system=pl.lit(str(name))))
    return pl.concat(tables, how="diagonal")


def in_memory(found: object) -> bool:
    """Return whether judgments are dicts or a frame, not the path of a file."""
    return not isinstance(found, str | os.PathLike)


def _by_system(runs: Mapping[str, object]) -> bool:
    """Return whether a mapping has a run for each name: frames, or a level more than one of topics."""
    if any(hasattr(type(one), name) for one in runs.values() for name in ("columns", "column_names")):
        return True
    return any(isinstance(docs, Mapping) for one in runs.values() if isinstance(one, Mapping) for docs in one.values())


def _rows(found: object, what: str, number: str, column: str) -> pl.DataFrame:
    """Return ``line, topic, doc, system`` and a number of dicts or of a frame; lines count the rows from 1."""
    if isinstance(found, Mapping) and all(isinstance(docs, Mapping) for docs in found.values()):
        rows = [(str(topic), str(doc), _float(value)) for topic, docs in found.items() for doc, value in docs.items()]
        names = {"topic": pl.String, "doc": pl.String, number: pl.Float64}
        table = pl.DataFrame(rows, names, orient="row").with_columns(system=pl.lit(ALONE))
    else:
        frame = frame_in_memory(found)
        if frame is None:
            raise SpecError(
                f"{what}: give a path, {{topic: {{document: number}}}} or a frame, not {type(found).__name__}"
            )
        held = frame.collect()
        if lacking := [name for name in ("query_id", "doc_id", column) if name not in held.columns]:
            raise InputError(
                f"{what} has no column {lacking[0]!r}: a frame has the columns query_id, doc_id and {column}, as in "
                f"ir_measures; it has {', '.join(held.columns)}"
            )
        system = pl.col("system").cast(pl.String) if number == "score" and "system" in held.columns else pl.lit(ALONE)
        names_of = {"topic": pl.col("query_id").cast(pl.String), "doc": pl.col("doc_id").cast(pl.String)}
        table = held.select(**names_of, system=system, **{number: pl.col(column)})
    table = table.with_columns(line=pl.int_range(1, pl.len() + 1))
    if not table.height:
        raise InputError(f"{what} has no rows")
    for name in ("topic", "doc", "system"):
        if table[name].null_count():
            raise InputError(f"{what} has no {name} in this row", row=int(table[name].is_null().arg_max() or 0) + 1)
    return table


def _float(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
