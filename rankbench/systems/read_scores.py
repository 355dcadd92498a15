"""Score tables are read, and TREC runs become one: systems by judged topics."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from rankbench.core.text import short_repr
from rankbench.data.convert import sha256_of
from rankbench.data.readers.frame_source import readable
from rankbench.data.readers.run_measures import TREC_LOSS, Measure, Ties, judged, judgments
from rankbench.data.readers.trec import read_qrels, read_run
from rankbench.data.readers.trec_tables import QrelsInMemory, in_memory, qrels_in_memory, runs_in_memory
from rankbench.data.tables.checks import checked
from rankbench.data.tables.measurements import load_scores
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.sequential_aggregator import TaskScores
from rankbench.logs.open import Log, raw_log
from rankbench.logs.opened import OpenedLog, RawLog
from rankbench.logs.question import Filter
from rankbench.systems.question import Missing, SystemsQuestion
from rankbench.systems.score_sample import check_left_out, scores_digest, without_named

RunFiles: TypeAlias = Sequence[str | os.PathLike[str]]
"""The paths of TREC runs."""

Runs: TypeAlias = "Mapping[str, Mapping[str, object]]"
"""Runs in memory: see `rankbench.data.readers.trec_tables.runs_in_memory`."""


def judged_runs(
    runs: object, qrels: str | os.PathLike[str] | QrelsInMemory, loss: str, ties: Ties, missing: Missing = "zero"
) -> tuple[str, TaskScores, list[str]]:
    """Return the sha256 of judgments and runs, the scores of their systems, and notes on data left out.

    A system is called as its run says, or as its file where two files say the same.

    Parameters
    ----------
    runs : path, sequence of paths, or runs in memory
    qrels : path, or judgments in memory
    loss : str
        See `rankbench.data.readers.run_measures.Measure.parsed`.
    ties : {"shared", "trec-eval"}
    missing : {"zero", "tasks", "systems"}
        Whether a topic that a run lacks scores 0, or is missing.

    Raises
    ------
    InputError
        With file and line; two files of the same systems that cannot be told apart; a run and the judgments have no
        topic in common; all runs and the judgments have no document in common.
    SpecError
        There is no such loss, or it does not fit; `runs` are no paths.
    """
    measure = Measure.parsed(loss)
    notes = list[str]()
    path = None if in_memory(qrels) else Path(qrels)  # type: ignore[arg-type]
    table = read_qrels(existing(path)) if path else qrels_in_memory(qrels)
    tables, paths = _read_runs(runs, notes)
    lacking = missing == "zero"
    topics = judgments(table, measure, notes, path, lacking=lacking)
    files: list[Path | None] = [*paths] if paths else [None]
    found = [
        judged(run, topics, measure, ties, notes, file, lacking=lacking)
        for run, file in zip(tables, files, strict=True)
    ]
    documents = pl.concat([run["doc"] for run in tables])
    if not documents.is_in(table["doc"].implode()).any():
        raise InputError(
            f"runs and judgments have no document in common: runs name documents as {short_repr(documents[0])}, the "
            f"judgments as {short_repr(table['doc'][0])}",
            path=path,
        )
    notes.append(measure.description())
    if ties != "shared":
        notes.append("documents of equal scores stand in trec_eval's order")
    scores = load_scores(checked(pl.concat(found)))
    digest = sha256_of(path, *paths) if path and paths else scores_digest(scores)
    return digest, scores, list(dict.fromkeys(notes))


def _read_runs(runs: object, notes: list[str]) -> tuple[list[pl.DataFrame], list[Path]]:
    """Return runs with a name for each system, and their files; of a table in memory, no files."""
    given = [runs] if isinstance(runs, str | os.PathLike) else runs
    if not isinstance(given, Sequence) or isinstance(given, str):
        return [runs_in_memory(runs)], []
    if not all(isinstance(run, str | os.PathLike) for run in given) or not given:
        raise SpecError("with qrels give runs: paths of files, {system: {topic: {document: score}}}, or a frame")
    paths = [Path(run) for run in given]
    tables = [read_run(existing(path), notes) for path in paths]
    tags = [set(table["system"].unique()) for table in tables]
    if sum(map(len, tags)) > len(set().union(*tags)):
        if any(len(named) > 1 for named in tags) or len({path.name for path in paths}) < len(paths):
            raise InputError("two runs have a system of the same name; give each system another one", path=paths[-1])
        stems = [path.stem for path in paths]
        names = stems if len(set(stems)) == len(stems) else [path.name for path in paths]
        tables = [table.with_columns(system=pl.lit(name)) for table, name in zip(tables, names, strict=True)]
        notes.append("systems are called as their files, as several runs say the same name")
    return tables, paths


@dataclass(frozen=True, eq=False)
class ScoresRead:
    """Scores of systems on tasks, as a table or judged runs have them.

    Attributes
    ----------
    table : TaskScores
        Without the tasks and systems that are left out.
    path : Path, optional
        A table's file.
    sha256, loss : str
        Digest of the files; the measure of runs, empty for a table.
    missing : {"tasks", "systems", "zero"}
    stated : mapping of str to object
        The reading of a table, as plain values.
    notes : list of str
        Notes on reading, and on what `without` leaves out.
    """

    table: TaskScores
    path: Path | None
    sha256: str
    loss: str
    missing: Missing
    notes: list[str]
    stated: Mapping[str, Any] = field(default_factory=dict)


def scores_read(scores: Log | RunFiles | Runs, question: SystemsQuestion) -> ScoresRead:
    """Read the scores that a question is about; errors as in `rank_scores`."""
    missing = question.missing or ("zero" if question.judged else "tasks")
    if question.judged:
        loss = question.loss or TREC_LOSS
        digest, table, said = judged_runs(scores, question.qrels, loss, question.ties, missing)
        table, left = without_named(table, question.without)
        return ScoresRead(table, None, digest, loss, missing, [*said, *left])
    raw = raw_log(scores, question.reader)  # type: ignore[arg-type]  # refuses others
    source, table, left = read_scores(raw, question.told, question.without, question.where)
    digest, said = raw.sha256() or scores_digest(table), [*source.notes, *left]
    return ScoresRead(table, raw.path, digest, "", missing, said, dict(source.stated))


def read_scores(
    raw: RawLog, columns: str, without: Sequence[str] = (), where: str = ""
) -> tuple[OpenedLog, TaskScores, list[str]]:
    """Return a table and its scores, without reading columns to leave out, and notes on other data left out.

    Raises
    ------
    InputError
        It holds no scores of systems on tasks, or cannot be read.
    SpecError
        A name in `without` is no task and no system, or both.
    """
    asked = Reading.parsed(columns).adding(Reading(columns={"ignore": tuple(without)})) if without else None
    source = raw.opened(asked.text() if asked else columns, Filter(where))
    if "measurements" not in source.table.judgments:
        raise InputError(
            f"the table holds {source.table}, not scores of systems on tasks; "
            "rankbench aggregate ranks votes, ballots and clicks",
            path=raw.path,
        )
    with readable(raw.path):
        table = load_scores(source.frame)
    ignored = source.reading.all("ignore") if source.reading else ()
    check_left_out(table, without, ignored)
    table, left = without_named(table, [name for name in without if name not in ignored])
    return source, table, left
