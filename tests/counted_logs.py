"""Logs, counted from wherever they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from rankbench.data.readers.choose import choose_reader
from rankbench.errors import InputError
from rankbench.logs.count_log import count_frame, count_parts_on_cluster
from rankbench.logs.parquet_log import is_parquet, parquet_log


def count_log(log: pl.DataFrame | pl.LazyFrame | Path, *, judge: str | None = None, address: str = "") -> Any:
    """Return the sums of a log, by judge if a column is named, counted here or on a cluster."""
    if not isinstance(log, Path):
        return count_frame(log.lazy(), judge=judge).data
    if not is_parquet(log):
        return count_frame(choose_reader(log).scan(log), judge=judge).data
    found = parquet_log(log)
    try:
        if address:
            return count_parts_on_cluster(found, address, judge=judge).data
        return count_frame(found.frame(), judge=judge).data
    except InputError as error:
        raise found.located(error) from error
