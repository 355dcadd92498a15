"""Conditions in SQL keep rows of a table, by columns of the file or of the schema."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import polars as pl

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.tables.schemas import REST
from rankbench.errors import InputError, SpecError, closest, option
from rankbench.interfaces.table_check import UNREADABLE, RawTable

_OF_SEVERAL_ROWS = re.compile(r'(?<!"String":)"(Agg|Len|Over|Quantile|SubPlan)"')
"""Parts of a written expression whose value depends on other rows."""

_AS_WRITTEN = "as_written."
"""Prefix of columns that keep a file's texts while a condition sees their numbers."""

_NUMBER = "row_of_the_file"

_LACKS = "this file lacks a column of the condition that others have"

_WORDS = {pl.String: "text", pl.Boolean: "true and false", pl.Date: "dates", pl.Datetime: "times"}
_TRIED: dict[str, pl.DataType] = {"text": pl.String(), "a number": pl.Float64(), "a time": pl.Datetime()}


@dataclass
class Condition:
    """A condition on rows while a log is opened.

    Attributes
    ----------
    text : str
        An SQL expression, with ``=`` or ``==``; empty: no condition.
    columns : dict of str to None
        Columns of the files that were opened, in order.
    counted : dict of path or None to DataFrame
        Of files that have the columns: ``rows``, those ``left``, and those where a missing value leaves it ``unknown``.
    without : list of path or None
        Files that lack a column of the condition.
    """

    text: str
    columns: dict[str, None] = field(default_factory=dict)
    counted: dict[Path | None, pl.DataFrame] = field(default_factory=dict)
    without: list[Path | None] = field(default_factory=list)

    def expression(self) -> pl.Expr:
        """Return the condition as an expression.

        Raises
        ------
        SpecError
            It is no SQL expression, or is about several rows at once.
        """
        try:
            found = pl.sql_expr(self.text)
            several = _OF_SEVERAL_ROWS.search(found.meta.serialize(format="json"))
        except UNREADABLE as error:
            raise SpecError(
                f"{option('where')}: {_first_line(error)}; write a condition as lang == 'en' and turn > 1"
            ) from None
        if several:
            raise SpecError(
                f"{option('where')}: a condition is about one row at a time; leave sums, means and the like out"
            )
        return found

    @classmethod
    def asked(cls, text: str) -> Condition | None:
        """Return a condition on a log that is being opened; None of an empty text."""
        return cls(text) if text else None

    def names(self) -> list[str]:
        """Return the columns that it names."""
        return self.expression().meta.root_names()

    def kept(self, frame: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.DataFrame]:
        """Return the rows that the condition keeps, and how many there were: ``rows, left, unknown``.

        A text column whose values all are numbers, or true and false, is one of these where the condition needs it.

        Raises
        ------
        InputError
            A column has a type that the condition does not take.
        """
        expression = self.expression()
        casts = _casts(expression, frame, list(dict.fromkeys(expression.meta.root_names())))
        written = {name: f"{_AS_WRITTEN}{name}" for name in casts}
        read = frame.with_columns(pl.col(name).alias(text) for name, text in written.items()).with_columns(**casts)
        counts = pl.len().alias("rows"), expression.sum().alias("left"), expression.is_null().sum().alias("unknown")
        kept = read.filter(expression).with_columns(pl.col(text).alias(name) for name, text in written.items())
        return kept.drop(written.values()), read.select(*counts).collect(engine="streaming")

    def note(self) -> str:
        """Return a note on the number of rows left in all files.

        Raises
        ------
        InputError
            No row is left.
        """
        rows, left, unknown = pl.concat(self.counted.values()).sum().row(0)
        if not left:
            raise InputError(f"{option('where', self.text)}: none of {rows:,} rows is left")
        missing = f"; {count_text(unknown, 'row')} without a value of it go, too" if unknown else ""
        return f"{left:,} of {rows:,} rows are left: where {self.text}{missing}"


def rows_kept(raw: RawTable, condition: Condition | None) -> RawTable:
    """Return the rows of a file's table that a condition keeps; errors name the file's row.

    Raises
    ------
    InputError, SpecError
        See `Condition`.
    """
    if condition is None:
        return raw
    schema = raw.schema
    condition.columns |= dict.fromkeys(schema.names())
    if any(name not in schema for name in condition.names()):
        condition.without.append(raw.path)
        return raw
    if lacking := [name for name in condition.names() if name in raw.lacking]:
        raise InputError(f"{option('where')}: {_LACKS}", path=raw.lacking[lacking[0]])
    with raw.located():
        frame, condition.counted[raw.path] = condition.kept(raw.frame)

    def located(row: int) -> tuple[Path | str | None, int | None]:
        numbered = condition.kept(raw.frame.with_row_index(_NUMBER))[0]
        return raw.place(1 + int(numbered.slice(row - 1, 1).select(_NUMBER).collect().item()))

    return replace(raw, frame=frame, header=0, locate=located, filtered=True)


