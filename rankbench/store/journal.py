"""The journal: one SQLite file that holds a run's plan and everything computed for it.

Blocks are only ever added, each in one transaction. The latest row of a cell is the one that
counts: a failed cell is computed again by the next run, an answer is never replaced
(`rankbench.store.store` sees to it). A rollback journal (not WAL) keeps a run at rest in one
file that can be copied.

Everything is under a digest (`rankbench.store.seals`): each row of results has one of its own,
each block one of its rows' digests and of the block before it, and the only row of ``head`` says
what the last block's is, and the plan's. All of them are looked at when the file is opened, and a
row's again when it is read. What no row is part of may be damaged (`rankbench.store.journal_repair`).
There is no index, which could lead to other rows than the table holds: what was found while
checking is remembered by its place. To open a journal of 83 MB takes half a second, a tenth of it
for pages that hold no row; one that must be copied or repaired takes 1.8 s.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from rankbench.errors import StoreError
from rankbench.kinds.cell import Curve, Split
from rankbench.store.contents import COLUMNS, Contents, Place, StoredCell, read_contents
from rankbench.store.file import MOVE, JournalFile
from rankbench.store.journal_repair import copied_journal, is_sound, repaired
from rankbench.store.records import Member, SuiteRecord
from rankbench.store.seals import row_digest

__all__ = ["Journal"]


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
