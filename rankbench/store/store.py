"""The store is the one writer of a run's journal.

Losses are kept as float64: two hundred blocks of fifty cells on a thousand queries are
80 MB, noise does not compress, and a float32 would put its rounding between a report and
the numbers that were computed.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from rankbench.errors import StoreError, option
from rankbench.interfaces.cell import BlockResult, CellResult
from rankbench.store.journal import FILE, Journal
from rankbench.store.records import Member, Place, StoredValue, SuiteRecord, plan_digest, row_digest, stored_number

LOCK = "journal.lock"
REPORTED = (
    "leaderboard.html", "leaderboard.md", "details.md", "leaderboard.csv", "claims.csv", "results.parquet", "units.csv",
    "run.json",
)  # fmt: skip
"""Files that a run writes beside its journal and its figures."""


class Store(Journal):
    """A run's journal, open for writing by this process alone.

    `kill -9` at any moment loses at most the block that was being committed.

    Parameters
    ----------
    directory : Path or str
        The run's folder; it is made, and locked.

    Raises
    ------
    StoreError
        Another run holds the lock; the file is not one of ours, of another version,
        or damaged; or there is none, and files that the run would write over.
    """

    def __init__(self, directory: Path | str) -> None:
        folder = Path(directory)
        _check_foreign(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{folder}: cannot make the folder ({error}); choose another one") from error
        self._lock = _lock(folder)
        try:
            super().__init__(folder, create=True)
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Close the journal and release the lock."""
        super().close()
        self._lock.close()

    def begin(self, suite_json: dict[str, Any], members: Sequence[Member]) -> None:
        """Replace the plan; cells stay.

        Parameters
        ----------
        suite_json : dict
            The resolved suite, see `SuiteRecord`.
        members : sequence of Member
            Cells that each experiment shows.

        Raises
        ------
        ValidationError
            The suite could not be read back.
        """
        SuiteRecord.model_validate(suite_json)
        text = json.dumps(suite_json, sort_keys=True)
        rows = [(m.experiment, m.label, m.spec, json.dumps(m.config, sort_keys=True), *astuple(m)[4:]) for m in members]
        with self._transaction():
            self.connection.execute("DELETE FROM suite")
            self.connection.execute("DELETE FROM members")
            self.connection.execute("INSERT INTO suite VALUES (?)", (text,))
            self.connection.executemany("INSERT INTO members VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self.connection.execute("UPDATE head SET plan = ?", (plan_digest(text, rows),))
        self.contents.plan(text, rows)

    def known(self, cell_ids: Iterable[str]) -> set[str]:
        """Return the `cell_ids` that are done, diverged or skipped."""
        return self.contents.answered.intersection(cell_ids)

    def commit(self, block: BlockResult) -> None:
        """Store a block in one transaction.

        A cell that has an answer already is left as it is: cells are input-addressed, so
        the new one is equal. A failed cell is replaced. Callers check that a block's cells can be
        read back (`rankbench.interfaces.cell.cell_problem`).

        Raises
        ------
        StoreError
            The disk refused.
        """
        known = self.known(cell.cell for cell in block.cells)
        new = [cell for cell in block.cells if cell.cell not in known]
        if not new:
            return
        key, number = block.key, self.contents.blocks + 1
        values = (number, key.protocol, key.dataset, int(key.n), int(key.repetition), int(key.seed))
        row = (*values, stored_number(block.seconds))
        with self._transaction():
            stored = [
                (table, values, Place(self._insert(table, values), row_digest(table, *values)))
                for table, rows in _rows(number, new).items()
                for values in rows
            ]
            digest = row_digest("blocks", *row, self.contents.digest, *(place.digest for *_, place in stored))
            self.connection.execute("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, digest))
            self.connection.execute("UPDATE head SET blocks = ?, digest = ?", (number, digest))
        for one in stored:
            self.contents.add(*one)
        self.contents.blocks = number
        self.contents.digest = digest

    def _insert(self, table: str, values: tuple[StoredValue, ...]) -> int:
        """Store a row; return its place."""
        marks = ", ".join("?" * len(values))
        return self.connection.execute(f"INSERT INTO {table} VALUES ({marks})", values).lastrowid or 0

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self.guarded():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                self.connection.rollback()
                raise


def _rows(block: int, cells: Sequence[CellResult]) -> dict[str, list[tuple[StoredValue, ...]]]:
    """Return a block's rows by table, in the order in which the journal reads them."""
    rows: dict[str, list[tuple[StoredValue, ...]]] = {"cells": [], "losses": [], "curves": []}
    for cell in cells:
        info = json.dumps({name: float(value) for name, value in cell.info.items()}, sort_keys=True)
        number = stored_number(cell.optimality)
        rows["cells"].append((block, cell.cell, cell.status, cell.reason, cell.trace, number, info))
        for (metric, split), losses in sorted(cell.losses.items()):
            rows["losses"].append((block, cell.cell, metric, split, np.asarray(losses, dtype="<f8").tobytes()))
        for metric, curve in sorted(cell.curves.items()):
            steps, values = np.asarray(curve.steps, "<i8").tobytes(), np.asarray(curve.values, "<f8").tobytes()
            rows["curves"].append((block, cell.cell, metric, steps, values))
    return rows


def _check_foreign(folder: Path) -> None:
    """Raise if a folder without a journal holds files that a run would overwrite or remove."""
    if os.path.lexists(folder / FILE):
        return
    found = [name for name in REPORTED if os.path.lexists(folder / name)]
    figures = sorted((folder / "figures").glob("*.*"))
    found += [f"figures/{path.name}" for path in figures if path.suffix in (".svg", ".png", ".csv")]
    if found:
        raise StoreError(
            f"{folder} has no journal of a run ({FILE}), but {found[0]}, which would be lost; choose another "
            f"{option('out')}, or move it away"
        )


def _lock(folder: Path) -> sqlite3.Connection:
    """Take the folder's lock: an SQLite one too, released by the system when a process dies."""
    path = folder / LOCK
    connection: sqlite3.Connection | None = None
    try:
        if path.is_file() and path.stat().st_size:
            os.truncate(path, 0)  # it is always empty; a file with contents could not be locked
        connection = sqlite3.connect(path, timeout=0.0, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
    except (sqlite3.Error, OSError) as error:
        if connection is not None:
            connection.close()
        if "locked" in str(error):
            raise StoreError(
                f"{folder}: another run is writing here; wait for it, stop it, or choose another {option('out')}"
            ) from error
        raise StoreError(f"{path}: cannot lock the folder ({error}); check its permissions") from error
    return connection
