"""A task, a system, a judge, a query or an item may be the total, or the mean, of the others beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import count_text, short_repr
from rankbench.data.tables.cells import number_of, text_of
from rankbench.data.tables.doubts import SAMPLED
from rankbench.data.tables.schemas import GAMES, LEFT_OUT, SHARE
from rankbench.data.tables.score_summaries import summary_of
from rankbench.errors import Unread, option
from rankbench.interfaces.reading import Reading, fits, names_text
from rankbench.interfaces.table_check import RawTable, ReadTable

_NAMES, _CELLS = 50, 200_000
"""Most names and cells that are looked at: tables with totals are small."""

_ROUNDED = 0.0051
"""Largest difference of a mean that was rounded to two digits."""

_IN_HUNDREDTHS, _SELDOM = 100, float(np.log(50))
"""A total is asked about that chance gives to one table in fifty at most."""


def is_kept(reading: Reading, name: str) -> bool:
    """Return whether a reading keeps a name that looks like a total."""
    return any(fits(name, pattern) for pattern in reading.columns.get("keep", ()))


def refuse_summary(
    reading: Reading, what: str, names: Sequence[str], values: NDArray[np.float64], leaving: Callable[[str], str]
) -> None:
    """Raise a question about a name whose numbers are the mean or the sum of neighboring names'.

    Parameters
    ----------
    reading : Reading
    what : str
        Kind of the names: "task", "system", "judge".
    names : sequence of str, of length n
    values : ndarray of float64, shape (n, m)
        The numbers of each; nan where one is missing.
    leaving : callable
        Returns how to leave a name out.

    Raises
    ------
    Unread
    """
    found = summary_of(values, [at for at, name in enumerate(names) if not is_kept(reading, name)])
    if found is not None:
        others = [names[k] for k in range(found.low, found.high) if k != found.at]
        raise _total_question(what, names[found.at], found.how, others, leaving)


def _total_question(what: str, name: str, how: str, others: Sequence[str], leaving: Callable[[str], str]) -> Unread:
    return Unread(
        f"the {what} {short_repr(name)} is the {how} of {count_text(len(others), what)}, "
        f"{short_repr(others[0])} to {short_repr(others[-1])}",
        f"{leaving(name)}; {option('columns', names_text({'keep': (name,)}))} ranks by it, too",
        code="summary",
        column=name,
    )


def refuse_totals(
    raw: RawTable, reading: Reading, rows: pl.LazyFrame, roles: Mapping[str, tuple[str, Sequence[str] | None]]
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

    Raises
    ------
    Unread
    """
    cells = raw.collect(rows.head(SAMPLED))
    for role, (what, columns) in roles.items() if cells.height < SAMPLED else ():
        _refuse_all(reading, cells, role, what, columns)
        others = [name for name in cells.columns if name not in (role, "value")]
        size = cells[role].n_unique()
        if 2 < size <= _NAMES and others and size * cells.select(others).n_unique() <= _CELLS:
            summed = cells.group_by(role, *others, maintain_order=True).agg(pl.col("value").sum())
            wide = summed.pivot(others, index=role, values="value")
            values = wide.drop(role).cast(pl.Float64).to_numpy()
            refuse_summary(reading, what, wide[role].to_list(), values, partial(_leaving, columns))


def _leaving(columns: Sequence[str] | None, name: str) -> str:
    """Return a text on how to leave out a name in some columns."""
    if columns is None:
        return f"{option('where')} keeps other rows"
    if not columns:
        return f"{option('columns', names_text({'ignore': (name,)}))} leaves it out"
    word = "'" + name.replace("'", "''") + "'"
    quoted = (column if column.isidentifier() else f'"{column}"' for column in columns)
    return f"{option('where', ' and '.join(f'{column} <> {word}' for column in quoted))} leaves it out"


