"""Kinds of tables by name and by the roles in a reading."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Literal

import polars as pl

from rankbench.core.text import count_text, listed
from rankbench.data.tables import rankbench_register
from rankbench.data.tables.cells import absent_words, only_rows, text_of
from rankbench.errors import InputError, SpecError, Unread, nearest, option
from rankbench.interfaces.reading import ITEM_ROLES, NO_COLUMNS, SEVERAL, Reading
from rankbench.interfaces.table import QUERY, TableKind
from rankbench.interfaces.table_check import RawTable, ReadTable
from rankbench.plugin import manager


@cache
def built_in() -> Mapping[str, TableKind]:
    """Return the built-in kinds by name, also while plugins are loaded."""
    return {kind.name: kind() for kind in rankbench_register() if isinstance(kind, type)}


def table_kind(name: str) -> TableKind:
    """Return the kind of table of that name.

    Raises
    ------
    SpecError
        There is none; the message has the nearest.
    """
    return manager.get(TableKind, name)


def table_kinds() -> list[TableKind]:
    """Return all kinds in the order of recognition: the built-in ones, then plugins' by name."""
    ours = list(built_in())
    theirs = [name for name in manager.names(TableKind.kind) if name not in ours]
    return [table_kind(name) for name in (*ours, *theirs)]


def default_of(kind: TableKind, fact: Literal["method", "history", "suite"]) -> str:
    """Return a kind of table's method (or that of scores over time) or suite: its own, or of the kind of its rows."""
    own = getattr(kind, fact)
    if own or not kind.judgments:
        return str(own)
    return next((getattr(k, fact) for k in built_in().values() if k.row == kind.row), "")


def not_judged(what: str, kind: TableKind, wanted: Literal["judgments", "method", "suite"]) -> SpecError:
    """Return the error for a table of a kind that aggregators, or a suite for logs, do not take."""
    # Score tables have a subcommand of their own.
    kinds = [other for other in table_kinds() if "measurements" not in other.judgments]
    words = [other.words or other.name for other in kinds if getattr(other, wanted)]
    those = " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
    return SpecError(f"{what} holds {kind}, not judgments: {those}")


def shapes_of(kind: TableKind) -> tuple[tuple[str, ...], ...]:
    """Return the sets of roles that are each sufficient for a table of a kind."""
    return kind.shapes or (tuple("query" if name == QUERY else name for name in kind.columns),)


def beside_of(kind: TableKind) -> tuple[str, ...]:
    """Return the roles that columns of a kind may have besides: of a kind without shapes, its optional columns."""
    return kind.beside if kind.shapes else (*kind.optional, *kind.beside)


def roles_of(kind: TableKind) -> set[str]:
    """Return all roles that columns of a kind may have."""
    return {*beside_of(kind), *(role for shape in shapes_of(kind) for role in shape)}


def complete_shapes(roles: Collection[str], kinds: Collection[TableKind]) -> list[tuple[TableKind, tuple[str, ...]]]:
    """Return the kinds whose required roles are given, with these roles; only the largest sets of roles."""
    found = [(kind, shape) for kind in kinds for shape in shapes_of(kind) if set(shape) <= set(roles)]
    return [(kind, shape) for kind, shape in found if not any(set(shape) < set(other) for _, other in found)]


def given_roles(reading: Reading) -> set[str]:
    """Return the roles that have a column, or a value."""
    return {role for role, names in reading.columns.items() if any(names)}


def table_kind_of(reading: Reading, kinds: Collection[TableKind] | None = None) -> TableKind:
    """Return the kind of table of a reading.

    Raises
    ------
    InputError
        It has a role that this kind has not.
    Unread
        Its roles make no table, or one of them is not read beside the others.
    """
    of = table_kinds() if kinds is None else kinds
    roles = given_roles(reading)
    found = complete_shapes(roles, of)
    if not found:
        raise _incomplete(reading, of)
    kind = found[0][0]
    check_roles(reading, [kind])
    complete = [set(shape) for other, shape in found if other is kind]
    read = {role for shape in shapes_of(kind) if any(own <= set(shape) for own in complete) for role in shape}
    if unread := sorted(roles - read - {*beside_of(kind)} - NO_COLUMNS):
        what = f"{listed(unread)} {'is' if len(unread) == 1 else 'are'} not read beside {listed(sorted(complete[0]))}"
        raise Unread(what, f"{option('columns', ','.join(f'{role}=' for role in unread))} leaves it out", code="roles")
    return kind


