"""Cells of a table before its checks are texts; numbers and dates are read as the reading says they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from rankbench.core.text import count_text, listed, short_repr
from rankbench.errors import InputError, nearest
from rankbench.interfaces.reading import JOINED, Reading, expression_of, has_wildcards
from rankbench.interfaces.table_check import LONGEST_NAME, QUOTED, TOO_LONG, WITH_NULL, RawTable

EMPTY = (
    *("", "na", "n/a", "nan", "null", "none", "-", "\u2013", "\u2014", "?", "\\n"),
    *("skipped", "undervote", "overvote"),
)
"""Cells that may say nothing, in small letters. They are never read as a name or an outcome: rankbench asks."""

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
"""A number as it is written where nothing else is said."""

_WHOLE = r"^(-?\d+)\.0+$"
"""A whole number that stands as a float."""

_SIGN = r"(?:\u00b1|\+/-|\+-)"
_WITH_ERROR = rf"^({NUMBER})\s*%?\s*(?:{_SIGN}\s*{NUMBER}\s*%?|\(\s*{_SIGN}?\s*{NUMBER}\s*%?\s*\))$"
"""A number and its standard error: ``90 ± 1``, ``0.641 (0.008)``."""


def is_flat(dtype: pl.DataType) -> bool:
    """Return whether cells of a type can be texts: single values that are no bytes and no durations."""
    return not dtype.is_nested() and dtype not in (pl.Binary, pl.Duration, pl.Object)


def unread_columns(raw: RawTable, reading: Reading) -> list[str]:
    """Return the columns of single values that a reading neither reads nor ignores."""
    schema = raw.schema
    return [name for name in reading.unread(schema.names()) if is_flat(schema[name])]


def text_of(name: str) -> pl.Expr:
    """Return a column's cells as texts without blanks around them; null becomes the empty text."""
    return pl.col(name).cast(pl.String).str.strip_chars().fill_null("")


def name_of(name: str) -> pl.Expr:
    """Return a column's cells as names: texts, with whole numbers written as floats without the point."""
    return text_of(name).str.replace(r"^(-?\d{1,15})\.0+$", "$1")


def with_joined(frame: pl.LazyFrame, reading: Reading) -> tuple[pl.LazyFrame, Reading]:
    """Return a table, and its reading, with the columns of a role joined: ``Cup / 1`` of ``Cup`` and 1."""
    joined = {}
    for role in JOINED & reading.columns.keys():
        if len(names := reading.all(role)) > 1:
            joined[role] = " / ".join(names)
            frame = frame.with_columns(
                pl.concat_str([name_of(name) for name in names], separator=" / ").alias(joined[role])
            )
    return frame, reading.with_({role: (name,) for role, name in joined.items()}) if joined else reading


def is_nothing(text: pl.Expr) -> pl.Expr:
    """Return whether a text may be a missing value: see `EMPTY`."""
    return text.str.to_lowercase().is_in(list(EMPTY))


def plain_word_of(word: str) -> str:
    """Return a word in small letters, a whole number without its point."""
    return re.sub(_WHOLE, r"\1", word.strip().lower())


def says(text: pl.Expr, words: Sequence[str]) -> pl.Expr:
    """Return whether a text is one of some words, in small or capital letters, or matches one of the patterns.

    A whole number may stand as a float: ``1.0`` is the word 1. The word ``*`` alone is that text.
    """
    low, plain = text.str.to_lowercase(), [plain_word_of(word) for word in words]
    patterns = [word for word in plain if has_wildcards(word) and word not in ("*", "?")]
    found = low.str.replace(_WHOLE, "$1").is_in([word for word in plain if word not in patterns])
    if patterns:
        found |= low.str.contains(f"(?s)^(?:{'|'.join(map(expression_of, patterns))})$")
    return found


def number_of(text: pl.Expr, form: str = "", *, errors: bool = True) -> pl.Expr:
    """Return texts as finite numbers; true and false are 1 and 0, any other text is null.

    Parameters
    ----------
    text : Expr
    form : str
        The number 1234.5 as the file has it: ``1.234,5``; "first": the number that a text begins with.
    errors : bool
        Whether a percent sign or a standard error may stand behind a number, which are not read.

    Raises
    ------
    InputError
        The form is none.
    """
    if form == "first":
        # A number with a mark and digits behind it was not read to its end: 1,234, 1 234, 01:02 or 3-1.
        cut = text.str.replace(f"^{NUMBER}", "").str.contains(r"^(?:[.,:/\-\x{2013}]\d|['\s\x{a0}\x{202f}]\d{3})")
        plain = pl.when(~cut).then(text.str.extract(f"^({NUMBER})")).otherwise(None)
    else:
        if form:
            match = re.fullmatch(r"1(\D?)234(\D)5", form)
            if match is None:
                raise InputError(f"numbers={form}: say how 1234.5 is written, as numbers=1.234,5 or numbers=1,234.5")
            thousands, point = match.groups()
            groups = rf"(?:\d+|\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+)" if thousands else r"\d+"
            text = pl.when(text.str.contains(rf"^[+-]?{groups}(?:{re.escape(point)}\d*)?\s*%?$")).then(text)
            text = text.str.replace_all(thousands, "", literal=True) if thousands else text
            text = text.str.replace(point, ".", literal=True)
        low = text.str.to_lowercase().replace({"true": "1", "false": "0"})
        shown = low.str.strip_suffix("%").str.strip_chars_end()
        plain = pl.coalesce(low.str.extract(_WITH_ERROR), shown) if errors else low
    value = plain.cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value)


