"""A reading is told, stands in a file beside the data, is a known format's, or follows from standard names."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from rankbench.core.text import listed
from rankbench.data.readings.formats import fitting, formats_for, known_formats, named_format
from rankbench.data.readings.question import columns_question
from rankbench.data.readings.standard import by_standard_names, names_by_role
from rankbench.data.tables.cells import NUMBER
from rankbench.data.tables.column_texts import first_cells, looks
from rankbench.data.tables.kinds import (
    applied,
    beside_of,
    check_roles,
    complete_shapes,
    given_roles,
    roles_of,
    shapes_of,
    table_kind_of,
    table_kinds,
)
from rankbench.data.tables.read_votes import outcome_disagreement
from rankbench.errors import InputError, Unread, option
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.reading import NO_COLUMNS, Reading, names_text
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import RawTable, ReadTable

ENDING = ".reading.toml"
"""Ending of a reading file: ``votes.csv.reading.toml`` stands beside ``votes.csv``."""

IN_FOLDER = f"_{ENDING[1:]}"
"""Name of the reading file of a folder, which stands in it."""

_SHOWN, _BRIEF = 4, 60


def read_table(raw: RawTable, told: Reading) -> ReadTable:
    """Return a table whose columns have the meanings that the first source gives: see the module.

    Parameters
    ----------
    raw : RawTable
    told : Reading
        Meanings that the user told, and perhaps the name of a format.

    Raises
    ------
    InputError
        The table lacks a column that was told, or a cell does not fit.
    Unread
        The meaning of columns is unknown, or values contradict it.
    """
    kinds = table_kinds()
    check_roles(told)
    with raw.located():
        if not raw.schema:
            raise raw.refusal or InputError("there are no columns: the table is empty")
        raw = _named(raw)
        if told.format:
            return _as_format(raw, told)
        roles = given_roles(told)
        kept = raw.kept or _kept(raw.path)
        if complete_shapes(roles, kinds):
            # Rows that do not count are none, whatever the columns are called.
            given = kept.model_dump(include={"where", "unless", "once", "same"}) if kept is not None else {}
            rows = Reading(**{name: said for name, said in given.items() if said})
            source = {"source": kept.source} if kept is not None and rows else {}
            return _as_told(raw, rows.model_copy(update=source).adding(told), kinds)
        if kept is not None:
            return _as_kept(raw, kept, told, kinds)
        found, near = _by_formats(raw, told)
        if found is not None:
            return found
        if raw.refusal is not None:
            raise raw.refusal
        if (read := by_standard_names(raw, told, kinds)) is not None:
            return read
        if roles - NO_COLUMNS - {role for kind in kinds for role in beside_of(kind)}:
            told.expanded(raw.schema.names())  # a misprint explains more than a role that is missing
            table_kind_of(told, kinds)
        raise columns_question(raw, kinds, near)


def _as_kept(raw: RawTable, kept: Reading, told: Reading, kinds: Sequence[TableKind]) -> ReadTable:
    """Return a table read as a data card, or the file beside it, says; raise a question on unnamed columns."""
    reading = kept.adding(told)
    table = _rows_of(raw, reading)
    found = applied(table, reading, kinds)
    named = kept.read()  # a column may have lost its role: judge=
    # A column without a name cannot be named there: it is an index.
    new = [name for name in found.reading.unread(table.schema.names()) if name.strip() and name not in named]
    if new:
        raise Unread(
            f"{kept.source} does not say what {'the column' if len(new) == 1 else 'the columns'} {listed(new)} "
            f"{'is' if len(new) == 1 else 'are'}",
            f"give {'it' if len(new) == 1 else 'each'} a role there, or add to ignore, or "
            + option("columns", names_text({"ignore": tuple(new)})),
            code="unread",
        )
    return found


def _rows_of(raw: RawTable, reading: Reading) -> RawTable:
    """Return the rows at a reading's path in nested JSON, or below its header line."""
    if reading.header != 1 and raw.headed is not None:
        return raw.headed(reading.header)
    if reading.header != 1:
        raise InputError(f"header = {reading.header}: the file is no CSV, which has lines of a header")
    if not reading.rows:
        return raw
    if raw.nested is None:
        raise InputError(f"rows = {reading.rows}: the file is no JSON, which has rows at a path")
    return raw.nested(reading.rows)


