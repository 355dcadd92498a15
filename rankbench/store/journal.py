"""The journal is the SQLite file of a run; here it is read.

A run only ever adds blocks, each in one transaction. The latest row of a cell counts: the next run computes a failed
cell again, and no run replaces an answer (`rankbench.store.store` sees to it). A rollback journal (not WAL) keeps a
run at rest in one file that can be copied.

Everything is under a digest. The row of a block holds one of all its rows and of the block before it. The only row of
``head`` holds one of the plan and that of the last block. Opening a journal computes all digests and has SQLite check
the file's pages; reading a row later compares it with what was found then. A file that fails is an error that says to
run again. There is no index, which could lead to other rows than the table holds: the journal remembers each row by
its place. To open a journal of 83 MB takes half a second.
"""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from rankbench.errors import StoreError, option
from rankbench.interfaces.cell import Curve, Split
from rankbench.store.records import (
    COLUMNS,
    RESULTS,
    SCHEMA,
    Contents,
    Member,
    Place,
    StoredCell,
    StoredValue,
    SuiteRecord,
    plan_digest,
    row_digest,
)

FILE = "journal.sqlite"
APPLICATION_ID = 0x52424A4C
VERSION = 5

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
"""Errors of the file's system; any other one means that the file is damaged."""

MOVE = (
    "the journal is damaged: move it away (or bring back a copy of it) and run again, which computes everything again"
)
"""Advice for a damaged journal."""


class StoredResults(ABC):
    """A run's plan and all of its results.

    Attributes
    ----------
    path : Path
        Name in errors.
    contents : Contents
        All but the numbers.
    """

    path: Path
    contents: Contents

    def record(self) -> SuiteRecord:
        """Return the suite's record.

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
            raise StoreError(f"{self.path}: the suite cannot be read ({error})") from error

    def members(self) -> list[Member]:
        """Return the plan: every cell that an experiment shows, in a fixed order."""
        return list(self.contents.members)

    def cells(self) -> dict[str, StoredCell]:
        """Return the latest row of every cell of the plan that has one."""
        found = self.contents.cells
        return {cell: found[cell] for cell in sorted({m.cell for m in self.contents.members} & found.keys())}

    def progress(self) -> tuple[int, int]:
        """Return the number of cells of the plan that have a row, and the number of all."""
        planned = {member.cell for member in self.contents.members}
        return len(planned & self.contents.cells.keys()), len(planned)

    @abstractmethod
    def losses(self, cell: str, metric: str, split: Split) -> NDArray[np.float64] | None:
        """Return a cell's loss of every unit, shape (U_split,), or None where it has none."""

    @abstractmethod
    def curves(self, cell: str) -> dict[str, Curve]:
        """Return a cell's curves by metric."""


