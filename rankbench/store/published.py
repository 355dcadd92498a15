"""Rows are published under digests; published folders and journals are opened.

A folder of rows holds ``rows.json`` (the version of the format, the suite's record, and the sha256 of every table),
``members.parquet``, ``cells.parquet``, ``losses.parquet`` and ``curves.parquet``;
docs/reference/leaderboard-columns.md has their columns. A report made from them is equal, to the byte, to that made
from the journal.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from rankbench.errors import StoreError, option
from rankbench.interfaces.cell import Curve, Split
from rankbench.store.journal import FILE, Journal, StoredResults
from rankbench.store.records import COLUMNS, RESULTS, Contents, Place, stored_number

ROWS = "rows"
"""Folder of the rows in a published one."""

MANIFEST = "rows.json"

_REPORT = "leaderboard.json"

SCHEMA = 1
"""Version of published rows, which are never dropped: a newer version reads them too."""


class _Manifest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: int
    suite: dict[str, Any]
    sha256: dict[str, str]


def sha256(data: bytes) -> str:
    """Return the sha256 of a file's contents, 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def rows_apart(directory: Path) -> Path:
    """Return the folder of published rows that are too large for the results' folder: ``DIR-rows`` beside it."""
    return directory.with_name(f"{directory.resolve().name}-{ROWS}")


def rows_folder(directory: Path) -> Path | None:
    """Return the folder with a published folder's rows, in it or beside it, or None."""
    return next((one for one in (directory / ROWS, rows_apart(directory)) if (one / MANIFEST).is_file()), None)


def published_rows(results: StoredResults) -> dict[str, bytes]:
    """Return the files of a folder of rows: of all cells that the plan shows, whatever else the journal holds."""
    record, cells = results.record(), results.cells()
    metrics = sorted({metric for experiment in record.experiments for metric in experiment.losses})
    splits = sorted({split for source in record.sources for split in source.shown_splits()})
    members = [
        (m.experiment, m.label, m.spec, json.dumps(m.config, sort_keys=True), *astuple(m)[4:])
        for m in results.members()
    ]
    known = [
        (name, one.status, one.reason, stored_number(one.optimality), json.dumps(one.info, sort_keys=True))
        for name, one in cells.items()
    ]
    losses = [
        (cell, metric, split, values)
        for cell in cells
        for metric in metrics
        for split in splits
        if (values := results.losses(cell, metric, split)) is not None
    ]
    curves = [(cell, name, c.steps, c.values) for cell in cells for name, c in results.curves(cell).items()]
    rows = {"members": members, "cells": known, "losses": losses, "curves": curves}
    tables = {name: _table(rows[name], schema) for name, schema in _schemas().items()}
    files = {f"{name}.parquet": data for name, data in tables.items()}
    manifest = {
        "schema_version": SCHEMA,
        "suite": json.loads(results.contents.suite),
        "sha256": {name: sha256(data) for name, data in sorted(files.items())},
    }
    return {MANIFEST: (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode(), **files}


def _schemas() -> dict[str, dict[str, Any]]:
    """Return the columns of every table, with their types."""
    reals = pl.List(pl.Float64)
    # A traceback has paths of the machine that it is from.
    cells = [name for name in COLUMNS["cells"][1:] if name != "trace"]
    number = {"n": pl.Int64, "n_declared": pl.Int64, "repetition": pl.Int64, "position": pl.Int64}
    return {
        "members": {name: number.get(name, pl.String) for name in COLUMNS["members"]},
        "cells": {name: pl.Float64 if name == "optimality" else pl.String for name in cells},
        "losses": {"cell": pl.String, "metric": pl.String, "split": pl.String, "data": reals},
        "curves": {"cell": pl.String, "metric": pl.String, "steps": pl.List(pl.Int64), "data": reals},
    }


def _table(rows: list[Any], schema: dict[str, Any]) -> bytes:

    columns = {
        # Arrays of one length become a column of another type, if they are let.
        name: pl.Series(name, [row[i] for row in rows], dtype).cast(dtype)
        for i, (name, dtype) in enumerate(schema.items())
    }
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer, compression="zstd", compression_level=19)
    return buffer.getvalue()


def _places(losses: pl.DataFrame) -> dict[tuple[str, str, Split], Place]:
    """Return the place of each cell's losses; they are most of the rows of a folder."""
    keys = losses.select("cell", "metric", "split").iter_rows()
    return {key: Place(number, "") for number, key in enumerate(keys)}