def _as_format(raw: RawTable, told: Reading) -> ReadTable:
    """Return a table read by a format that was told."""
    entry = named_format(told.format)
    if entry.refuse:
        raise Unread(f"this is {entry.name!r}: {entry.refuse}", code="known")
    reading = entry.reading.adding(told)
    table = _rows_of(raw, reading)
    if unknown := entry.unknown(table, told):
        step = f"{option('columns', names_text({'ignore': tuple(unknown)}))} if they say nothing of the result"
        raise Unread(f"the format {entry.name} does not know {listed(unknown)}", step, code="unread", column=unknown[0])
    if entry.agree and (odd := outcome_disagreement(table, reading, entry.agree)):
        raise InputError(f"the format {entry.name} does not fit: {odd}")
    return applied(table, reading)


def _named(raw: RawTable) -> RawTable:
    """Return a table with a name for an unnamed column of texts; unnamed numbers are an index."""
    names = raw.schema.names()
    cells = first_cells(raw, [""]).get("", []) if "" in names else []
    if not any(cells) or all(re.fullmatch(NUMBER, cell) for cell in cells if cell):
        return raw
    name = f"column {names.index('') + 1}"
    return raw if name in names else replace(raw, frame=raw.frame.rename({"": name}))


def _as_told(raw: RawTable, told: Reading, kinds: Sequence[TableKind]) -> ReadTable:
    """Return a table read as told; columns beside a row's main ones may have standard names."""
    kind = table_kind_of(told, kinds)
    taken = {name for names in told.columns.values() for name in names}
    free = [name for name in raw.schema.names() if name not in taken]
    shaped = {role for shape in shapes_of(kind) for role in shape}
    called = names_by_role(free, [role for role in roles_of(kind) if role not in told.columns])
    # A winner that is told beside a loser, or two sides, that are called so.
    roles = given_roles(told)
    said, every = complete_shapes(roles, [kind]), complete_shapes({*roles, *called}, [kind])
    larger = any(set(one) < set(other) for _, one in said for _, other in every)
    if larger and (read := by_standard_names(raw, told, [kind])) is not None:
        return read
    usual = {role: names for role, names in called.items() if role not in shaped and len(names) == 1}
    source = f"{told.source}, standard names" if usual else told.source
    return applied(raw, told.with_({**usual, **told.columns}, source=source), [kind])


def _by_formats(raw: RawTable, told: Reading) -> tuple[ReadTable | None, list[tuple[str, str]]]:
    """Return a table read by the one format that fits, and nearly fitting formats with the reason against each."""
    found, near = list[tuple[str, ReadTable]](), list[tuple[str, str]]()
    there = raw.schema.names()
    for name, entry in formats_for(there, nested=raw.nested is not None, headed=raw.headed is not None).items():
        try:
            table = _rows_of(raw, entry.reading)
        except InputError:  # there are no rows at its path
            continue
        fit = fitting(table, entry, told)
        if isinstance(fit, ReadTable):
            found.append((name, fit))
        elif fit is not None:
            near.append((name, fit))
    if len(found) > 1:
        names = " or ".join(name for name, _ in found)
        raise Unread(f"the file may be of the format {names}", option("reading", "____"), code="formats")
    return (found[0][1] if found else None), near


def file_beside(path: Path | None) -> Path | None:
    """Return the reading file beside a file, or in a folder, or None."""
    if path is None:
        return None
    file = path / IN_FOLDER if path.is_dir() else path.with_name(path.name + ENDING)
    return file if file.is_file() else None


