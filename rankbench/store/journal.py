"""The SQLite file of a run, read.

Free pages, unused bytes and fields of the header may be damaged and every row be whole. SQLite goes by them when it
writes, or looks a row up; so a run takes up such a journal in a new file, and a report in a temporary copy.

Blocks are only ever added, each in one transaction. The latest row of a cell is the one that
counts: a failed cell is computed again by the next run, an answer is never replaced
(`rankbench.store.store` sees to it). A rollback journal (not WAL) keeps a run at rest in one
file that can be copied.

Everything is under a digest (`rankbench.store.journal`): each row of results has one of its own,
each block one of its rows' digests and of the block before it, and the only row of ``head`` says
what the last block's is, and the plan's. All of them are looked at when the file is opened, and a
row's again when it is read. What no row is part of may be damaged (`rankbench.store.journal`).
There is no index, which could lead to other rows than the table holds: what was found while
checking is remembered by its place. To open a journal of 83 MB takes half a second, a tenth of it
for pages that hold no row; one that must be copied or repaired takes 1.8 s.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from rankbench.core.system import replacement
from rankbench.errors import StoreError
from rankbench.interfaces.cell import ANSWERS, Curve, Split, Status
from rankbench.store.records import Member, SuiteRecord

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


StoredValue: TypeAlias = "str | int | float | bytes | None"
"""What SQLite stores, as Python has it."""


def row_digest(table: str, *values: StoredValue) -> str:
    """Return the blake2b digest (32 hex digits) of a row: of its table's name and of its values with their types.

    Lengths stand before the values, so that nothing can move from one value to the next.
    """
    digest = hashlib.blake2b(table.encode(), digest_size=16)
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(b"%s %d\n" % (type(value).__name__.encode(), len(data)))
        digest.update(data)
    return digest.hexdigest()


def stored_number(value: float) -> float | None:
    """Return a number as SQLite gives it back: without the sign of a zero, and no nan."""
    number = float(value)
    return None if math.isnan(number) else number + 0.0


COLUMNS = {
    "members": ("experiment", "label", "spec", "config", "n", "n_declared", "repetition", "cell", "position"),
    "blocks": ("block", "protocol", "dataset", "n", "repetition", "seed", "seconds"),
    "cells": ("block", "cell", "status", "reason", "trace", "optimality", "info"),
    "losses": ("block", "cell", "metric", "split", "data"),
    "curves": ("block", "cell", "metric", "steps", "data"),
}
"""Columns of each table that its digests are of, in their order."""

RESULTS = ("cells", "losses", "curves")
"""Tables whose rows belong to a block."""


@dataclass(frozen=True)
class StoredCell:
    """What the journal says of one cell, without its losses."""

    status: Status
    reason: str
    optimality: float
    info: dict[str, float]
    trace: str = ""


class Place(NamedTuple):
    """Where a row is, and the digest of what it holds."""

    row: int
    seal: str


@dataclass
class Contents:
    """What a journal held when it was opened.

    Attributes
    ----------
    suite : str
        JSON of the plan's suite; empty before the first plan.
    members : list of Member
        In a fixed order.
    cells : dict of str to StoredCell
        The latest row of every cell, of the plan or not.
    answered : set of str
        Cells that have an answer.
    losses : dict of (cell, metric, split) to Place
    curves : dict of cell to dict of metric to Place
    blocks : int
        Number of blocks.
    digest : str
        That of the last block, and so of all of them; empty without one.
    """

    suite: str = ""
    members: list[Member] = field(default_factory=list)
    cells: dict[str, StoredCell] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    losses: dict[tuple[str, str, Split], Place] = field(default_factory=dict)
    curves: dict[str, dict[str, Place]] = field(default_factory=dict)
    blocks: int = 0
    digest: str = ""

    def add(self, table: str, row: int, values: tuple[Any, ...], seal: str) -> None:
        """Take up a row of a block; a later one of a cell stands in the place of an earlier one."""
        cell = sys.intern(values[1])
        if table == "cells":
            _, _, status, reason, trace, optimality, info = values
            known = math.nan if optimality is None else optimality
            self.cells[cell] = StoredCell(status, reason, known, json.loads(info), trace)
            if status in ANSWERS:
                self.answered.add(cell)
        elif table == "losses":
            self.losses[cell, sys.intern(values[2]), sys.intern(values[3])] = Place(row, seal)  # type: ignore[index]
        else:
            self.curves.setdefault(cell, {})[sys.intern(values[2])] = Place(row, seal)

    def plan(self, suite: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Take up a plan, the rows of its tables, in the place of the former one."""
        configs = {text: json.loads(text) for text in {row[3] for row in rows}}
        members = [
            Member(experiment, label, spec, configs[config], n, declared, repetition, cell, position)
            for experiment, label, spec, config, n, declared, repetition, cell, position in rows
        ]
        self.suite = suite
        self.members = sorted(members, key=lambda m: (m.experiment, m.n, m.order, m.label, m.repetition))