class PublishedRows(StoredResults):
    """A folder of published rows, open for reading.

    Parameters
    ----------
    folder : Path
        See `rows_folder`.

    Attributes
    ----------
    path : Path
        Of its manifest.
    digest : str
        sha256 of the manifest, and so of all rows.

    Raises
    ------
    StoreError
        There is no manifest, it is none, or of a version that this rankbench does not read; or a table is not what
        was published.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / MANIFEST
        data = self._read(MANIFEST)
        self.digest = sha256(data)
        try:
            manifest = _Manifest.model_validate_json(data)
        except ValidationError as error:
            raise StoreError(f"{self.path}: it is no list of published rows: {error.errors()[0]['msg']}") from error
        if (version := manifest.schema_version) != SCHEMA:
            raise StoreError(
                f"{self.path}: the rows have version {version}, and this rankbench reads version {SCHEMA}; use the one "
                "that wrote them"
            )
        frames = self._frames(manifest.sha256)
        self._losses, self._curves = frames["losses"]["data"], frames["curves"]
        self.contents, table = Contents(), "members"
        try:
            self.contents.plan(json.dumps(manifest.suite, sort_keys=True), frames[table].rows())
            for table in RESULTS:
                if table == "losses":
                    self.contents.losses = _places(frames[table])
                    continue
                for number, (cell, *values) in enumerate(frames[table].iter_rows()):
                    row = (*values[:2], "", *values[2:]) if table == "cells" else values
                    self.contents.add(table, (0, cell, *row), Place(number, ""))
        except (TypeError, ValueError, RecursionError) as error:
            raise StoreError(f"{self.folder / table}.parquet: a row cannot be read ({error})") from error

    def losses(self, cell: str, metric: str, split: Split) -> NDArray[np.float64] | None:
        """Return a cell's loss of every unit, shape (U_split,), or None where it has none."""
        place = self.contents.losses.get((cell, metric, split))
        if place is None:
            return None
        starts, values = self._loss_values
        return values[starts[place.row] : starts[place.row + 1]].copy()

    def curves(self, cell: str) -> dict[str, Curve]:
        """Return a cell's curves by metric."""
        steps, values = self._curves["steps"], self._curves["data"]
        return {
            metric: Curve(np.array(steps[place.row].to_numpy()), np.array(values[place.row].to_numpy()))
            for metric, place in sorted(self.contents.curves.get(cell, {}).items())
        }

    @cached_property
    def _loss_values(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Offset of each row's losses among all of them, and these: a list at a time takes five times as long."""
        lengths = self._losses.list.len()
        starts = np.concatenate([[0], np.cumsum(lengths.to_numpy(), dtype=np.int64)])
        return starts, self._losses.filter(lengths > 0).explode().to_numpy().astype(np.float64)

    def _frames(self, listed: Mapping[str, str]) -> dict[str, pl.DataFrame]:
        """Return all tables, if they have the published digests."""
        found = {}
        for name, schema in _schemas().items():
            file = f"{name}.parquet"
            data = self._read(file)
            if sha256(data) != listed.get(file):
                raise StoreError(f"{self.folder / file}: it is not what was published: its sha256 is another one")
            try:
                found[name] = pl.read_parquet(data)
            except (pl.exceptions.PolarsError, OSError) as error:
                raise StoreError(f"{self.folder / file}: it is no Parquet table ({error})") from error
            if found[name].schema != schema:
                columns = ", ".join(f"{column}: {dtype}" for column, dtype in found[name].schema.items())
                raise StoreError(
                    f"{self.folder / file}: its columns are not the columns of published rows ({columns}); "
                    "publish the run again"
                )
        return found

    def _read(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise StoreError(f"{self.folder / name}: it cannot be read ({error.strerror or error})") from error


DIGESTS = "digests.json"


class Digests(BaseModel):
    """Digests of the files of a published folder.

    Attributes
    ----------
    schema_version : int
        Version of this list.
    rows : str
        sha256 of the manifest of the rows, and so of all rows.
    files : dict of str to str
        sha256 by file, without the files of the rows.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: int = SCHEMA
    rows: str
    files: dict[str, str]


def read_digests(directory: Path) -> Digests | None:
    """Return the digests of a published folder's files; None if it is not published.

    Raises
    ------
    StoreError
        The list cannot be read.
    """
    path = directory / DIGESTS
    if not path.exists():
        return None
    try:
        found = Digests.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise StoreError(f"{path}: it is no list of published files: {error}") from error
    if found.schema_version > SCHEMA:
        raise StoreError(f"{path}: it has version {found.schema_version}, and this rankbench reads up to {SCHEMA}")
    return found


def holds_results(directory: Path) -> bool:
    """Return whether a folder has results: a journal, or published rows in it or beside it."""
    return (directory / FILE).exists() or rows_folder(directory) is not None


@contextmanager
def open_results(directory: Path, *, listed: bool = True) -> Iterator[StoredResults]:
    """Open the results of a run's folder, or of a published one.

    Parameters
    ----------
    directory : Path
        A folder with a journal, which then counts, or with published rows in it or beside it.
    listed : bool
        Refuse rows in the folder, or beside it, that are not those that it says it was published with.

    Raises
    ------
    StoreError
        There are neither, or they are damaged, or others.
    """
    if (directory / FILE).exists():
        with Journal(directory) as journal:
            yield journal
        return
    if (found := rows_folder(directory)) is None:
        if (directory / DIGESTS).exists():
            where = rows_apart(directory).name
            raise StoreError(f"{directory}: its rows are not here: put them beside it, as {where}")
        if _holds_audit(directory):
            raise StoreError(
                f"{directory}: an audit is here, and no results of a run. rankbench makes it again of its log: "
                f"rankbench audit LOG --out {directory / _REPORT}"
            )
        raise StoreError(
            f"{directory}: no results here, neither {FILE} (a run's folder, its {option('out')}) nor rows (a published "
            "folder: rankbench report RUN --out FOLDER)"
        )
    opened = PublishedRows(found)
    # All rows are under the digest of their manifest: to read and hash the two lists takes a millisecond.
    published = read_digests(directory) if listed else None
    if published is not None and published.rows != opened.digest:
        raise StoreError(
            f"{opened.path}: these are not the rows that were published: {directory / DIGESTS} has another sha256. "
            "Publish the run again, or see what differs by `rankbench verify`"
        )
    yield opened


def _holds_audit(directory: Path) -> bool:
    """Return whether a folder has the answer of `rankbench audit`."""
    try:
        said = json.loads((directory / _REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(said, dict) and "probes" in said
