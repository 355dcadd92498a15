"""TREC runs with the qrels that judge them, as one score table: systems by topics."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import polars as pl

from rankbench.data.convert import sha256_of
from rankbench.data.readers.trec import TrecReader
from rankbench.data.tables.measurements.load import load_scores
from rankbench.data.tables.remarks import remarks_kept
from rankbench.errors import InputError, SpecError
from rankbench.kinds.task_scores import TaskScores

__all__ = ["RunFiles", "judged_runs"]

RunFiles: TypeAlias = Sequence[str | os.PathLike[str]]
"""The paths of TREC runs."""


def judged_runs(runs: object, qrels: str | os.PathLike[str], loss: str) -> tuple[str, TaskScores, list[str]]:
    """Return the sha256 of the judgments and the runs, the scores of their systems, and what was left out.

    A system is called as its run says, or as its file where two files say the same.

    Parameters
    ----------
    runs : path or sequence of paths
    qrels : path
    loss : str
        In the contender grammar; see `rankbench.data.readers.trec.TrecReader`.

    Raises
    ------
    InputError
        With file and line; two files of the same systems that cannot be told apart.
    SpecError
        There is no such loss, or it does not fit; `runs` are no paths.
    """
    given = [runs] if isinstance(runs, str | os.PathLike) else runs
    if not isinstance(given, Sequence) or not all(isinstance(run, str | os.PathLike) for run in given) or not given:
        raise SpecError("with qrels give runs: the path of a file, or a list of paths")
    paths = [Path(run) for run in given]
    reader = TrecReader(qrels=str(qrels), loss=loss)
    with remarks_kept() as remarks:
        tables = [reader.scan(path).collect() for path in paths]
    tags = [set(table["system"].unique()) for table in tables]
    if sum(map(len, tags)) > len(set().union(*tags)):
        if any(len(named) > 1 for named in tags) or len({path.name for path in paths}) < len(paths):
            raise InputError("two runs have a system of the same name; give each system another one", path=paths[-1])
        stems = [path.stem for path in paths]
        names = stems if len(set(stems)) == len(stems) else [path.name for path in paths]
        tables = [table.with_columns(system=pl.lit(name)) for table, name in zip(tables, names, strict=True)]
        remarks.append("systems are called as their files, as several runs say the same name")
    remarks.append(f"scores are 1 - {loss} of each topic")
    return sha256_of(Path(qrels), *paths), load_scores(pl.concat(tables).lazy()), list(remarks)
