"""Known formats: a catalogue of public files, one TOML file each, and whether a table is of one of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError

from rankbench.core.component import Record, first_problem
from rankbench.core.text import listed
from rankbench.data.tables.kinds import applied
from rankbench.data.tables.read_votes import outcome_disagreement
from rankbench.errors import InputError, SpecError, Unread, nearest
from rankbench.interfaces.reading import Names, Reading, fits, names_text
from rankbench.interfaces.table_check import RawTable, ReadTable
from rankbench.plugin import manager
from rankbench.plugin.registry import FORMAT

OF_NESTED = ("_row", "_folder", "_file")
"""Columns that rows of nested JSON have besides."""

_OF_READING = ("rows", "header", "columns", "words", "where", "unless", "turned", "split")
"""Keys of a format that are those of a reading."""

QUESTIONS = frozenset(
    {
        *("code", "summary", "mirrored", "second-key", "twice", "third", "capitals", "number-form", "self", "index"),
        *("blank", "alike", "header", "list", "walkover", "judge", "weight", "wide", "scale"),
    }
)
"""Codes of questions about a table that is of a format; others say that it is of none."""


class SampleFile(Record):
    """A small file of a format, or one that only looks so.

    Attributes
    ----------
    file : str
        Its name.
    text : str
    scores : dict of str to float
        Scores of items by the usual method, where they are known.
    why : str
        Why it is not of the format.
    """

    file: str
    text: str
    scores: dict[str, float] = Field(default_factory=dict)
    why: str = ""

    def written(self, folder: Path) -> Path:
        """Write it below a folder; a name that ends in ``/`` is a folder, whose files begin with ``@ NAME``."""
        path, text = folder / self.file, self.text.lstrip("\n")
        files = re.split(r"^@ (.*)\n", text, flags=re.MULTILINE)[1:] if self.file.endswith("/") else ["", text]
        for inner, content in zip(files[::2], files[1::2], strict=True):
            file = path / inner if inner else path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        return path


class KnownFormat(Record):
    """A known format of files.

    Attributes
    ----------
    name : str
    kind : {"votes", "ballots", "clicks", "scores"}
    origin : str
        Its public source; ``from`` in the file.
    verified : {"read", "code", "header", "none"}
        Evidence: real files, the code that writes them, their headers in public code, or nothing.
    needs : tuple of str
        Columns that must be there, spelled so.
    also : tuple of str
        Columns, or patterns, that are known and not read.
    refuse : str
        Advice, where such a file is known and not read.
    reading : Reading
        The meanings of its columns; the file has its keys beside the others.
    agree : dict of str to tuple of str
        Columns by role that must agree with the others in each row; then any other column is allowed.
    example, unlike : SampleFile
        A file of the format, and one that only looks so.
    """

    name: str
    kind: Literal["votes", "ballots", "clicks", "scores"]
    origin: str = Field(alias="from")
    verified: Literal["read", "code", "header", "none"]
    needs: tuple[str, ...]
    also: tuple[str, ...] = ()
    refuse: str = ""
    reading: Reading
    agree: Names = Field(default_factory=dict)
    example: SampleFile | None = None
    unlike: SampleFile | None = None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the format of a TOML file, called as the file is.

        Raises
        ------
        SpecError
            It is not TOML; or a key is missing, is not known, or has another type.
        """
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SpecError(f"{path}: not TOML: {error}") from error
        name = path.name.removesuffix(".toml").removesuffix(".format")
        try:
            reading = Reading.from_toml({key: data.pop(key) for key in _OF_READING if key in data}, f"format {name}")
            agree = Reading.from_toml({"columns": data.pop("agree", {})}, "").columns
            found = cls(name=name, reading=reading, agree=agree, **data)
        except (InputError, TypeError) as error:  # or a key that no file may have, as name
            raise SpecError(f"{path}: {error}") from error
        except ValidationError as error:
            where, reason = first_problem(error)
            raise SpecError(f"{path}: {where}: {reason}") from error
        reading = reading.model_copy(update={"format": name, "known": (*found.needs, *found.also)})
        return found.model_copy(update={"reading": reading})

    @property
    def reads(self) -> str:
        """The columns that it reads, by role; or how to go on with such a file, if it is refused."""
        if self.refuse:
            return f"nothing: {self.refuse}"
        roles = ", ".join(names_text({role: names}) for role, names in self.reading.columns.items())
        return f"{roles}; rows at {self.reading.rows}" if self.reading.rows else roles

    def unknown(self, raw: RawTable, told: Reading) -> list[str]:
        """Return the columns that neither it nor `told` names; the index of pandas, without a name, is no matter.

        Where outcomes must agree any column is allowed.
        """
        if self.agree:
            return []
        nested = OF_NESTED if self.reading.rows else ()
        known = (*self.needs, *self.also, *nested, *told.columns.get("ignore", ()), *told.read(), *told.known)
        names = raw.schema.names()
        return [name for name in names if name.strip() and not any(fits(name, one) for one in known)]


