"""Every error that rankbench raises on purpose, and the exit code each one means.

======================  ====  =========================================================
class                   exit  when
======================  ====  =========================================================
`RankbenchError`           1  base class; a run whose cells failed also ends with 1
`ContenderDiverged`        1  an optimization left the finite numbers (a row, in a run)
`InputError`               2  a file, table or value that was given cannot be used
`Unread`                   2  a file does not say what its columns mean: it has the question
`SpecError`                2  unknown component, parameter, suite key (`nearest` helps)
`OptionError`              2  an option that others exclude, or that lacks another
`ChecksumError`            2  a file is not the one that its data card describes
`LicenseError`             2  restricted data without ``--accept-license``
`PluginError`              2  a plugin broke a contract (raised in strict mode)
`ExecutorError`            2  no scheduler or no workers there, or they have other code
`StoreError`               3  a result store is locked, or not one of ours
======================  ====  =========================================================

`rankbench.cli` has what the exit codes mean. `InputError` and `SpecError` are of values that a caller gave, and so
they are `ValueError` too.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Self, TypeAlias

__all__ = [
    "ChecksumError",
    "ContenderDiverged",
    "ExecutorError",
    "InputError",
    "LicenseError",
    "OptionError",
    "PluginError",
    "RankbenchError",
    "SpecError",
    "StoreError",
    "Unread",
    "nearest",
    "option",
    "options",
    "options_as",
]

MOST_CLOSE = 3
"""Names that an error suggests."""

OptionStyle: TypeAlias = Callable[[str, str], str]
"""Writes an option, given its keyword and its value, which may be empty."""


def _keyword(name: str, value: str) -> str:
    """Return an option as Python writes it."""
    quote = "'" if '"' in value else '"'
    plain = not value or value[0] in "'\"" or value.replace("_", "").isupper() or value.isdecimal()
    return f"{name}={value if plain else f'{quote}{value}{quote}'}"


_style: OptionStyle = _keyword


def option(name: str, value: object = "") -> str:
    """Return an option for a message: as a keyword of Python, or as `options_as` sets.

    Parameters
    ----------
    name : str
        The keyword, as ``time_unit``.
    value : object
        Empty: the option alone.
    """
    return _style(name, str(value))


def options(**values: str) -> str:
    """Return several options side by side, as users write them: see `option`."""
    return (", " if _style is _keyword else " ").join(option(name, value) for name, value in values.items())


@contextlib.contextmanager
def options_as(style: OptionStyle = _keyword) -> Iterator[None]:
    """Write options of messages in one way while the context lasts, in the whole process; by default as keywords."""
    global _style
    before, _style = _style, style
    try:
        yield
    finally:
        _style = before


class Warned(str):
    """A note that a reader must not miss: it ends with the option that acts on it.

    Parameters
    ----------
    note : str
        What is so.
    option : str
        The option, as its user writes it.
    does : str
        What it does.
    """

    option: str

    def __new__(cls, note: str, option: str, does: str) -> Warned:
        """Return the whole sentence."""
        made = super().__new__(cls, f"{note}: {option} {does}")
        made.option = option
        return made


class RankbenchError(Exception):
    """Base of all errors that are part of rankbench's interface."""

    exit_code: ClassVar[int] = 1


