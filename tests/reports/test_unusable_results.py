"""What cannot be compared, verified or remembered: refused with what to do, or described and never called real."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import synthetic

from rankbench.errors import InputError, RankbenchError, StoreError
from rankbench.reports.results import report
from rankbench.store.journal import FILE, VERSION
from rankbench.store.published import DIGESTS, MANIFEST, SCHEMA, open_results, sha256
from rankbench.tracking.compare import compare_results
from rankbench.tracking.history import read_history


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run and what was published of it."""
    place = tmp_path_factory.mktemp("made")
    run = synthetic.write(place / "run", [synthetic.small()])
    (run / "run.json").write_text('{"suite": "paper"}\n')
    report(run)
    report(run, place / "out")
    return place


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "made"))


def recorded(folder: Path, manifest: dict[str, Any]) -> None:
    """Put another record into published rows, and take away the list of digests that it is not in."""
    (folder / "out" / "rows" / MANIFEST).write_text(json.dumps(manifest))
    (folder / "out" / DIGESTS).unlink(missing_ok=True)


def journal_version(folder: Path, version: int) -> None:
    with sqlite3.connect(folder / "run" / FILE) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_a_journal_of_an_older_or_newer_version_is_refused_with_what_to_do(version: int, folder: Path) -> None:
    journal_version(folder, version)
    said = f"the journal has version {version} .*use the rankbench that wrote it, or choose another folder"
    with pytest.raises(InputError, match=said):
        compare_results(folder / "out", folder / "run")
    with pytest.raises(StoreError, match=said), open_results(folder / "run"):
        pass


def test_rows_of_every_published_version_are_read_and_later_ones_refused(folder: Path) -> None:
    assert SCHEMA == 1, "add the migration, and rows of the version that was left to this test"
    manifest = json.loads((folder / "out" / "rows" / MANIFEST).read_text())
    assert {one.verdict for one in compare_results(folder / "run", folder / "out").changes} == {"equal"}
    for version in (SCHEMA + 1, 0):
        recorded(folder, manifest | {"schema_version": version})
        with pytest.raises(InputError, match=f"version {version}, and this rankbench reads version 1; use the one"):
            compare_results(folder / "run", folder / "out")


@pytest.mark.parametrize("name", ["losses.parquet", "members.parquet", "cells.parquet", "curves.parquet"])
@pytest.mark.parametrize("signed", [False, True])
def test_a_corrupt_table_is_refused_by_name(name: str, signed: bool, folder: Path) -> None:
    rows = folder / "out" / "rows"
    (rows / name).write_bytes(b"PAR1" + b"\0" * 200 + b"PAR1")
    if signed:
        manifest = json.loads((rows / MANIFEST).read_text())
        manifest["sha256"][name] = sha256((rows / name).read_bytes())
        recorded(folder, manifest)
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        compare_results(folder / "run", folder / "out")


@pytest.mark.parametrize("text", ["{", "[1]", "", None, "[" * 100_000])
@pytest.mark.parametrize(("name", "column"), [("members", "config"), ("cells", "info")])
def test_a_cell_that_is_no_json_is_refused_by_name(name: str, column: str, text: str | None, folder: Path) -> None:
    rows = folder / "out" / "rows"
    frame = pl.read_parquet(rows / f"{name}.parquet")
    frame.with_columns(pl.lit(text, pl.String).alias(column)).write_parquet(rows / f"{name}.parquet")
    manifest = json.loads((rows / MANIFEST).read_text())
    manifest["sha256"][f"{name}.parquet"] = sha256((rows / f"{name}.parquet").read_bytes())
    recorded(folder, manifest)
    with pytest.raises(InputError, match=rf"{name}\.parquet: a row cannot be read"):
        compare_results(folder / "run", folder / "out")


def test_folders_of_different_suites_or_data_are_not_compared(folder: Path, tmp_path: Path) -> None:
    plan = synthetic.small()
    plan.name = "another"
    other = synthetic.write(tmp_path / "other", [plan])
    found = compare_results(folder / "run", other)
    assert found.exit_code == 3
    assert [(one.where, one.verdict) for one in found.changes] == [("figure-3: it is gone", "not tested")]
    assert "new: experiment another" in found.notes
    assert found.sentence() == "Nothing could be compared. Of base 1 experiment was not tested."
    manifest = json.loads((folder / "out" / "rows" / MANIFEST).read_text())
    manifest["suite"]["sources"][0]["fingerprint"] = "cd" * 32
    recorded(folder, manifest)
    found = compare_results(folder / "run", folder / "out")
    assert found.exit_code == 3
    assert [one.where.startswith("figure-3: the data were") for one in found.changes] == [True]


def test_an_empty_history_says_how_to_begin(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match="the history is empty; add a run to it: rankbench history add"):
            read_history(place)


def test_every_refusal_is_an_error_of_ours(folder: Path, tmp_path: Path) -> None:
    """Whatever a path is, it ends in a sentence and not in a traceback."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("hello\n")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    (tmp_path / "nothing.csv").write_bytes(b"")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    for path in [tmp_path / "nowhere", *tmp_path.iterdir()]:
        if path != folder:
            with pytest.raises(RankbenchError):
                compare_results(path, folder / "run")
            with pytest.raises(RankbenchError):
                compare_results(path, path)