def members_digest(rows: Sequence[tuple[Any, ...]]) -> str:
    """Return the digest of the rows of the plan, in their order."""
    return row_digest("members", *(row_digest("member", *row) for row in rows))


class _Rows:
    """The rows of a table of results, in the order in which they were stored."""

    def __init__(self, journal: JournalFile, table: str) -> None:
        self.journal, self.table = journal, table
        self.cursor = journal.connection.cursor()
        with journal.guarded(table):
            self.cursor.execute(f"SELECT rowid, seal, {', '.join(COLUMNS[table])} FROM {table} ORDER BY rowid")
        self.next: Any = None
        self.step()

    def step(self) -> None:
        with self.journal.guarded(self.table):
            self.next = self.cursor.fetchone()

    def rows_of_block(self, block: int) -> Iterator[tuple[int, str, tuple[Any, ...]]]:
        """Yield place, digest and values of a block's rows, each checked."""
        while self.next is not None and self.next[2] == block:
            row, seal, *values = self.next
            if row_digest(self.table, *values) != seal:
                self.journal.damaged(
                    self.table, f"row {row} (block {block}) is not what was stored: its digest differs"
                )
            yield row, seal, tuple(values)
            self.step()


def read_contents(journal: JournalFile) -> Contents:
    """Read a journal and check all of its digests.

    Raises
    ------
    StoreError
        Something is not what was stored: names the table.
    """
    with journal.guarded("head"):
        heads = journal.connection.execute("SELECT plan, blocks, digest FROM head").fetchall()
    if len(heads) != 1:
        journal.damaged("head", f"it has {len(heads)} rows, not one")
    plan, blocks, digest = heads[0]
    contents = Contents()
    _read_plan(journal, contents, plan)
    _read_blocks(journal, contents)
    if (blocks, digest) != (contents.blocks, contents.digest):
        journal.damaged(
            "head", f"it says that there are {blocks!r} blocks, and there are {contents.blocks}; or its digest differs"
        )
    return contents


def _read_plan(journal: JournalFile, contents: Contents, plan: str) -> None:
    with journal.guarded("suite"):
        suites = journal.connection.execute("SELECT json, members FROM suite").fetchall()
    with journal.guarded("members"):
        rows = journal.connection.execute(f"SELECT {', '.join(COLUMNS['members'])} FROM members ORDER BY rowid")
        members = rows.fetchall()
    if not suites and not members and plan == "":
        return
    if len(suites) != 1:
        journal.damaged("suite", f"it has {len(suites)} rows, not one")
    if row_digest("suite", *suites[0]) != plan:
        journal.damaged("suite", "the suite is not what was stored: its digest differs from that in the table head")
    if members_digest(members) != suites[0][1]:
        journal.damaged("members", "the plan is not what was stored: its digest differs")
    contents.plan(suites[0][0], members)