class Journal(StoredResults):
    """A run's journal, open for reading: its contents at that moment, without disturbing a run that writes to it.

    Parameters
    ----------
    directory : Path
        The run's folder.
    create : bool
        Make the file where there is none.

    Attributes
    ----------
    directory, path : Path
        The folder, and the file in it.
    connection : sqlite3.Connection
    contents : Contents

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
            raise StoreError(f"{self.path}: there is no journal here; give the folder of a run (its {option('out')})")
        uri = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        with self.guarded():
            self.connection = sqlite3.connect(uri, uri=True, timeout=60.0, isolation_level=None)
            try:
                self.check_format(create=create)
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

    def planned(self) -> bool:
        """Return whether a run has written its plan here."""
        return bool(self.contents.suite)

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

    @contextmanager
    def guarded(self, place: str = "the file's header") -> Iterator[None]:
        """Turn SQLite's errors into `StoreError` with a place and a remedy."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in _SYSTEM:
                raise StoreError(f"{self.path}: {place}: {error}; {MOVE}") from error
            if not self.path.exists():
                raise StoreError(
                    f"{self.path}: it is gone: its folder was removed or moved while this run was writing there; "
                    "run again"
                ) from error
            raise StoreError(
                f"{self.path}: {error}; check the disk and the folder's permissions and run again (what was committed "
                "is kept)"
            ) from error

    def check_format(self, *, create: bool) -> None:
        """Make the tables, or check that the file is a journal of this format."""
        query = self.connection.execute
        query("PRAGMA cell_size_check = ON")
        owner, version = query("PRAGMA application_id").fetchone()[0], query("PRAGMA user_version").fetchone()[0]
        with self.guarded("table sqlite_master"):
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
            self._damaged("table sqlite_master", "its tables are not the tables of a journal")

    def _damaged(self, place: str, what: str) -> NoReturn:
        """Raise the error for contents that differ from the stored ones."""
        raise StoreError(f"{self.path}: {place}: {what}; {MOVE}")

    def _contents(self) -> Contents:
        """Return all but the numbers in one transaction, with every digest checked."""
        self.connection.execute("BEGIN")
        try:
            heads = [row for _, row in self._rows("head")]
            if len(heads) != 1:
                self._damaged("table head", f"it has {len(heads)} rows, not one")
            plan, blocks, digest = heads[0]
            found = Contents()
            self._read_plan(found, plan)
            self._read_blocks(found)
            if (blocks, digest) != (found.blocks, found.digest):
                self._damaged(
                    "table head",
                    f"it says that there are {blocks!r} blocks, and there are {found.blocks}; or its digest differs",
                )
            return found
        finally:
            self.connection.rollback()

    def _read_plan(self, found: Contents, digest: str) -> None:
        suites, members = ([row for _, row in self._rows(table)] for table in ("suite", "members"))
        if not suites and not members and digest == "":
            return
        if len(suites) != 1:
            self._damaged("table suite", f"it has {len(suites)} rows, not one")
        (suite,) = suites[0]
        if plan_digest(suite, members) != digest:
            self._damaged("table suite", "the plan (with table members) is not what was stored: its digest differs")
        found.plan(suite, members)

    def _read_blocks(self, found: Contents) -> None:
        rows: dict[StoredValue, list[tuple[str, tuple[StoredValue, ...], Place]]] = {}
        for table in RESULTS:
            for number, values in self._rows(table):
                held = values if table == "cells" else values[:4]  # and no numbers
                place = Place(number, row_digest(table, *values))
                rows.setdefault(values[0], []).append((table, held, place))
        for _, (*block, stored) in self._rows("blocks"):
            of_block = rows.pop(block[0], [])
            found.digest = row_digest("blocks", *block, found.digest, *(place.digest for *_, place in of_block))
            if found.digest != stored:
                self._damaged(
                    "table blocks",
                    f"block {block[0]} (n = {block[3]}, repetition {block[4]}) is not what was stored, or lacks rows "
                    "of cells, losses or curves: its digest differs",
                )
            found.blocks += 1
            for row in of_block:
                found.add(*row)
        for lost, ((table, *_), *_) in rows.items():
            self._damaged(f"table {table}", f"rows of block {lost!r} are here and the block is not")

    def _rows(self, table: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield the rows of a table as they were stored, each with its place."""
        with self.guarded(f"table {table}"):
            for number, *values in self.connection.execute(
                f"SELECT rowid, {', '.join(COLUMNS[table])} FROM {table} ORDER BY rowid"
            ):
                yield number, tuple(values)

    def _row(self, table: str, place: Place) -> tuple[Any, ...]:
        """Return the row at a place, if its digest is still the one found at opening."""
        with self.guarded(f"table {table}"):
            row = self.connection.execute(
                f"SELECT {', '.join(COLUMNS[table])} FROM {table} WHERE rowid = ?", (place.row,)
            ).fetchone()
        if row is None or row_digest(table, *row) != place.digest:
            self._damaged(f"table {table}", f"row {place.row} is not what was stored: its digest differs")
        return tuple(row)

    def _check_pages(self) -> None:
        """Check that the file is SQLite's and undamaged outside of the tables' rows."""
        place = "outside of the tables' rows"
        with self.guarded(place):
            (said,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            self._damaged(place, said.splitlines()[-1])
