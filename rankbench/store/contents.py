"""Contents of a journal: its tables, the digests of rows and plans, and what a reader keeps in memory."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from rankbench.interfaces.cell import ANSWERS, Split, Status
from rankbench.store.records import Member

TABLES = {
    "head": "plan TEXT, blocks INTEGER, digest TEXT",
    "suite": "json TEXT",
    "members": "experiment TEXT, label TEXT, spec TEXT, config TEXT, n INTEGER, n_declared INTEGER, "
    "repetition INTEGER, cell TEXT, position INTEGER",
    "blocks": "block INTEGER, protocol TEXT, dataset TEXT, n INTEGER, repetition INTEGER, seed INTEGER, seconds REAL, "
    "digest TEXT",
    "cells": "block INTEGER, cell TEXT, status TEXT, reason TEXT, trace TEXT, optimality REAL, info TEXT",
    "losses": "block INTEGER, cell TEXT, metric TEXT, split TEXT, data BLOB",
    "curves": "block INTEGER, cell TEXT, metric TEXT, steps BLOB, data BLOB",
}
"""The tables of a journal, as SQL."""

SCHEMA = tuple((name, f"CREATE TABLE {name} ({columns})") for name, columns in TABLES.items())

COLUMNS = {name: tuple(column.split()[0] for column in columns.split(", ")) for name, columns in TABLES.items()}
"""Names of the columns of each table, in their order."""

RESULTS = ("cells", "losses", "curves")
"""Tables whose rows belong to a block."""

StoredValue: TypeAlias = "str | int | float | bytes | None"
"""Python types of the values that SQLite stores."""


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


def plan_digest(suite: str, members: Sequence[tuple[StoredValue, ...]]) -> str:
    """Return the digest of a plan: of the suite's JSON and of the rows of members, in their order."""
    return row_digest("plan", suite, *(row_digest("members", *row) for row in members))


def stored_number(value: float) -> float | None:
    """Return a number as SQLite gives it back: without the sign of a zero, and no nan."""
    number = float(value)
    return None if math.isnan(number) else number + 0.0


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a cell of a table.

    Raises
    ------
    ValueError, TypeError, RecursionError
        It holds none.
    """
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"{text!r} is no JSON object")
    return found


@dataclass(frozen=True)
class StoredCell:
    """A cell in the journal, without its losses."""

    status: Status
    reason: str
    optimality: float
    info: dict[str, float]
    trace: str = ""


class Place(NamedTuple):
    """Where a row is, and the digest of what it holds."""

    row: int
    digest: str


@dataclass
class Contents:
    """Contents of a journal when it was opened.

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
        Digest of the last block, and so of all blocks; empty without one.
    """

    suite: str = ""
    members: list[Member] = field(default_factory=list)
    cells: dict[str, StoredCell] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    losses: dict[tuple[str, str, Split], Place] = field(default_factory=dict)
    curves: dict[str, dict[str, Place]] = field(default_factory=dict)
    blocks: int = 0
    digest: str = ""

    def add(self, table: str, values: tuple[Any, ...], place: Place) -> None:
        """Take up a row of a block; a later one of a cell stands in the place of an earlier one."""
        cell = sys.intern(values[1])
        if table == "cells":
            _, _, status, reason, trace, optimality, info = values
            known = math.nan if optimality is None else optimality
            self.cells[cell] = StoredCell(status, reason, known, json_object(info), trace)
            if status in ANSWERS:
                self.answered.add(cell)
        elif table == "losses":
            self.losses[cell, sys.intern(values[2]), sys.intern(values[3])] = place  # type: ignore[index]
        else:
            self.curves.setdefault(cell, {})[sys.intern(values[2])] = place

    def plan(self, suite: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Take up a plan, the rows of its tables, in the place of the former one."""
        configs = {text: json_object(text) for text in {row[3] for row in rows}}
        members = [
            Member(experiment, label, spec, configs[config], n, declared, repetition, cell, position)
            for experiment, label, spec, config, n, declared, repetition, cell, position in rows
        ]
        self.suite = suite
        self.members = sorted(members, key=lambda m: (m.experiment, m.n, m.order, m.label, m.repetition))