def refuse_no_numbers(raw: RawTable, names: Sequence[str]) -> None:
    """Raise for columns of dates, spans of time, truth values and lists in place of numbers.

    Raises
    ------
    InputError
    """
    schema = raw.schema
    for name in names:
        dtype = schema[name]
        if dtype.is_temporal() or dtype.is_nested() or dtype == pl.Boolean:
            raise raw.at(0, InputError(f"the column holds {dtype}, not numbers", column=name))


def refuse_lists(raw: RawTable, names: Iterable[str]) -> None:
    """Refuse lists, and bytes, in columns of single values.

    Raises
    ------
    InputError
        With the first row that has one.
    """
    schema = raw.schema
    wrong = [name for name in names if name in schema and (schema[name].is_nested() or schema[name] == pl.Binary)]
    lists = {name: pl.col(name).is_not_null() for name in wrong}
    if (found := first_row(raw, lists)) is not None:
        what = f"the column holds {str(schema[found[1]])[:QUOTED]}, not single values"
        raise raw.at(found[0], InputError(what, column=found[1]))


def form_of(reading: Reading) -> str:
    """Return a reading's form of numbers."""
    return reading.first["numbers"]


def missing_number(text: pl.Expr, number: pl.Expr, words: Sequence[str]) -> pl.Expr:
    """Return whether a cell is one of the words for a missing number; -1 matches ``-1.0``, too."""
    numbers = [float(word) for word in words if re.fullmatch(NUMBER, word.strip())]
    found = says(text, words)
    return found | number.is_in(numbers).fill_null(False) if numbers else found


ROW = "\0row"
"""Column of the number of a row, from 0, where one is added."""


def first_row(raw: RawTable, cases: Mapping[str, pl.Expr]) -> tuple[int, str] | None:
    """Return the first row, from 0, with a true case, and the case; None without such a row."""
    if not cases:
        return None
    facts = [pl.col(ROW).filter(case).min().alias(str(at)) for at, case in enumerate(cases.values())]
    found = raw.collect(raw.frame.with_row_index(ROW).select(facts)).row(0)
    return min(((row, name) for row, name in zip(found, cases, strict=True) if row is not None), default=None)


def refuse_first(raw: RawTable, cases: Mapping[str, pl.Expr], error: Callable[[str, str], InputError]) -> None:
    """Raise the error of a cell and its column for the first row with a true case, by column.

    Raises
    ------
    InputError
    """
    if (found := first_row(raw, cases)) is not None:
        raise raw.at(found[0], error(cell_at(raw, *found), found[1]))


def refuse_no_names(raw: RawTable, columns: Iterable[str]) -> None:
    """Refuse names that are too long to be any, or have the character 0 in them.

    Raises
    ------
    InputError
    """

    def no_name(cell: str, column: str) -> InputError:
        message = WITH_NULL if "\0" in cell else TOO_LONG
        return InputError(message.replace("{}", short_repr(cell), 1), column=column)

    texts = {name: text_of(name) for name in columns}
    # Bytes are at least as many as characters, and quickly counted.
    long = {name: (x.str.len_bytes() > LONGEST_NAME) & (x.str.len_chars() > LONGEST_NAME) for name, x in texts.items()}
    refuse_first(raw, {name: long[name] | x.str.contains("\0", literal=True) for name, x in texts.items()}, no_name)


def different(raw: RawTable, texts: Iterable[pl.Expr]) -> list[str]:
    """Return the different texts of some columns, sorted, without missing ones."""
    found = pl.concat([raw.frame.select(item=text).unique() for text in texts])
    return raw.collect(found.unique().drop_nulls())["item"].sort().to_list()


def items_text(items: Sequence[str]) -> str:
    """Return the number of items and the first ones as text."""
    return f"{count_text(len(items), 'item')} ({listed(list(items), 4)})"


