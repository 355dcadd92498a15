"""The journal: one SQLite file that holds a run's plan and everything computed for it.

Blocks are only ever added, each in one transaction and under a digest of all that was
stored for it. The latest row of a cell is the one that counts: a failed cell is computed
again by the next run, an answer is never replaced (`rankbench.results.store` sees to it).
A rollback journal (not WAL) keeps a run at rest in one file that can be copied.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from rankbench.errors import StoreError
from rankbench.results.schema import Curve, Member, Split, Status, SuiteRecord

__all__ = ["FILE", "Journal", "StoredCell", "block_digest"]

FILE = "journal.sqlite"
APPLICATION_ID = 0x52424A4C
VERSION = 2

TABLES = """
CREATE TABLE suite (json TEXT NOT NULL);
CREATE TABLE members (
    experiment TEXT NOT NULL, label TEXT NOT NULL, spec TEXT NOT NULL, config TEXT NOT NULL, n INTEGER NOT NULL,
    n_declared INTEGER NOT NULL, repetition INTEGER NOT NULL, cell TEXT NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (experiment, n, repetition, label)
);
CREATE TABLE blocks (
    block INTEGER PRIMARY KEY, protocol TEXT NOT NULL, dataset TEXT NOT NULL, n INTEGER NOT NULL,
    repetition INTEGER NOT NULL, seed INTEGER NOT NULL, seconds REAL NOT NULL, digest TEXT NOT NULL
);
CREATE TABLE cells (
    block INTEGER NOT NULL REFERENCES blocks, cell TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
    optimality REAL, info TEXT NOT NULL, PRIMARY KEY (cell, block)
);
CREATE INDEX cells_of_block ON cells (block);
CREATE TABLE losses (
    block INTEGER NOT NULL REFERENCES blocks, cell TEXT NOT NULL, metric TEXT NOT NULL, split TEXT NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX losses_of_cell ON losses (cell, metric, split);
CREATE INDEX losses_of_block ON losses (block);
CREATE TABLE curves (
    block INTEGER NOT NULL REFERENCES blocks, cell TEXT NOT NULL, metric TEXT NOT NULL, steps BLOB NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX curves_of_cell ON curves (cell, metric);
CREATE INDEX curves_of_block ON curves (block);
"""

_PARTS = (
    "SELECT protocol, dataset, n, repetition, seed, seconds FROM blocks WHERE block = ?",
    "SELECT cell, status, reason, optimality, info FROM cells WHERE block = ? ORDER BY cell",
    "SELECT cell, metric, split, data FROM losses WHERE block = ? ORDER BY cell, metric, split",
    "SELECT cell, metric, steps, data FROM curves WHERE block = ? ORDER BY cell, metric",
)


@dataclass(frozen=True)
class StoredCell:
    """What the journal says of one cell, without its losses."""

    status: Status
    reason: str
    optimality: float
    info: dict[str, float]


def block_digest(connection: sqlite3.Connection, block: int) -> str:
    """Return the blake2b digest of every row stored for a block, in a fixed order."""
    digest = hashlib.blake2b(digest_size=16)
    for part in _PARTS:
        for row in connection.execute(part, (block,)):
            for value in row:
                data = value if isinstance(value, bytes) else repr(value).encode()
                digest.update(len(data).to_bytes(8, "little") + data)
        digest.update(b"|")
    return digest.hexdigest()


class Journal:
    """A run's journal, open for reading; a run that is writing to it is not disturbed.

    Parameters
    ----------
    directory : Path
        The run's folder.

    Raises
    ------
    StoreError
        There is no journal, it is not one of ours, another version wrote it, or its
        contents do not match their digests.
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
                self._check(create=create)
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
    def guarded(self) -> Iterator[None]:
        """Turn SQLite's errors into `StoreError`, saying what to do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{self.path}: {error}; check the disk and the folder's permissions and run again "
                "(every committed block is kept)"
            ) from error
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path}: {error}; {_MOVE}") from error

    def planned(self) -> bool:
        """Return whether a run has written its plan here."""
        with self.guarded():
            return self.connection.execute("SELECT 1 FROM suite").fetchone() is not None

    def record(self) -> SuiteRecord:
        """Return the suite that the last run resolved.

        Raises
        ------
        StoreError
            No run has written its plan yet, or it cannot be read.
        """
        with self.guarded():
            row = self.connection.execute("SELECT json FROM suite").fetchone()
        if row is None:
            raise StoreError(f"{self.path}: the journal is empty: no run has planned anything yet; run the suite first")
        try:
            return SuiteRecord.model_validate(json.loads(row[0]))
        except (ValidationError, ValueError) as error:
            raise StoreError(f"{self.path}: the stored suite cannot be read ({error}); {_MOVE}") from error

    def members(self) -> list[Member]:
        """Return the plan: every cell that an experiment shows, in a fixed order."""
        with self.guarded():
            rows = self.connection.execute(
                "SELECT experiment, label, spec, config, n, n_declared, repetition, cell, position FROM members "
                "ORDER BY experiment, n, position, label, repetition"
            ).fetchall()
        return [
            Member(experiment, label, spec, json.loads(config), n, declared, repetition, cell, position)
            for experiment, label, spec, config, n, declared, repetition, cell, position in rows
        ]

    def cells(self) -> dict[str, StoredCell]:
        """Return the latest row of every cell of the plan that has one."""
        with self.guarded():
            rows = self.connection.execute(
                "SELECT cell, status, reason, optimality, info FROM cells "
                "WHERE cell IN (SELECT cell FROM members) ORDER BY cell, block"
            ).fetchall()
        return {
            cell: StoredCell(status, reason, math.nan if optimality is None else optimality, json.loads(info))
            for cell, status, reason, optimality, info in rows
        }

    def losses(self, cell: str, metric: str, split: Split) -> NDArray[np.float64] | None:
        """Return a cell's loss of every unit, shape (U_split,), or None where it has none."""
        with self.guarded():
            row = self.connection.execute(
                "SELECT data FROM losses WHERE cell = ? AND metric = ? AND split = ? ORDER BY block DESC LIMIT 1",
                (cell, metric, split),
            ).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype="<f8").astype(np.float64)

    def curves(self, cell: str) -> dict[str, Curve]:
        """Return a cell's curves by metric."""
        with self.guarded():
            rows = self.connection.execute(
                "SELECT metric, steps, data FROM curves WHERE cell = ? ORDER BY metric, block", (cell,)
            ).fetchall()
        return {
            metric: Curve(
                np.frombuffer(steps, dtype="<i8").astype(np.int64), np.frombuffer(data, dtype="<f8").astype(np.float64)
            )
            for metric, steps, data in rows
        }

    def progress(self) -> tuple[int, int]:
        """Return how many cells of the plan have a row, and how many there are."""
        with self.guarded():
            have, planned = self.connection.execute(
                "SELECT count(DISTINCT c.cell), count(DISTINCT m.cell) FROM members m LEFT JOIN cells c USING (cell)"
            ).fetchone()
        return int(have), int(planned)

    def _check(self, *, create: bool) -> None:
        query = self.connection.execute
        owner, version = query("PRAGMA application_id").fetchone()[0], query("PRAGMA user_version").fetchone()[0]
        tables = query("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if create and not tables and not owner and not version:
            self.connection.executescript(
                f"BEGIN EXCLUSIVE; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
                f"{TABLES}; COMMIT;"
            )
            return
        if owner != APPLICATION_ID:
            raise StoreError(f"{self.path}: this SQLite file is not a journal of rankbench; choose another folder")
        if version != VERSION:
            raise StoreError(
                f"{self.path}: the journal has version {version} and this rankbench reads version {VERSION}; "
                "use the rankbench that wrote it, or choose another folder"
            )
        sound = query("PRAGMA quick_check(1)").fetchone()[0]
        if sound != "ok":
            raise StoreError(f"{self.path}: {' '.join(str(sound).split())}; {_MOVE}")
        for block, n, repetition, digest in query("SELECT block, n, repetition, digest FROM blocks").fetchall():
            if block_digest(self.connection, block) != digest:
                raise StoreError(
                    f"{self.path}: block {block} (n = {n}, repetition {repetition}) is not what was stored: "
                    f"its digest differs; {_MOVE}"
                )
        for table in ("cells", "losses", "curves"):
            lost = query(f"SELECT block FROM {table} WHERE block NOT IN (SELECT block FROM blocks)").fetchone()
            if lost is not None:
                raise StoreError(f"{self.path}: {table} of block {lost[0]} are here and the block is not; {_MOVE}")


_MOVE = "the journal is damaged: move it away (or bring back a copy of it) and run again"
