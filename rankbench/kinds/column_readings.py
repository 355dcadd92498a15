"""How a user says what columns mean, and how they are told what could be said: ``left=model_x,right=model_y``."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rankbench.errors import InputError

__all__ = ["ROWS_SHOWN", "ColumnReading", "columns_text", "proposed", "said_columns", "with_column"]

ROWS_SHOWN = 3
"""Rows that a reading is shown with."""


def said_columns(text: str) -> list[tuple[str, str]]:
    """Return roles and names of columns, in the order in which they are said.

    Parameters
    ----------
    text : str
        ``role=name,...``; a name with a comma stands between double quotes, ``winner="A, or B?"``.

    Raises
    ------
    InputError
        A part has no equals sign.
    """
    found, at = [], 0
    while at <= len(text):
        part = text[at:].split(",", 1)[0]
        role, equals, name = part.partition("=")
        if not equals:
            raise InputError(f"columns are given as role=name, not {part!r}")
        if name.lstrip().startswith('"'):
            rest = text[at + len(role) + 1 :].lstrip()
            name = next(csv.reader([rest]))[0]
            written = rest[: len(name) + 2 + name.count('"')]
            if not written.endswith('"') or rest[len(written) :].lstrip()[:1] not in ("", ","):
                raise InputError(f"a quote is not closed in {rest!r}; columns are given as role=name")
            at = len(text) - len(rest) + len(written)
            at += len(text[at:]) - len(text[at:].lstrip()) + 1
            found.append((role.strip(), name))
        else:
            at += len(part) + 1
            found.append((role.strip(), name.strip()))
    return found


def columns_text(roles: Mapping[str, str]) -> str:
    """Return what `said_columns` takes apart again."""
    return ",".join(f"{role}={_name(name)}" for role, name in roles.items())


def with_column(columns: str, role: str, name: str) -> str:
    """Return what is said of columns, with another one for a role."""
    said = dict(said_columns(columns)) if columns else {}
    return columns_text({**said, role: name})


def _name(name: str) -> str:
    plain = name == name.strip() and "," not in name and not name.startswith('"')
    return name if plain else '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class ColumnReading:
    """A way to read a table whose columns may be read in several ways.

    Attributes
    ----------
    roles : mapping of str to str
        What columns mean, by role.
    rows : tuple of str
        The first rows as they would be read, in words.
    sure : bool
        Whether it may be taken without a question where it is the only one.
    """

    roles: Mapping[str, str]
    rows: tuple[str, ...]
    sure: bool = True

    def __str__(self) -> str:
        said = f"--columns {shlex.quote(columns_text(self.roles))}"
        return f"{said} reads {'; '.join(self.rows)}" if self.rows else said


def proposed(readings: Iterable[ColumnReading]) -> str:
    """Return each reading as what to say, with the first rows as they would be read."""
    return " | ".join(map(str, readings))