class InputError(RankbenchError, ValueError):
    """A file or table that was given cannot be used.

    Parameters
    ----------
    message : str
        The error and its remedy.
    path : Path or str, optional
        The file.
    row : int, optional
        1-based line (text files) or row (tables).
    column : str or int, optional
        Column name, or 1-based character column of a text line.

    Attributes
    ----------
    message, path, row, column
        As they were given; the error's text begins with the place.
    """

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        path: Path | str | None = None,
        row: int | None = None,
        column: str | int | None = None,
    ) -> None:
        self.message, self.path, self.row, self.column = message, path, row, column
        where = "" if path is None else str(path)
        if row is not None:
            where += f":{row}" if where else f"row {row}"
        if column is not None:
            where += f":{column}" if isinstance(column, int) and where else f" [{column}]"
        super().__init__(f"{where.strip()}: {message}" if where else message)

    def placed(
        self,
        path: Path | str | None,
        row: int | None = None,
        column: str | int | None = None,
        shown: Callable[[str], str] = str,
    ) -> Self:
        """Return the same error at a place, with its message changed by `shown`."""
        found = type(self).__new__(type(self))
        found.__dict__.update(self.__dict__)
        InputError.__init__(found, shown(self.message), path=path, row=row, column=column)
        return found


class Unread(InputError):
    """The meaning of a table's columns or cells is unknown; the message asks, with options to answer.

    Parameters
    ----------
    message : str
        The question.
    step : str
        The options that answer it, with a blank ``____`` for what only the user knows.
    code : str
        The rule that asks, in a word: "ask", "words", "blank", "code", ...
    shown : sequence of str
        The columns with their values, a line each.
    path, row, column
        See `InputError`.
    """

    def __init__(
        self,
        message: str,
        step: str = "",
        *,
        code: str = "ask",
        shown: Sequence[str] = (),
        path: Path | str | None = None,
        row: int | None = None,
        column: str | int | None = None,
    ) -> None:
        self.code, self.step, self.shown = code, step, tuple(shown)
        super().__init__("\n  ".join(filter(None, [message, *shown, step])), path=path, row=row, column=column)


class ContenderDiverged(RankbenchError):
    """A contender's optimization left the finite numbers: an answer, not a failure."""


class SpecError(RankbenchError, ValueError):
    """A component, parameter or suite key that does not exist or does not fit."""

    exit_code = 2


class OptionError(SpecError):
    """An option that does not go with others.

    Parameters
    ----------
    name : str
        The option, by its keyword.
    why : str
        A verb and its object, as "is of categories".
    needs, excludes : str or sequence of str
        Options that it takes beside it, and options to leave out, by their keywords; with a value after an equals sign.
    """

    def __init__(
        self, name: str, why: str = "", *, needs: str | Sequence[str] = (), excludes: str | Sequence[str] = ()
    ) -> None:
        beside, without = (
            ", ".join(option(*one.split("=", 1)) for one in ([some] if isinstance(some, str) else some))
            for some in (needs, excludes)
        )
        remedy = [f"say {beside} with it"] * bool(beside) + [f"leave {without} out"] * bool(without)
        super().__init__(f"{option(name)} {why}{': ' * bool(remedy)}{', '.join(remedy)}".rstrip())


class ChecksumError(InputError):
    """A file's sha256 is not the one that its data card promises."""


class LicenseError(RankbenchError):
    """Restricted data was asked for without accepting its licence."""

    exit_code = 2


class PluginError(RankbenchError):
    """A plugin broke its contract; raised in strict mode, otherwise reported."""

    exit_code = 2


class ExecutorError(RankbenchError):
    """An executor cannot be used: no scheduler, no workers, other code or no such file there."""

    exit_code = 2


class StoreError(RankbenchError):
    """A result store is in use by another run, or is not a store of ours."""

    exit_code = 3


def nearest(name: str, names: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest of `names`, or list them all.

    Parameters
    ----------
    name : str
        Name that was written.
    names : iterable of str
        Valid names.
    """
    valid = sorted(names)
    return closest(name, valid) or (f"; valid: {', '.join(valid)}" if valid else "")


def closest(name: str, names: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest of `names`; empty if none is close: for names that are many.

    A few names that have `name` between their hyphens are as close as each other: the answer has each of them.
    """
    valid = sorted(names)
    whole = [known for known in valid if name in known.split("-")]
    close = whole if 1 < len(whole) <= MOST_CLOSE else difflib.get_close_matches(name, valid, n=1, cutoff=0.5)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
