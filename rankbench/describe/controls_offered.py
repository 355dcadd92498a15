"""Which covariates a log of votes could be ranked with: its side, and columns that it has of both items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankbench.counts.log_source import LogSource, open_source
from rankbench.data.tables.comparisons.column_meanings import ROLES
from rankbench.data.tables.comparisons.controls import CONTROL, ControlTerm, sided_columns
from rankbench.data.tables.comparisons.plain_names import plain_name
from rankbench.describe.comparisons import ComparisonsSummary
from rankbench.errors import InputError
from rankbench.kinds.column_readings import with_column

if TYPE_CHECKING:
    from rankbench.counts.log_source import Log
    from rankbench.describe.describe import TableSummary

__all__ = ["offered_controls"]

_MOST = 8
_OUTCOMES = {*ROLES["left_score"], *ROLES["left_won"], *ROLES["left_wins"]}
_LOOKED_AT = 1000


def offered_controls(log: Log, source: LogSource, summary: TableSummary, *, columns: str, reader: str) -> list[str]:
    """Return terms of ``--control`` for a log that was described.

    ``side`` where the left wins more, or less, than half of the votes by its interval; and what the file has a column
    of numbers of for each of the two items, by its first votes.

    Parameters
    ----------
    log : path, frame or str
    source : LogSource
        It, opened.
    summary : TableSummary
    columns, reader : str
        As it was opened.
    """
    if not isinstance(summary, ComparisonsSummary):
        return []
    position = summary.position
    side = ["side"] if position is not None and not position.lower <= 0.5 <= position.upper else []
    known = sided_columns(source.remarks.left, source.remarks.columns)
    # Scores of a match that is read by its winner are who won, in other words.
    pairs = {name: pair for name, pair in known.items() if plain_name(pair[0]) not in _OUTCOMES}
    pairs = dict(list(pairs.items())[:_MOST])
    while pairs:
        terms = [str(ControlTerm(name)) for name in pairs]
        try:
            read = open_source(log, columns=with_column(columns, "control", ", ".join(terms)), reader=reader)
            votes = read.frame.select(pl.col(f"^{CONTROL}.*$")).head(_LOOKED_AT).collect()
        except InputError as error:
            kept = {name: pair for name, pair in pairs.items() if error.column not in pair}
            if len(kept) == len(pairs):
                return side
            pairs = kept
            continue
        found = [name.removeprefix(CONTROL) for name in votes.columns]
        return [*side, *(term for term in found if _varies(votes[f"{CONTROL}{term}"]))]
    return side


def _varies(values: pl.Series) -> bool:
    """Return whether a covariate is there in all votes, and not the same in all."""
    return not values.null_count() and values.n_unique() > 1
