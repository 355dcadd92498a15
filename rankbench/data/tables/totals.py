"""A task, a system, a judge, a query or an item may be the total, or the mean, of the others beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import count_text, short_repr
from rankbench.data.tables.column_texts import SAMPLED
from rankbench.data.tables.score_summaries import summary_of
from rankbench.errors import Unread, option
from rankbench.interfaces.reading import Reading, fits, names_text
from rankbench.interfaces.table_check import RawTable

_CELLS = 2_000_000
"""Most cells that are looked at: tables with totals are small."""


def is_kept(reading: Reading, name: str) -> bool:
    """Return whether a reading keeps a name that looks like a total."""
    return any(fits(name, pattern) for pattern in reading.columns.get("keep", ()))


def refuse_summaries(
    reading: Reading,
    kinds: Iterable[tuple[str, Sequence[str], NDArray[np.float64], Sequence[str] | None]],
    *,
    counted: bool = False,
) -> None:
    """Raise a question about names whose numbers are the mean or the sum of neighboring names', or the sum of any two.

    A row and a column may both be, and leaving one out hides what the other is: one question names both.

    Parameters
    ----------
    reading : Reading
    kinds : iterable of (str, sequence of str, ndarray of float64, sequence of str)
        A word for the names, as "task"; n names; their numbers, shape (n, m), nan where one is missing; and the columns
        of the file that hold them: see `refuse_totals`.
    counted : bool
        The numbers are counts: a name may be the total of all others alone.

    Raises
    ------
    Unread
    """
    found = list[_Total]()
    for what, names, values, columns in kinds:
        places = [at for at, name in enumerate(names) if not is_kept(reading, name)]
        summary = summary_of(values, places, counted=counted)
        if summary is not None:
            others, name = [names[k] for k in summary.others], names[summary.at]
            found.append(_Total(what, name, summary.how, others, leaving_out(columns, name)))
    if found:
        raise _total_question(found)


class _Total(NamedTuple):
    """A name of a kind, `what`, whose numbers are the others' sum or mean, and how to leave it out."""

    what: str
    name: str
    how: str
    others: Sequence[str]
    leaving: str


def _total_question(found: Sequence[_Total]) -> Unread:
    said = ", and ".join(
        f"the {what} {short_repr(name)} is the {how} of {count_text(len(others), what)}, "
        f"{short_repr(others[0])} {'to' if others[2:] else 'and'} {short_repr(others[-1])}"
        for what, name, how, others, _ in found
    )
    kept = keeping(*dict.fromkeys(total.name for total in found))
    step = f"{', and '.join(total.leaving for total in found)}; {kept} ranks by {'them' if found[1:] else 'it'}, too"
    return Unread(said, step, code="summary", column=found[0].name)


def refuse_totals(
    raw: RawTable,
    reading: Reading,
    rows: pl.LazyFrame,
    roles: Mapping[str, tuple[str, Sequence[str] | None]],
    *,
    counted: bool = False,
) -> None:
    """Raise a question about a judge, a query or an item whose numbers are the total, or the mean, of the others'.

    Parameters
    ----------
    raw : RawTable
    reading : Reading
    rows : LazyFrame
        Columns of names, and the numbers ``value``.
    roles : mapping of str to (str, sequence of str)
        What each column of names is of, and the columns of the file that hold them: none, if they are columns
        themselves; None, if they are rows.
    counted : bool
        See `refuse_summaries`.

    Raises
    ------
    Unread
    """
    cells = raw.collect(rows.head(SAMPLED))
    if cells.height == SAMPLED:
        return
    kinds = list[tuple[str, Sequence[str], NDArray[np.float64], Sequence[str] | None]]()
    for role, (what, columns) in roles.items():
        others = [name for name in cells.columns if name not in (role, "value")]
        size = cells[role].n_unique()
        if size > 2 and others and size * cells.select(others).n_unique() <= _CELLS:
            summed = cells.group_by(role, *others, maintain_order=True).agg(pl.col("value").sum())
            wide = summed.pivot(others, index=role, values="value")
            kinds.append((what, wide[role].to_list(), wide.drop(role).cast(pl.Float64).to_numpy(), columns))
    refuse_summaries(reading, kinds, counted=counted)


def leaving_out(columns: Sequence[str] | None, *names: str) -> str:
    """Return a text on how to leave out a name in some columns; names that are columns or tasks, if there are none."""
    if columns is None:
        return f"{option('where')} keeps other rows"
    if not columns:
        return f"{option('columns', names_text({'ignore': names}))} leaves {'it' if len(names) == 1 else 'them'} out"
    word = "'" + names[0].replace("'", "''") + "'"
    quoted = (column if column.isidentifier() else f'"{column}"' for column in columns)
    return f"{option('where', ' and '.join(f'{column} <> {word}' for column in quoted))} leaves it out"


def keeping(*names: str) -> str:
    """Return the option that says of names that they are what they look like."""
    return option("columns", names_text({"keep": names}))
