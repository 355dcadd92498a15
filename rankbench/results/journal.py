"""The journal: one SQLite file that holds a run's plan and everything computed for it.

Blocks are only ever added, each in one transaction. The latest row of a cell is the one that
counts: a failed cell is computed again by the next run, an answer is never replaced
(`rankbench.results.store` sees to it). A rollback journal (not WAL) keeps a run at rest in one
file that can be copied.

Everything is under a digest (`rankbench.results.seals`): each row of results has one of its own,
each block one of its rows' digests and of the block before it, and the only row of ``head`` says
what the last block's is, and the plan's. All of them are looked at when the file is opened, and a
row's again when it is read. There is no index, which could lead to other rows than the table
holds: what was found while checking is remembered by its place.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from rankbench.errors import StoreError
from rankbench.results.contents import COLUMNS, Contents, Place, StoredCell, read_contents
from rankbench.results.schema import Curve, Member, Split, SuiteRecord
from rankbench.results.seals import sealed

__all__ = ["FILE", "Journal", "StoredCell"]

FILE = "journal.sqlite"
APPLICATION_ID = 0x52424A4C
VERSION = 3

TABLES = {
    "head": "plan TEXT NOT NULL, blocks INTEGER NOT NULL, digest TEXT NOT NULL",
    "suite": "json TEXT NOT NULL, members TEXT NOT NULL",
    "members": "experiment TEXT NOT NULL, label TEXT NOT NULL, spec TEXT NOT NULL, config TEXT NOT NULL, "
    "n INTEGER NOT NULL, n_declared INTEGER NOT NULL, repetition INTEGER NOT NULL, cell TEXT NOT NULL, "
    "position INTEGER NOT NULL",
    "blocks": "block INTEGER PRIMARY KEY, protocol TEXT NOT NULL, dataset TEXT NOT NULL, n INTEGER NOT NULL, "
    "repetition INTEGER NOT NULL, seed INTEGER NOT NULL, seconds REAL NOT NULL, digest TEXT NOT NULL",
    "cells": "block INTEGER NOT NULL, cell TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, "
    "optimality REAL, info TEXT NOT NULL, seal TEXT NOT NULL",
    "losses": "block INTEGER NOT NULL, cell TEXT NOT NULL, metric TEXT NOT NULL, split TEXT NOT NULL, "
    "data BLOB NOT NULL, seal TEXT NOT NULL",
    "curves": "block INTEGER NOT NULL, cell TEXT NOT NULL, metric TEXT NOT NULL, steps BLOB NOT NULL, "
    "data BLOB NOT NULL, seal TEXT NOT NULL",
}
SCHEMA = tuple((name, f"CREATE TABLE {name} ({columns})") for name, columns in TABLES.items())

_SYSTEM = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_AUTH,
    }
)
"""Errors of the system that the file lies on; any other one says that the file is not what was written."""

_MOVE = (
    "the journal is damaged: move it away (or bring back a copy of it) and run again, which computes everything again"
)


class Journal:
    """A run's journal, open for reading: what it held at that moment; a run that is writing to it is not disturbed.

    Parameters
    ----------
    directory : Path
        The run's folder.

    Raises
    ------
    StoreError
        There is no journal, it is not one of ours, another version wrote it, or its
        contents do not match their digests: the message names the table.
    """

    def __init__(self, directory: Path, *, create: bool = False) -> None:
        self.directory = Path(directory)
        self.path = self.directory / FILE
        if not create and not self.path.exists():
            raise StoreError(f"{self.path}: there is no journal here; give the folder of a run (its --out)")
        uri = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        with self.guarded():
            self.connection = sqlite3.connect(uri, uri=True, timeout=60.0, isolation_level=None)
            try:
                self._check_format(create=create)
                self.contents = self._contents()
                self._check_pages()
            except BaseException:
                self.connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything committed is kept."""
        self.connection.close()

    @contextmanager
    def guarded(self, table: str = "") -> Iterator[None]:
        """Turn SQLite's errors into `StoreError`, saying in which table and what to do."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in _SYSTEM:
                raise StoreError(
                    f"{self.path}: {error}; check the disk and the folder's permissions and run again "
                    "(every committed block is kept)"
                ) from error
            place = f"table {table}" if table else "the file's header"
            raise StoreError(f"{self.path}: {place}: {error}; {_MOVE}") from error

    def damaged(self, table: str, what: str) -> NoReturn:
        """Raise what is said of contents that are not those that were stored."""
        raise StoreError(f"{self.path}: table {table}: {what}; {_MOVE}")

    def planned(self) -> bool:
        """Return whether a run has written its plan here."""
        return bool(self.contents.suite)

    def record(self) -> SuiteRecord:
        """Return the suite that the last run resolved.

        Raises
        ------
        StoreError
            No run has written its plan yet, or it cannot be read.
        """
        if not self.contents.suite:
            raise StoreError(f"{self.path}: the journal is empty: no run has planned anything yet; run the suite first")
        try:
            return SuiteRecord.model_validate(json.loads(self.contents.suite))
        except (ValidationError, ValueError) as error:
            raise StoreError(f"{self.path}: table suite: the stored suite cannot be read ({error}); {_MOVE}") from error

    def members(self) -> list[Member]:
        """Return the plan: every cell that an experiment shows, in a fixed order."""
        return list(self.contents.members)

    def cells(self) -> dict[str, StoredCell]:
        """Return the latest row of every cell of the plan that has one."""
        found = self.contents.cells
        return {cell: found[cell] for cell in sorted({m.cell for m in self.contents.members} & found.keys())}

    def losses(self, cell: str, metric: str, split: Split) -> NDArray[np.float64] | None:
        """Return a cell's loss of every unit, shape (U_split,), or None where it has none."""
        place = self.contents.losses.get((cell, metric, split))
        if place is None:
            return None
        return np.frombuffer(self._row("losses", place)[-1], dtype="<f8").astype(np.float64)

    def curves(self, cell: str) -> dict[str, Curve]:
        """Return a cell's curves by metric."""
        found = {}
        for metric, place in sorted(self.contents.curves.get(cell, {}).items()):
            *_, steps, data = self._row("curves", place)
            found[metric] = Curve(
                np.frombuffer(steps, dtype="<i8").astype(np.int64), np.frombuffer(data, dtype="<f8").astype(np.float64)
            )
        return found

    def progress(self) -> tuple[int, int]:
        """Return how many cells of the plan have a row, and how many there are."""
        planned = {member.cell for member in self.contents.members}
        return len(planned & self.contents.cells.keys()), len(planned)

    def _row(self, table: str, place: Place) -> tuple[Any, ...]:
        """Return the row at a place, if it is the one that was found there when the file was opened."""
        with self.guarded(table):
            row = self.connection.execute(
                f"SELECT {', '.join(COLUMNS[table])} FROM {table} WHERE rowid = ?", (place.row,)
            ).fetchone()
        if row is None or sealed(table, *row) != place.seal:
            self.damaged(table, f"row {place.row} is not what was stored: its digest differs")
        return tuple(row)

    def _contents(self) -> Contents:
        """Return all but the numbers, as of one moment, every digest checked."""
        self.connection.execute("BEGIN")
        try:
            return read_contents(self)
        finally:
            self.connection.rollback()

    def _check_format(self, *, create: bool) -> None:
        """Make the tables, or see that they are ours."""
        query = self.connection.execute
        query("PRAGMA cell_size_check = ON")
        owner, version = query("PRAGMA application_id").fetchone()[0], query("PRAGMA user_version").fetchone()[0]
        with self.guarded("sqlite_master"):
            tables = query("SELECT name, sql FROM sqlite_master ORDER BY rowid").fetchall()
        if create and not tables and not owner and not version:
            statements = ";".join(sql for _, sql in SCHEMA)
            self.connection.executescript(
                f"BEGIN EXCLUSIVE; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
                f"{statements}; INSERT INTO head VALUES ('', 0, ''); COMMIT;"
            )
            return
        if owner != APPLICATION_ID:
            raise StoreError(f"{self.path}: this SQLite file is not a journal of rankbench; choose another folder")
        if version != VERSION:
            raise StoreError(
                f"{self.path}: the journal has version {version} and this rankbench reads version {VERSION}; "
                "use the rankbench that wrote it, or choose another folder"
            )
        if tuple(tables) != SCHEMA:
            self.damaged("sqlite_master", "the tables are not those of a journal")

    def _check_pages(self) -> None:
        """See that the file's pages are sound also where nothing is read: a writer goes by them."""
        sound = self.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if sound != "ok":
            raise StoreError(f"{self.path}: outside of the tables' rows: {' '.join(str(sound).split())}; {_MOVE}")