def _kept(path: Path | None) -> Reading | None:
    """Return the reading of the file beside a file, or None."""
    file = file_beside(path)
    return reading_file(file) if file else None


def reading_file(file: Path) -> Reading:
    """Return the reading that a TOML file holds.

    Raises
    ------
    InputError
        It is not there, or no reading.
    """
    try:
        return whole_reading(tomllib.loads(existing(file).read_text(encoding="utf-8")), file.name)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", path=file) from error
    except InputError as error:
        raise error.placed(file) from None


def whole_reading(data: Mapping[str, Any], source: str) -> Reading:
    """Return the reading of a TOML table, with that of the format that it names; see `Reading.from_toml`."""
    own = Reading.from_toml(data, source)
    check_roles(own)
    whole = named_format(own.format).reading.adding(own) if own.format else own
    return whole.model_copy(update={"source": source})


def stated(read: ReadTable, kind: TableKind, raw: RawTable, names_read: Collection[str]) -> str:
    """Return the line that states a reading: roles, counts of words, unread columns, and the source.

    Parameters
    ----------
    read : ReadTable
    kind : TableKind
    raw : RawTable
        The table under its own columns.
    names_read : collection of str
        Columns that are read, by a condition on rows, too.
    """
    raw = _named(raw)
    unread = [name for name in raw.schema.names() if name not in names_read]
    columns = {role: [name for name in names if name] for role, names in read.reading.columns.items()}
    line = f"read as {kind.words or kind.name}: {'; '.join(read.says)}"
    beside = [
        role if (said := "|".join(columns[role])) == role else f"{role} {said}"
        for role in beside_of(kind)
        if any(not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line) for name in columns.get(role, ()))
    ]
    line += f"; {', '.join(beside)}" if beside else ""
    if unread:
        cells = first_cells(raw, unread[:_SHOWN])
        some = [
            f"{name or 'a column without a name'} ({_brief(cells.get(name, ['nested']))})" for name in unread[:_SHOWN]
        ]
        line += f"; not read: {', '.join(some)}{f', {len(unread) - _SHOWN} more' if len(unread) > _SHOWN else ''}"
    return f"{line}  ({read.reading.source})"


def stated_values(read: ReadTable, path: Path | None, unread: Collection[str]) -> dict[str, Any]:
    """Return the stated reading as plain values: for JSON and stored results; see `stated`."""
    reading = read.reading
    found: dict[str, Any] = {"source": reading.source}
    found |= {name: {key: list(own) for key, own in getattr(reading, name).items()} for name in _STATED}
    found["columns"] = {role: names for role, names in found["columns"].items() if any(names)}
    if file := file_beside(path):
        found["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return {key: value for key, value in {**found, "rows": dict(read.counts), "not_read": [*unread]}.items() if value}


_STATED = ("columns", "words", "where", "unless", "turned", "same")


AnyReading: TypeAlias = Reading | str | os.PathLike[str]
"""A reading, the name of a known format, or the path of a reading file."""


def told(columns: str = "", words: str = "", reading: AnyReading | None = None) -> str:
    """Return options on a table as one text: see `rankbench.interfaces.reading.Reading.text`.

    Parameters
    ----------
    columns, words : str
        ``role=name|name,...``, and ``meaning=word|word,...``.
    reading : Reading, str or path, optional
        The whole reading; the name of a known format; or the path of a reading file. The others add to it.

    Raises
    ------
    InputError
        A text is not in its grammar, or the file is no reading.
    """
    own = Reading.told(columns, words)
    if reading is None:
        return own.text()
    if isinstance(reading, str) and reading in known_formats():
        return own.model_copy(update={"format": reading}).text()
    return (reading if isinstance(reading, Reading) else reading_file(Path(reading))).adding(own).text()


def _brief(cells: Sequence[str]) -> str:
    """Return a column's contents as a very short text."""
    text = looks(cells)
    return text if len(text) <= _BRIEF else f"{cells[0][:_BRIEF]}, .."