def judgments_kept(frame: pl.LazyFrame, condition: Condition) -> tuple[pl.LazyFrame, str]:
    """Return a table in the schema with the rows that a condition keeps, and a note on how many these are.

    The condition's columns are those of the file, and `rows_kept` has used them, or else those of the schema.

    Raises
    ------
    InputError
        Neither the file nor the schema has a column, or some of the files lack it; or no row is left.
    SpecError
        Rows of one vote would be parted.
    """
    schema, names = frame.collect_schema(), condition.names()
    if unknown := [name for name in names if name not in condition.columns and name not in schema]:
        read = schema.names()
        known = list(dict.fromkeys([*condition.columns, *read]))
        said = (
            f"name columns of the file alone: {listed(list(condition.columns))}; or of the schema alone: {listed(read)}"
        )
        said = said if condition.columns else f"columns: {listed(read)}"
        quotes = "; a text stands between single quotes, as lang == 'en'" if f'"{unknown[0]}"' in condition.text else ""
        message = f"{option('where')}: there is no column {unknown[0]!r}{closest(unknown[0], known)}; {said}"
        raise InputError(message + quotes, column=unknown[0])
    if condition.counted and condition.without:
        raise InputError(f"{option('where')}: {_LACKS}", path=condition.without[0])
    if not condition.counted:
        if lacking := [name for name in names if name not in schema]:
            raise InputError(
                f"{option('where')}: {lacking[0]!r} is a column of the file, and others of the condition are of the "
                f"schema ({listed(schema.names())}); name columns of the file alone: {listed(list(condition.columns))}",
                column=lacking[0],
            )
        if REST in schema and not {"query_id", "judge", "time"}.issuperset(names):
            raise SpecError(
                f"{option('where')}: a vote with split points has two rows; name columns of the file, or query_id, "
                "judge, time"
            )
        frame, condition.counted[None] = condition.kept(frame)
    return frame, condition.note()


def _casts(expression: pl.Expr, frame: pl.LazyFrame, names: Collection[str]) -> dict[str, pl.Expr]:
    """Return the columns that a condition needs in another type than their own.

    Raises
    ------
    InputError
        No types of the columns go together in the condition.
    """
    schema = frame.collect_schema()
    texts = [name for name in names if schema[name] == pl.String]
    readings = _readings(frame, texts)
    told = []
    for name in names:
        dtype, cast = readings.get(name, (schema[name], None))
        # Polars compares true and false with any text, as if they were texts; in whole numbers' place it refuses.
        truth = [(pl.Int64(), cast), (pl.String(), None)] if dtype == pl.Boolean else []
        told.append([*truth, (dtype, cast), *([(schema[name], None)] if cast is not None else [])])
    for chosen in product(*told):
        types = {name: dtype for name, (dtype, _) in zip(names, chosen, strict=True)}
        if not _trouble(expression, types):
            if wrong := [name for name in names if types[name] == pl.String != schema[name]]:
                raise InputError(
                    f"{option('where')}: the column holds true and false, and is compared with text", column=wrong[0]
                )
            return {name: cast for name, (_, cast) in zip(names, chosen, strict=True) if cast is not None}
    types = {name: schema[name] for name in names}
    for name, (word, dtype) in product(names, _TRIED.items()):
        if dtype != types[name] and not _trouble(expression, types | {name: dtype}):
            holds = _WORDS.get(type(schema[name]), "numbers")
            shown = f" such as {_no_number(frame, name)}" if name in texts and word == "a number" else ""
            raise InputError(
                f"{option('where')}: the column holds {holds}{shown}, and is compared with {word}", column=name
            )
    raise InputError(f"{option('where')}: {_trouble(expression, types)}")


def _readings(frame: pl.LazyFrame, texts: Collection[str]) -> dict[str, tuple[pl.DataType, pl.Expr | None]]:
    """Return the types of text columns that hold true and false, or numbers, each with its cast."""
    reads = [(name, dtype, cast) for name in texts for dtype, cast in _casts_of_text(name).items()]
    strange = [_strange(name, cast).any().alias(str(at)) for at, (name, _, cast) in enumerate(reads)]
    found: dict[str, tuple[pl.DataType, pl.Expr | None]] = {}
    if reads:
        for (name, dtype, cast), wrong in zip(
            reads, frame.select(strange).collect(engine="streaming").row(0), strict=True
        ):
            if not wrong:
                found.setdefault(name, (dtype, cast))
    return found


def _casts_of_text(name: str) -> dict[pl.DataType, pl.Expr]:
    """Return a text column as true and false, as whole numbers, and as numbers; null where a text is none."""
    text, truth = _text(name), {"true": True, "false": False}
    return {
        pl.Boolean(): text.str.to_lowercase().replace_strict(truth, default=None, return_dtype=pl.Boolean),
        pl.Int64(): text.cast(pl.Int64, strict=False),
        pl.Float64(): text.cast(pl.Float64, strict=False),
    }


def _text(name: str) -> pl.Expr:
    return pl.col(name).str.strip_chars().replace("", None)


def _no_number(frame: pl.LazyFrame, name: str) -> str:
    """Return the first text of a column that is no number."""
    strange = _strange(name, _casts_of_text(name)[pl.Float64()])
    return short_repr(frame.filter(strange).select(name).head(1).collect().item())


def _strange(name: str, cast: pl.Expr) -> pl.Expr:
    return _text(name).is_not_null() & cast.is_null()


def _trouble(expression: pl.Expr, types: Mapping[str, pl.DataType]) -> str:
    """Return Polars' error on a condition on columns of some types, or ``""``."""
    try:
        pl.LazyFrame(schema=types).filter(expression).collect()
    except UNREADABLE as error:
        return _first_line(error)
    return ""


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]