def refuse_vote_totals(found: ReadTable) -> None:
    """Raise a question about judges and queries of votes, or items of counted votes, that are the others' total.

    Raises
    ------
    Unread
    """
    raw, reading = found.table, found.reading
    names = raw.schema().names()
    counts = [name for name in ("weight", "count") if name in names]
    keys = {name: role for name, role in (("query_id", "query"), ("judge", "judge")) if reading.one(role)}
    if not (keys or counts or GAMES[0] in names):
        return
    votes = pl.lit(1.0)
    for name in counts:
        votes *= number_of(text_of(name), reading.one("numbers"))
    won = pl.when(number_of(text_of("tie")) == 1).then(0.5).otherwise(1.0) if "tie" in names else pl.lit(1.0)
    won = pl.col(SHARE).fill_null(won) if SHARE in names else won
    lost = 1 - won
    if GAMES[0] in names:
        won, lost = (pl.col(GAMES[k]) + pl.col(GAMES[2]) / 2 for k in (0, 1))
    out = pl.col(LEFT_OUT) if LEFT_OUT in names else pl.lit(value=False)
    chosen = {"won": won * votes, "lost": lost * votes, "out": out, **{key: text_of(key) for key in keys}}
    # These are read beside the log: a log of many votes, which has no totals, is read once.
    some = raw.collect(raw.frame.head(SAMPLED).select(text_of("winner"), text_of("loser"), **chosen))
    if some.height == SAMPLED:
        return
    ways = (("winner", "loser", "won"), ("loser", "winner", "lost"))
    rows = pl.concat(some.select(*keys, "out", item=x, other=y, value=points) for x, y, points in ways)
    rows = rows.filter((pl.col("value") > 0) & ~pl.col("out")).drop("out")
    for key, role in keys.items():
        _refuse_all(reading, rows, key, role, reading.all(role))
    if counts or GAMES[0] in names:
        beat = rows.select("item", "value", other=pl.concat_str(pl.lit("beat "), "other"))
        lost_to = rows.select("value", item="other", other=pl.concat_str(pl.lit("lost to "), "item"))
        both = pl.concat([beat, lost_to.select("item", "value", "other")])
        sides = ("winner", "loser") if reading.one("loser") else ("left", "right")
        refuse_totals(raw, reading, both.lazy(), {"item": ("item", [reading.one(side) for side in sides])})


def _refuse_all(reading: Reading, cells: pl.DataFrame, key: str, what: str, columns: Sequence[str] | None) -> None:
    """Raise a question about a name whose numbers are the sums, or the means, of all others'.

    Means stand first or last. They may be rounded to two digits.
    """
    by_key = cells.group_by(key, maintain_order=True).agg(pl.col("value").sum().abs())
    names, largest = by_key[key].to_list(), by_key["value"].arg_max()
    if len(names) < 3 or largest is None:
        return
    value, whole = pl.col("value"), (cells["value"] % 1 == 0).all()
    for at, how in ((largest, "sum"), (0, "mean"), (len(names) - 1, "mean")):
        own = pl.col(key) == names[at]
        rest = value.filter(~own).sum() if how == "sum" else value.filter(~own).mean()
        rounding = 1e-9 * rest.abs() if how == "sum" else pl.min_horizontal(_ROUNDED, 0.02 * rest.abs())
        near = (value.filter(own).sum() - rest).abs() <= rounding
        # As many numbers are as likely in its place: of small ones some are a sum by chance.
        ways = (1 + value.filter(own).sum().abs() * (1 if whole else _IN_HUNDREDTHS)).log()
        each = cells.group_by(pl.exclude(key, "value")).agg(near=near.fill_null(value=False), ways=ways)
        known = len(each) > 2 and each["near"].all() and each["ways"].sum() > _SELDOM
        if known and by_key["value"].n_unique() > 1 and not is_kept(reading, names[at]):
            others = [name for name in names if name != names[at]]
            raise _total_question(what, names[at], how, others, partial(_leaving, columns))
