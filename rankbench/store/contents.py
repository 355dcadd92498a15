"""What a journal holds, read from front to back while every digest is checked; the numbers stay in the file."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rankbench.kinds.cell import ANSWERS, Split, Status
from rankbench.store.file import JournalFile
from rankbench.store.records import Member
from rankbench.store.seals import row_digest

__all__ = ["COLUMNS", "Contents", "Place", "StoredCell", "members_digest", "read_contents"]

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