def known_formats() -> dict[str, KnownFormat]:
    """Return all formats by name, plugins' too; a broken file hides no other."""
    return _whole(manager.format_files())


def formats_for(names: Collection[str], *, nested: bool = False, headed: bool = False) -> dict[str, KnownFormat]:
    """Return the formats by name whose columns are all among some names; the others are not made.

    Parameters
    ----------
    names : collection of str
    nested, headed : bool
        Take formats, too, whose rows stand at a path in JSON, or below a header of several lines: these have columns
        of their own.
    """

    def may_fit(data: Mapping[str, Any]) -> bool:
        rows, needs = data.get("rows"), data.get("needs")
        if (nested and rows) or (headed and "header" in data):
            return True
        return not rows and isinstance(needs, list) and all(need in there for need in needs)

    there = list(names)
    return _whole({name: path for name, path in manager.format_files().items() if may_fit(_contents(path))})


def _whole(files: Mapping[str, Path]) -> dict[str, KnownFormat]:
    loaded = {name: _loaded(path) for name, path in files.items()}
    return {name: entry for name, entry in loaded.items() if isinstance(entry, KnownFormat)}


def broken_formats() -> str:
    """Return a suffix for questions: " (broken formats: ...)", or "" if none is broken."""
    broken = [name for name, path in manager.format_files().items() if isinstance(_loaded(path), SpecError)]
    return f" (broken formats: {', '.join(broken)}; see `rankbench list formats`)" if broken else ""


@cache
def _contents(path: Path) -> Mapping[str, Any]:
    """Return what a TOML file holds; nothing of a broken one."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


@cache
def _loaded(path: Path) -> KnownFormat | SpecError:
    try:
        return KnownFormat.load(path)
    except SpecError as error:
        return error


def named_format(name: str) -> KnownFormat:
    """Return the format of a name.

    Raises
    ------
    SpecError
        There is none, or its file is broken.
    """
    if name not in (files := manager.format_files()):
        raise SpecError(f"there is no format {name!r}{nearest(name, files)}; rankbench list formats")
    if isinstance(entry := _loaded(files[name]), SpecError):
        raise entry
    return entry


def describe_format(name: str) -> dict[str, Any]:
    """Return the contents of a known format's file, as plain values.

    Raises
    ------
    SpecError
        There is no such format.
    """
    entry, origin = named_format(name), manager.origin(FORMAT, name)
    return {
        "name": name,
        "table": entry.kind,
        "reads": entry.reads,
        "refused": bool(entry.refuse),
        "needs": entry.needs,
        "also": entry.also,
        "verified": entry.verified,
        "source": entry.origin,
        "path": str(manager.format_files()[name]),
        "distribution": origin.distribution,
        "version": origin.version,
    }


def fitting(raw: RawTable, entry: KnownFormat, told: Reading) -> ReadTable | str | None:
    """Return a table read by a format; a reason if it has the columns but does not fit; or None.

    Raises
    ------
    Unread
        It is of the format, and values speak against it; or the format is known and refused.
    """
    if not set(entry.needs) <= {*raw.schema.names()}:
        return None
    if unknown := entry.unknown(raw, told):
        return f"the format does not know {'the column' if len(unknown) == 1 else 'columns'} {listed(unknown)}"
    if entry.refuse:
        raise Unread(f"this is {entry.name!r}: {entry.refuse}", code="known")
    reading = entry.reading.adding(told)
    try:
        if entry.agree and (odd := outcome_disagreement(raw, reading, entry.agree)):
            return odd
        return applied(raw, reading)
    except Unread as error:
        if error.code in QUESTIONS:
            raise
        return error.message.split("\n", 1)[0]
    except InputError as error:
        return error.message