def applied(raw: RawTable, reading: Reading, kinds: Collection[TableKind] | None = None) -> ReadTable:
    """Return a table with the column names of its reading's kind.

    Raises
    ------
    InputError, Unread
        See `TableKind.read`.
    """
    kind, frame = table_kind_of(reading, kinds), raw.frame
    for role, names in reading.columns.items():
        if role in SEVERAL | NO_COLUMNS:
            continue
        if lacking := [name for name in names if name in raw.lacking]:
            without = f"give other files, or read all without it: {option('columns', f'{role}=')}"
            what = f"the file has no column {lacking[0]!r}, the {role} of others"
            raise InputError(f"{what}; {without}", path=raw.lacking[lacking[0]], column=lacking[0])
    for name, form in reading.split.items():
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(form))
        parts = text_of(name).str.extract_groups(f"(?s)^{pattern}$")
        frame = frame.with_columns(parts.struct.field(part).alias(part) for part in re.findall(r"\{(\w+)\}", form))
    table, notes = _once(replace(raw, frame=_renamed(frame, reading)), reading.once)
    found = kind.read(table, reading)
    # The words of a format are those of many files.
    absent = [] if reading.format else absent_words(table, reading)
    return replace(found, notes=(*notes, *found.notes, *absent))


def _renamed(frame: pl.LazyFrame, reading: Reading) -> pl.LazyFrame:
    """Return a table with one name for an item of several names, in the columns that name items."""
    names = {other: name for name, others in reading.same.items() for other in others}
    columns = [one for role in ITEM_ROLES for one in reading.all(role)] if names else []
    return frame.with_columns(text_of(column).replace(names).alias(column) for column in columns)


def _once(raw: RawTable, columns: Sequence[str]) -> tuple[RawTable, list[str]]:
    """Return the rows that differ in some columns, and a note on the number of the others."""
    if not columns:
        return raw, []
    first = pl.struct(text_of(name) for name in columns).is_first_distinct()
    again = raw.facts((~first).sum())[0]
    note = f"rankbench leaves out {count_text(again, 'row')} that repeat {listed(columns)} of an earlier one"
    return (only_rows(raw, first), [note]) if again else (raw, [])


def _incomplete(reading: Reading, kinds: Collection[TableKind]) -> Unread:
    """Return the question about roles that are missing beside the given ones."""
    roles = given_roles(reading)
    every = [(kind, shape) for kind in kinds for shape in shapes_of(kind)]
    if not roles - NO_COLUMNS:
        return Unread(
            "no column has a role",
            f"{option('columns', 'ROLE=____')}, as left=____,right=____,winner=____",
            code="roles",
        )
    kind, shape = max(every, key=lambda one: (len(roles & set(one[1])), -len(one[1])))
    missing = [role for role in shape if role not in roles]
    step = option("columns", ",".join(f"{role}=____" for role in missing))
    what = f"{kind.words or kind.name} need {' and '.join(missing)} beside {', '.join(sorted(roles - NO_COLUMNS))}"
    return Unread(what, step, code="roles")


_VALUES = {"mirrored": ("halve", "keep"), "self": ("drop",), "alike": ("keep",)}
"""Values that some roles may have; other roles name columns."""


def check_roles(reading: Reading, kinds: Collection[TableKind] | None = None) -> None:
    """Refuse a role that no kind of table has, and a value that a role has not.

    Raises
    ------
    InputError
    """
    of = table_kinds() if kinds is None else kinds
    known = {*NO_COLUMNS}.union(*map(roles_of, of))
    what = "columns" if kinds is None else " or ".join(kind.words or kind.name for kind in of)
    for role, names in reading.columns.items():
        if role not in known and (any(names) or kinds is None):
            raise InputError(f"there is no role {role!r} of {what}{nearest(role, known)}")
    for role, values in _VALUES.items():
        if (value := reading.first[role]) and value not in values:
            raise InputError(f"columns may say {role}={' or '.join(values)}, not {role}={value}")
    for one, other in (("winner", "loser"), ("left", "right")):
        if (name := reading.first[one]) and name == reading.first[other]:
            raise InputError(f"{one} and {other} are one column, {name!r}: an item would meet itself", column=name)
    for role in ("control", "predictions"):
        if reading.first[role] and not any("winner" in roles_of(kind) for kind in of):
            raise InputError(f"--{role} reads columns beside votes, and this file holds {what}")
