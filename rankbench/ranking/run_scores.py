"""TREC runs become a score table: systems by judged topics."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from rankbench.data.convert import sha256_of
from rankbench.data.readers.trec import Measure, Ties, judged, judgments, read_qrels, read_run
from rankbench.data.readers.trec_tables import QrelsInMemory, in_memory, qrels_in_memory, runs_in_memory
from rankbench.data.tables.checks import checked
from rankbench.data.tables.measurements import load_scores
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import existing, remark, remarks_kept
from rankbench.interfaces.sequential_aggregator import TaskScores
from rankbench.ranking.score_sample import Kept, scores_digest

RunFiles: TypeAlias = Sequence[str | os.PathLike[str]]
"""The paths of TREC runs."""

Runs: TypeAlias = "Mapping[str, Mapping[str, object]]"
"""Runs in memory: see `rankbench.data.readers.trec_tables.runs_in_memory`."""

Missing: TypeAlias = "Kept | Literal['zero']"
"""Ways to treat missing cells: as `Kept`, or they are 0 where runs lack judged topics."""


def judged_runs(
    runs: object, qrels: str | os.PathLike[str] | QrelsInMemory, loss: str, ties: Ties, missing: Missing = "zero"
) -> tuple[str, TaskScores, list[str]]:
    """Return the sha256 of the judgments and the runs, the scores of their systems, and what was left out.

    A system is called as its run says, or as its file where two files say the same.

    Parameters
    ----------
    runs : path, sequence of paths, or runs in memory
    qrels : path, or judgments in memory
    loss : str
        See `rankbench.data.readers.trec.Measure.parsed`.
    ties : {"shared", "trec-eval"}
    missing : {"zero", "tasks", "systems"}
        Whether a topic that a run lacks scores 0, or is missing.

    Raises
    ------
    InputError
        With file and line; two files of the same systems that cannot be told apart; a run and the judgments have no
        topic in common.
    SpecError
        There is no such loss, or it does not fit; `runs` are no paths.
    """
    measure = Measure.parsed(loss)
    with remarks_kept() as remarks:
        path = None if in_memory(qrels) else Path(qrels)  # type: ignore[arg-type]
        table = read_qrels(existing(path)) if path else qrels_in_memory(qrels)
        tables, paths = _read_runs(runs)
        topics = judgments(table, measure, path)
        files: list[Path | None] = [*paths] if paths else [None]
        found = [
            judged(run, topics, measure, ties, file, lacking=missing == "zero")
            for run, file in zip(tables, files, strict=True)
        ]
    remarks.append(measure.description())
    if ties != "shared":
        remarks.append("documents of equal scores stand in trec_eval's order")
    scores = load_scores(checked(pl.concat(found)))
    return sha256_of(path, *paths) if path and paths else scores_digest(scores), scores, list(remarks)


def _read_runs(runs: object) -> tuple[list[pl.DataFrame], list[Path]]:
    """Return runs with a name for each system, and their files; one table of all that is in memory, and no file."""
    given = [runs] if isinstance(runs, str | os.PathLike) else runs
    if not isinstance(given, Sequence) or isinstance(given, str):
        return [runs_in_memory(runs)], []
    if not all(isinstance(run, str | os.PathLike) for run in given) or not given:
        raise SpecError("with qrels give runs: paths of files, {system: {topic: {document: score}}}, or a frame")
    paths = [Path(run) for run in given]
    tables = [read_run(existing(path)) for path in paths]
    tags = [set(table["system"].unique()) for table in tables]
    if sum(map(len, tags)) > len(set().union(*tags)):
        if any(len(named) > 1 for named in tags) or len({path.name for path in paths}) < len(paths):
            raise InputError("two runs have a system of the same name; give each system another one", path=paths[-1])
        stems = [path.stem for path in paths]
        names = stems if len(set(stems)) == len(stems) else [path.name for path in paths]
        tables = [table.with_columns(system=pl.lit(name)) for table, name in zip(tables, names, strict=True)]
        remark("systems are called as their files, as several runs say the same name")
    return tables, paths
