"""A bad row at the end of many: the error has its file and row, and nothing half-written is left.

Of a million in the full form, and of what readers and Polars take in several parts in the quick one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import is_full, part_of
from click.testing import CliRunner
from data_files import stored

from rankbench.cli import main

ROWS, LINES = (1_000_000, 1_000_000) if is_full() else (250_000, 600_000)
"""Of judgments, and of items: their reader takes 8 MB at a time."""


def votes() -> pl.DataFrame:
    at = np.arange(ROWS)
    frame = pl.DataFrame({"winner": at % 50, "loser": at * 7 % 49 + 50}).cast(pl.String)
    return pl.concat([frame[:-1], pl.DataFrame({"winner": ["x"], "loser": ["x"]})])


def impressions() -> pl.DataFrame:
    at = np.arange(ROWS)
    frame = pl.DataFrame(
        {
            "session_id": at // 10, "query_id": at // 10 % 500, "position": at % 10 + 1, "item": at * 3 % 997,
            "clicked": (at * at % 7 == 0).astype(np.int8),
        }
    ).cast(pl.String)  # fmt: skip
    return pl.concat([frame[:-1], frame[-1:].with_columns(clicked=pl.lit("perhaps"))])


SAID = {votes: "itself", impressions: "perhaps"}


def refused(path: Path, row: int, said: str, *, ranked: bool) -> None:
    """Expect an error with the row from all that reads a file, and nothing beside the file."""
    folder = path.parent
    commands = [["data", "convert", str(path), str(folder / "shards")], ["data", "describe", str(path)]]
    if ranked:
        commands.append(["aggregate", str(path), "--out", str(folder / "ranking.json")])
    for command in commands:
        found = CliRunner().invoke(main, command)
        assert found.exit_code == 2, found.output
        assert re.search(rf"{re.escape(str(path))}:{row}\b.*{said}", found.stderr), (command, found.stderr)
        assert [left.name for left in folder.iterdir()] == [path.name], command


@pytest.mark.parametrize(("made", "ending"), part_of(itertools.product(SAID, ["csv", "ndjson", "parquet"])))
def test_of_judgments(tmp_path: Path, made: Callable[[], pl.DataFrame], ending: str) -> None:
    path = stored(made(), tmp_path / f"log.{ending}")
    refused(path, ROWS + (ending == "csv"), SAID[made], ranked=True)


def test_of_items(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    lines = [f"{at % 3} qid:{at // 10} 1:{at % 7} 2:0.5" for at in range(LINES - 1)]
    path.write_text("\n".join([*lines, f"1 qid:{LINES // 10 - 1} 2:0.5 1:3"]) + "\n")
    assert path.stat().st_size > 8 << 20
    refused(path, LINES, "out of order", ranked=False)