def cell_at(raw: RawTable, row: int, name: str) -> str:
    """Return a cell as text."""
    return str(raw.collect(raw.frame.slice(row, 1).select(text_of(name))).item())


def only_rows(raw: RawTable, kept: pl.Expr) -> RawTable:
    """Return some rows of a table, whose errors name their rows in the file."""
    numbers = raw.frame.with_row_index(ROW).filter(kept).select(ROW)

    def locate(row: int) -> tuple[Path | str | None, int | None]:
        found = numbers.slice(row - 1, 1).collect().to_series()
        return raw.place(int(found[0]) + 1 if len(found) else None)

    return replace(raw, frame=raw.frame.filter(kept), locate=locate)


def without_missing(raw: RawTable, names: Iterable[str], words: Sequence[str], notes: list[str]) -> RawTable:
    """Return the rows without words for missing in any cell; a note counts the rows left out."""
    out = [says(text_of(name), words) for name in names] if words else []
    if out and (gone := raw.facts(pl.any_horizontal(out).sum())[0]):
        notes.append(f"rankbench leaves out {count_text(gone, 'row')} that a word says is missing")
        return only_rows(raw, ~pl.any_horizontal(out))
    return raw


def rows_left_out(raw: RawTable, reading: Reading) -> dict[str, pl.Expr]:
    """Return whether a row is left out by a reading's conditions, by the words that say which rows these are.

    Raises
    ------
    InputError
        A column of a condition is not there.
    """
    found = dict[str, pl.Expr]()
    for table, wanted in ((reading.where, True), (reading.unless, False)):
        for name, words in table.items():
            if name not in (names := raw.schema.names()):
                raise InputError(f"there is no column {name!r}{nearest(name, names)}", column=name)
            which = f"{'not ' * wanted}{'|'.join(word or 'empty' for word in words)}"
            there = says(text_of(name), words)
            found[f"whose {short_repr(name)} is {which}"] = ~there if wanted else there
    return found


def absent_words(raw: RawTable, reading: Reading) -> list[str]:
    """Return notes on conditions of a reading whose words no row has: they may be misprints."""
    named = [(name, words) for table in (reading.where, reading.unless) for name, words in table.items()]
    there = [says(text_of(name), words).any().alias(str(at)) for at, (name, words) in enumerate(named)]
    found = raw.collect(raw.frame.select(there)).row(0) if there else ()
    return [
        f"no row has {' or '.join(map(short_repr, words))} in {short_repr(name)}, which the reading names"
        for (name, words), has in zip(named, found, strict=True)
        if not has
    ]


def read_rows(raw: RawTable, reading: Reading, lists: Sequence[str] = ()) -> tuple[RawTable, Reading, Reading]:
    """Return the rows that a reading reads, the reading with one column for each key, and in the file's columns.

    Columns of roles other than `lists` hold single values.

    Raises
    ------
    InputError
        A column is not there, or holds lists where single values must stand.
    """
    with raw.located():
        applied = reading.expanded(raw.schema.names())
        refuse_lists(raw, applied.without(*lists).read())
        gone = rows_left_out(raw, applied)
        rows = only_rows(raw, ~pl.any_horizontal(gone.values())) if gone else raw
        frame, joined = with_joined(rows.frame, applied)
    return replace(rows, frame=frame), joined, applied


_DATES: Mapping[str, str] = {"2024": "%Y", "24": "%y", "December": "%B", "Dec": "%b", "12": "%m", "31": "%d"}


def times_of(raw: RawTable, reading: Reading) -> pl.Expr:
    """Return the column of times, null if missing; dates are read by their pattern.

    Raises
    ------
    InputError
        With its row: a text that is no such date.
    """
    name, pattern, missing = reading.first["time"], reading.first["dates"], reading.words.get("missing", ())
    text = text_of(name)
    there = ~says(text, missing) if missing else pl.lit(value=True)
    if not pattern:
        return pl.when(there).then(pl.col(name)) if missing else pl.col(name)
    day = pl.when(there).then(text).str.to_date(date_format(pattern), strict=False)
    wrong = {name: day.is_null() & (text != "") & there}
    refuse_first(raw, wrong, lambda cell, _: InputError(f"{short_repr(cell)} is no date as {pattern}", column=name))
    return day


def date_format(pattern: str) -> str:
    """Return the format of dates that are written as 31 December 2024 is in the pattern: ``31/12/24``.

    Raises
    ------
    InputError
        The pattern is not that day.
    """
    found = re.sub("|".join(_DATES), lambda part: _DATES[part[0]], pattern)
    if "%d" not in found or not re.search("%[Yy]", found) or not re.search("%[mbB]", found):
        raise InputError(f"dates={pattern}: write 31 December 2024 as the dates are written, as dates=31/12/24")
    return found