def _read_blocks(journal: JournalFile, contents: Contents) -> None:
    tables = [_Rows(journal, table) for table in RESULTS]
    with journal.guarded("blocks"):
        rows = journal.connection.execute(f"SELECT digest, {', '.join(COLUMNS['blocks'])} FROM blocks ORDER BY block")
        blocks = rows.fetchall()
    for stored, *values in blocks:
        seals = [contents.digest]
        for rows_of in tables:
            for row, seal, held in rows_of.rows_of_block(values[0]):
                contents.add(rows_of.table, row, held, seal)
                seals.append(seal)
        contents.blocks += 1
        contents.digest = row_digest("blocks", *values, *seals)
        if contents.digest != stored:
            journal.damaged(
                "blocks",
                f"block {values[0]} (n = {values[3]}, repetition {values[4]}) is not what was stored, or has not the "
                "rows of cells, losses and curves that it had: its digest differs",
            )
    for rows_of in tables:
        if rows_of.next is not None:
            journal.damaged(rows_of.table, f"rows of block {rows_of.next[2]} are here and the block is not")


class StoredResults(Protocol):
    """A run's plan and all that was computed for it.

    Attributes
    ----------
    path : Path
        What errors name.
    """

    path: Path

    def suite_text(self) -> str:
        """Return the JSON of the suite's record."""

    def record(self) -> SuiteRecord:
        """Return the suite's record."""

    def members(self) -> list[Member]:
        """Return every cell that an experiment shows, in a fixed order."""

    def cells(self) -> dict[str, StoredCell]:
        """Return what became of every cell of the plan that was computed."""

    def losses(self, cell: str, metric: str, split: Split) -> NDArray[np.float64] | None:
        """Return a cell's loss of every unit, shape (U_split,), or None where it has none."""

    def curves(self, cell: str) -> dict[str, Curve]:
        """Return a cell's curves by metric."""

    def progress(self) -> tuple[int, int]:
        """Return how many cells of the plan were computed, and how many there are."""


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


class Journal(JournalFile):
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
        super().__init__(directory, create=create)
        with self.guarded():
            try:
                self.check_format(create=create)
                self.contents = self._contents()
                if not is_sound(self.connection, self.path):
                    self._take_up(create=create)
            except BaseException:
                self.connection.close()
                raise

    def planned(self) -> bool:
        """Return whether a run has written its plan here."""
        return bool(self.contents.suite)

    def suite_text(self) -> str:
        """Return the JSON of the suite that the last run resolved; empty before the first plan."""
        return self.contents.suite

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
            raise StoreError(f"{self.path}: table suite: the stored suite cannot be read ({error}); {MOVE}") from error

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

    def _take_up(self, *, create: bool) -> None:
        """Go on with the rows, which are whole, in a sound file: a new one, or a copy where only to be read."""
        old = self.connection
        if create:
            with self.guarded("sqlite_master"):
                repaired(old, self.path)
            old.close()
            self.connect()
        else:
            self.connection = copied_journal(old)
            old.close()
        self.contents = self._contents()

    def _row(self, table: str, place: Place) -> tuple[Any, ...]:
        """Return the row at a place, if it is the one that was found there when the file was opened."""
        with self.guarded(table):
            row = self.connection.execute(
                f"SELECT {', '.join(COLUMNS[table])} FROM {table} WHERE rowid = ?", (place.row,)
            ).fetchone()
        if row is None or row_digest(table, *row) != place.seal:
            self.damaged(table, f"row {place.row} is not what was stored: its digest differs")
        return tuple(row)

    def _contents(self) -> Contents:
        """Return all but the numbers, as of one moment, every digest checked."""
        self.connection.execute("BEGIN")
        try:
            found = read_contents(self)
            self.kept = found.blocks
            return found
        finally:
            self.connection.rollback()
