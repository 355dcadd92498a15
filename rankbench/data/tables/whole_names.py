"""Ids that a program wrote as floats get their whole name: 1 for ``1.0``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from rankbench.core.text import listed
from rankbench.data.tables.cells import EMPTY
from rankbench.errors import InputError
from rankbench.interfaces.table_check import FIRST_NAMES, FLOAT_NAME, NOT_WHOLE, not_whole

_TEXTS = (pl.String, pl.Categorical, pl.Enum, pl.Decimal)
"""Types whose values are read as they are written."""
_WHOLE = rf"^-?\d+$|{FLOAT_NAME}"
_POINT = r"^-?\d+\.\d*$"


def with_whole_names(
    frame: pl.LazyFrame,
    *groups: Sequence[str],
    words: Collection[str] = (),
    notes: list[str] | None = None,
    rows: int | None = FIRST_NAMES,
) -> pl.LazyFrame:
    """Return a table whose ids are whole numbers where they were floats; the table itself where none was.

    pandas makes a column with missing values one of floats, in CSV as in Parquet. The text ``1.0`` is read as 1 where
    all names of its group are whole numbers: among versions, 3.5 and 4.0, it stays as it is.

    Parameters
    ----------
    frame : LazyFrame
    groups : sequences of str
        Columns of ids; those of one group name the same things.
    words : collection of str
        Texts that are no names, in small letters: words for ties.
    notes : list of str, optional
        Gets a note on changed names.
    rows : int, optional
        First rows that tell whether texts are whole numbers; None: all do. A program that takes a column for floats
        writes all of it with a point, and a long log is not read twice for it.

    Raises
    ------
    InputError
        With its row: a float that is no whole number, or beyond 2^53, where floats stand for several ones.
    """
    schema = frame.collect_schema()
    changed: list[str] = []
    for group in groups:
        floats = [name for name in group if schema[name].is_float()]
        for name in floats:
            _refuse(frame, name, schema[name])
        texts = [name for name in group if schema[name] in _TEXTS]
        whole, written = _written(frame.head(rows) if rows else frame, texts, words)
        changed += [*floats, *(written if whole else [])]
    result = frame.with_columns(_as_whole(name, schema[name]) for name in changed) if changed else frame
    if changed and notes is not None:
        notes.append(f"rankbench reads floats as whole numbers, 1.0 as 1, in {listed(changed)}")
    return result


def _as_whole(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return whole numbers as texts without a point; other numbers and texts as texts."""
    value = pl.col(name)
    if not dtype.is_float():
        return value.cast(pl.String).str.replace(FLOAT_NAME, "$1")
    whole = value.cast(pl.Int64, strict=False).cast(pl.String)
    text = pl.when(value == value.round()).then(whole).otherwise(value.cast(pl.String))
    return pl.when(value.is_not_nan()).then(text).alias(name)


def _refuse(frame: pl.LazyFrame, name: str, dtype: pl.DataType) -> None:
    """Refuse the first float of a column that is no id."""
    bad = frame.select(name).with_row_index("row").filter(not_whole(name, dtype))
    for row, value in bad.head(1).collect(engine="streaming").iter_rows():
        raise InputError(f"{value!r} is no name: {NOT_WHOLE}", row=row + 1, column=name)


def _written(frame: pl.LazyFrame, names: Sequence[str], words: Collection[str]) -> tuple[bool, list[str]]:
    """Return whether all texts of some columns are whole numbers, and which columns have some with a point."""
    if not names:
        return True, []
    texts = [pl.col(name).cast(pl.String) for name in names]
    none = [*EMPTY, *words]
    whole = pl.all_horizontal(
        text.fill_null("").str.to_lowercase().is_in(none) | text.str.contains(_WHOLE) for text in texts
    )
    facts = [whole.min().alias("whole"), *(text.str.contains(_POINT).max() for text in texts)]
    found = frame.select(facts).collect(engine="streaming").row(0)
    return bool(found[0]), [name for name, some in zip(names, found[1:], strict=True) if some]
