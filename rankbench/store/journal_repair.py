"""A journal whose rows are all what was stored, in a file that is not sound around them: its rows in a sound one.

Free pages, unused bytes and fields of the header may be damaged and every row be whole. SQLite goes by them when it
writes, or looks a row up; so a run takes up such a journal in a new file, and a report in a temporary copy.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from rankbench.store.file import TABLES, make_tables
from rankbench.system import replacement

__all__ = ["copied_journal", "is_sound", "repaired"]

_VERSIONS = slice(18, 20)
_AUTO_VACUUM = slice(52, 56)
_INCREMENTAL_VACUUM = slice(64, 68)
_RESERVED = slice(72, 92)


def is_sound(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether the file is one that SQLite may write to, and look rows up in, where nothing was read either."""
    with path.open("rb") as file:
        header = file.read(100)
    if header[_VERSIONS] != b"\1\1" or any(map(any, (header[_AUTO_VACUUM], header[_INCREMENTAL_VACUUM]))):
        return False
    if any(header[_RESERVED]):
        return False
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        return False


def copied_journal(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a temporary journal, which is gone with its connection, with the same rows."""
    return _filled(sqlite3.connect("", isolation_level=None), connection)


def repaired(connection: sqlite3.Connection, path: Path) -> None:
    """Put a new file with the same rows in the place of a journal.

    Parameters
    ----------
    connection : Connection
        To the old one; it sees the old one still.
    path : Path
        Of the journal, whose folder is locked by this process.
    """
    with replacement(path) as file, closing(sqlite3.connect(file.name, isolation_level=None)) as new:
        new.execute("PRAGMA journal_mode = MEMORY")  # no second file: this one is in its place whole or not at all
        _filled(new, connection)


def _filled(new: sqlite3.Connection, old: sqlite3.Connection) -> sqlite3.Connection:
    make_tables(new)
    old.execute("BEGIN")  # all tables as of one moment
    try:
        new.execute("BEGIN")
        new.execute("DELETE FROM head")
        for table in TABLES:
            rows = old.execute(f"SELECT * FROM {table} ORDER BY rowid")
            marks = ", ".join("?" * len(rows.description))
            new.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        new.execute("COMMIT")
    finally:
        old.rollback()
    return new
