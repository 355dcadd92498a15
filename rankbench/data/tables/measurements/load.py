"""A score table as an array: systems, tasks and seeds in the order in which they first appear."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.errors import InputError
from rankbench.kinds.task_scores import TaskScores

__all__ = ["MOST_CELLS", "load_scores"]

MOST_CELLS = 50_000_000
"""Most cells, systems by tasks by seeds: 400 MB."""


def load_scores(table: pl.LazyFrame) -> TaskScores:
    """Return measurements in the schema as an array.

    Raises
    ------
    InputError
        A row is wrong; or systems, tasks and seeds are too many to stand side by side.
    """
    frame = table.collect(engine="streaming")
    tasks, of_task = _numbered(frame["query_id"])
    systems, of_system = _numbered(frame["system"])
    seeds, of_seed = _numbered(frame["seed"]) if "seed" in frame.columns else ([""], np.zeros(frame.height, np.int64))
    shape = len(seeds), len(tasks), len(systems)
    cells = len(seeds) * len(tasks) * len(systems)
    if cells > MOST_CELLS:
        raise InputError(
            f"{len(systems):,} systems on {len(tasks):,} tasks with {len(seeds):,} seeds are {cells:,} cells, "
            f"{MOST_CELLS:,} at most: is each of them the column that was meant?"
        )
    values = np.full(shape, np.nan)
    values[of_seed, of_task, of_system] = frame["score"].to_numpy()
    return TaskScores(systems, tasks, seeds, values)


def _numbered(column: pl.Series) -> tuple[list[str], NDArray[np.int64]]:
    names = column.unique(maintain_order=True)
    return names.to_list(), column.replace_strict(names, pl.int_range(len(names), eager=True)).to_numpy()
