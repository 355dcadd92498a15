"""The SQLite file of a journal: its tables, its format, and what is said where it is not what was written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from rankbench.errors import StoreError

__all__ = ["FILE", "MOVE", "TABLES", "JournalFile", "make_tables"]

FILE = "journal.sqlite"
APPLICATION_ID = 0x52424A4C
VERSION = 4

TABLES = {
    "head": "plan TEXT NOT NULL, blocks INTEGER NOT NULL, digest TEXT NOT NULL",
    "suite": "json TEXT NOT NULL, members TEXT NOT NULL",
    "members": "experiment TEXT NOT NULL, label TEXT NOT NULL, spec TEXT NOT NULL, config TEXT NOT NULL, "
    "n INTEGER NOT NULL, n_declared INTEGER NOT NULL, repetition INTEGER NOT NULL, cell TEXT NOT NULL, "
    "position INTEGER NOT NULL",
    "blocks": "block INTEGER PRIMARY KEY, protocol TEXT NOT NULL, dataset TEXT NOT NULL, n INTEGER NOT NULL, "
    "repetition INTEGER NOT NULL, seed INTEGER NOT NULL, seconds REAL NOT NULL, digest TEXT NOT NULL",
    "cells": "block INTEGER NOT NULL, cell TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, "
    "trace TEXT NOT NULL, optimality REAL, info TEXT NOT NULL, seal TEXT NOT NULL",
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

MOVE = (
    "the journal is damaged: move it away (or bring back a copy of it) and run again, which computes everything again"
)
"""What to do with a damaged journal."""


class JournalFile:
    """An open file, whose errors name it and the table.

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
    kept : int or None
        Blocks that are known to be committed; None before they are read.

    Raises
    ------
    StoreError
        There is no journal, or it cannot be opened.
    """

    def __init__(self, directory: Path, *, create: bool = False) -> None:
        self.directory = Path(directory)
        self.path = self.directory / FILE
        self.kept: int | None = None if self.path.exists() and self.path.stat().st_size else 0
        if not create and not self.path.exists():
            raise StoreError(f"{self.path}: there is no journal here; give the folder of a run (its --out)")
        uri = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        self._uri = uri
        self.connect()

    def connect(self) -> None:
        """Open the file that is there now."""
        with self.guarded():
            self.connection = sqlite3.connect(self._uri, uri=True, timeout=60.0, isolation_level=None)

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
                if not self.path.exists():
                    raise StoreError(
                        f"{self.path}: it is gone: its folder was removed or moved while this run was writing there; "
                        "run again"
                    ) from error
                raise StoreError(
                    f"{self.path}: {error}; check the disk and the folder's permissions and run again ({self._kept()})"
                ) from error
            place = f"table {table}" if table else "the file's header"
            raise StoreError(f"{self.path}: {place}: {error}; {MOVE}") from error

    def _kept(self) -> str:
        if self.kept is None:
            return "what was committed is kept"
        if not self.kept:
            return "no block was committed yet"
        return "the block that was committed is kept" if self.kept == 1 else f"{self.kept:,} committed blocks are kept"

    def damaged(self, table: str, what: str) -> NoReturn:
        """Raise what is said of contents that are not those that were stored."""
        raise StoreError(f"{self.path}: table {table}: {what}; {MOVE}")

    def check_format(self, *, create: bool) -> None:
        """Make the tables, or see that they are ours."""
        query = self.connection.execute
        query("PRAGMA cell_size_check = ON")
        owner, version = query("PRAGMA application_id").fetchone()[0], query("PRAGMA user_version").fetchone()[0]
        with self.guarded("sqlite_master"):
            tables = query("SELECT name, sql FROM sqlite_master ORDER BY rowid").fetchall()
        if create and not tables and not owner and not version:
            make_tables(self.connection)
            return
        # Whose it is the tables say too.
        if owner != APPLICATION_ID and tuple(tables) != SCHEMA:
            raise StoreError(f"{self.path}: this SQLite file is not a journal of rankbench; choose another folder")
        if version != VERSION:
            raise StoreError(
                f"{self.path}: the journal has version {version} and this rankbench reads version {VERSION}; "
                "use the rankbench that wrote it, or choose another folder"
            )
        if tuple(tables) != SCHEMA:
            self.damaged("sqlite_master", "the tables are not those of a journal")


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a journal in an empty file."""
    statements = ";".join(sql for _, sql in SCHEMA)
    connection.executescript(
        f"BEGIN EXCLUSIVE; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
        f"{statements}; INSERT INTO head VALUES ('', 0, ''); COMMIT;"
    )
