"""The roles of a score table define its rows: a cell, or a system or a task with its scores side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from rankbench.core.text import count_text
from rankbench.data.tables.cells import is_nothing, name_of, only_rows, refuse_lists, rows_left_out, says, text_of
from rankbench.data.tables.column_texts import first_cells, looks, shown_columns
from rankbench.errors import InputError, Unread, option
from rankbench.interfaces.reading import Reading, expression_of, fits, has_wildcards, names_text
from rankbench.interfaces.table_check import QUOTED, RawTable

COLUMN_OF = {"task": "query_id", "system": "system", "seed": "seed"}
"""Columns of the schema, by the roles of names that rows have."""

BETWEEN = " / "
"""Stands between the names of several columns that make one name."""

SHOWN = 5
"""Columns that a sentence names."""

_SCORES = ("score", "loss", "scores", "losses")


@dataclass(frozen=True, eq=False)
class ScoreLayout:
    """The columns of a score table that are read.

    Attributes
    ----------
    reading : Reading
        With the columns that patterns stand for.
    cells : list of str
        Columns of scores.
    losses : set of str
        Those of them in which less is better.
    side : {"", "task", "system"}
        The columns are called as tasks, or systems; empty: a row is one cell.
    wild : set of str
        Those that a pattern names.
    ignored : tuple of str
        Tasks and systems of rows that are left out.
    schema : Schema
    """

    reading: Reading
    cells: list[str]
    losses: frozenset[str]
    side: str
    wild: frozenset[str]
    ignored: tuple[str, ...]
    schema: pl.Schema

    @classmethod
    def told(cls, raw: RawTable, told: Reading) -> ScoreLayout:
        """Return the layout of a table by a reading.

        Raises
        ------
        Unread
            Its roles make no score table.
        InputError
            A column is not there, or holds no single values.
        """
        schema = raw.schema
        with raw.located():
            reading = told.expanded(schema.names())
        given = {role: [name for name in reading.all(role) if name not in reading.all("ignore")] for role in _SCORES}
        ignored = tuple(name for name in told.all("ignore") if not any(fits(one, name) for one in schema))
        columns = {role: tuple(names) or ("",) for role, names in given.items() if role in reading.columns}
        if ignored:
            columns["ignore"] = (*reading.all("ignore"), *ignored)
        reading = reading.with_(columns)
        named = {name for role in _SCORES for name in told.columns.get(role, ())}
        # In the order of the file: resamples, and so intervals, do not change with the telling.
        chosen = {name for names in given.values() for name in names}
        cells = [name for name in schema if name in chosen]
        wild = frozenset(cells) - named
        losses = frozenset([*given["loss"], *given["losses"]])
        layout = cls(reading, cells, losses, _side(raw, reading, given), wild, ignored, schema)
        names = (*cells, *layout.columns(*COLUMN_OF, "metric"))
        refuse_lists(raw, names)
        for name in names:
            if schema[name].is_temporal() or schema[name] == pl.Binary:
                what = "numbers" if name in cells else "names"
                raise InputError(f"the column holds {str(schema[name])[:QUOTED]}, not {what}", column=name)
        return layout

    def columns(self, *roles: str) -> list[str]:
        """Return the columns of some roles."""
        return [name for role in roles for name in self.reading.all(role)]

    def rows(self) -> list[str]:
        """Return the roles of names that rows have."""
        return [role for role in COLUMN_OF if self.reading.first[role]]

    def text(self, role: str) -> str:
        """Return the columns of a role, for people."""
        return BETWEEN.join(self.reading.all(role)) or role

    def kept(self, raw: RawTable) -> RawTable:
        """Return the rows that are read; errors name the rows of the file.

        Raises
        ------
        InputError
            A column of a condition is not there.
        """
        gone = [*rows_left_out(raw, self.reading).values()]
        if missing := self.reading.words.get("missing"):
            names = (text_of(name) for name in self.columns(*COLUMN_OF, "metric"))
            gone += [is_nothing(text) & says(text, missing) for text in names]
        if self.ignored:
            gone += [self._called(side, self.ignored) for side in self.columns("system", "task")]
        return replace(only_rows(raw, ~pl.any_horizontal(gone)), filtered=True) if gone else raw

    def left_out(self, raw: RawTable, rows: int) -> tuple[Reading, list[str]]:
        """Return the reading, without ignored names that do not occur, and a note on the rows left out.

        Raises
        ------
        InputError
            No row is left, or a name to ignore is a task and a system.
        """
        places = [(name, side) for name in self.ignored for side in self.columns("system", "task")]
        wanted = [self._called(side, (name,)).any().alias(str(at)) for at, (name, side) in enumerate(places)]
        every, *found = raw.facts(pl.len(), *wanted)
        if not rows:
            raise InputError(f"none of {count_text(every, 'row')} is left, or there are no rows")
        there = Counter(name for (name, _), some in zip(places, found, strict=True) if some)
        if both := [name for name, sides in there.items() if sides > 1]:
            raise InputError(f"{both[0]!r} is a task and a system: which of them to ignore is not clear")
        names = tuple(name for name in self.reading.all("ignore") if name in there or name not in self.ignored)
        note = [f"rankbench leaves out {every - rows:,} of {count_text(every, 'row')}"] if every > rows else []
        return self.reading.with_({"ignore": names}) if self.ignored else self.reading, note

    def _called(self, side: str, names: Sequence[str]) -> pl.Expr:
        """Return whether a task or a system is one of some names, or matches a pattern that is no name itself."""
        found = name_of(side).is_in(names)
        for name in filter(has_wildcards, names):
            there = pl.any_horizontal(name_of(one) == name for one in self.columns("system", "task")).any()
            found |= ~there & name_of(side).str.contains(f"(?s)^{expression_of(name)}$")
        return found

    def says(self, way: str) -> tuple[str, ...]:
        """Return the parts of the line that states it; `way` is the better one where a row is a cell."""
        seed = [f"{self.text('seed')} numbers repetitions"] if self.reading.first["seed"] else []
        if not self.side:
            return (f"{self.text('system')} on {self.text('task')}", f"{self.cells[0]}: {way}", *seed)
        kinds: dict[str, list[str]] = {"score": [], "loss": []}
        for name in self.cells:
            kinds["loss" if name in self.losses else "score"].append(name)
        side = [
            f"{len(some)} {kind if len(some) == 1 else plural}: {', '.join(some[:SHOWN])}{', ..' * (len(some) > SHOWN)}"
            for (kind, some), plural in zip(kinds.items(), ("scores", "losses"), strict=True)
            if some
        ]
        return (self.text("system") if self.side == "task" else f"{self.text('task')}, a row a task", *side, *seed)


def _side(raw: RawTable, reading: Reading, given: Mapping[str, Sequence[str]]) -> str:
    """Return the kind of names in the columns of scores; empty: a row is one cell.

    Raises
    ------
    Unread
        Roles are missing, or contradict each other.
    """
    one, several = [*given["score"], *given["loss"]], [*given["scores"], *given["losses"]]
    system, task = reading.first["system"], reading.first["task"]
    rest = names_text({role: reading.all(role) for role in ("system", "task", "score", "loss") if reading.first[role]})
    lacking = "".join(f"{role}=____," for role in ("system", "task") if not reading.first[role])
    side, row = option("columns", "scores=____|____"), option("columns", "score=____")
    wrong = (
        ((one and several) or len(one) > 1, "a row has one score or loss, or scores and losses side by side, not both",
         f"{row}, or scores=____|____"),
        (one and lacking, "a row of one score needs a system and a task", option("columns", lacking + rest)),
        (not one and not several, "no column of scores is named",
         f"{side} (more is better), losses=____|____ (less is better)"
         + ", or score=____ where a row is a system on a task" * (bool(system) == bool(task))),
        (several and not system and not task, "no column names the systems",
         f"{option('columns', 'system=____')}, or task=____ where a row is a task"),
        (several and system and task, "a row has a system and a task, and scores side by side",
         f"{row} for one of them; or leave the task out, where these columns are tasks"),
        (several and task and given["scores"] and given["losses"],
         "a row is a task, and columns are systems: of some more is better, of others less",
         f"{side}, or losses=____|____"),
        (several and reading.first["metric"], "a metric says which way is better where a row is one score",
         option("columns", "scores=____,losses=____")),
    )  # fmt: skip
    for holds, message, step in wrong:
        if holds:
            left = [name for name in raw.schema.names() if name not in reading.all("ignore")]
            shown = {name: looks(cells) for name, cells in first_cells(raw, left).items()}
            raise Unread(message, step, code="roles", shown=shown_columns(shown))
    return "" if one else "task" if system else "system"
