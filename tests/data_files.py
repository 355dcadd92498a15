"""Files that tests read: written from texts, bytes and frames."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl


def written(path: Path, content: str | bytes) -> Path:
    """Write a file, and return its path."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def stored(frame: pl.DataFrame, path: Path) -> Path:
    """Write a frame in the format that the path's ending says, and return the path."""
    if path.suffix == ".json":
        return written(path, json.dumps(frame.to_dicts()))
    writers = {".csv": frame.write_csv, ".parquet": frame.write_parquet}
    writers.get(path.suffix, frame.write_ndjson)(path)
    return path
