"""Files that tests read, written from texts, bytes and frames; and errors that name a place in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankbench.errors import InputError


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


def letor_file(path: Path, queries: int = 60, d: int = 3, *, seed: int = 0) -> Path:
    """Write queries of 2 to 8 items with grades from 0 to 4 as a file of LETOR, and return its path."""
    random = np.random.default_rng(seed)
    lines = []
    for q in range(queries):
        for _ in range(int(random.integers(2, 9))):
            x = " ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(random.normal(size=d)))
            lines.append(f"{random.integers(5)} qid:{q} {x}\n")
    return written(path, "".join(lines))


@contextmanager
def rejected(match: str | None = None, *, said: str = "", **place: object) -> Iterator[None]:
    """Assert that an `InputError` is raised whose words match or contain others, at this path, row or column."""
    with pytest.raises(InputError, match=match) as caught:
        yield
    assert said in str(caught.value), caught.value
    assert {name: getattr(caught.value, name) for name in place} == place, repr(caught.value)
