"""Which covariates a log of votes could be ranked with: its side, and columns that it has of both items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankbench.counts.covariate_rows import covariate_votes
from rankbench.counts.log_source import LogSource, open_source
from rankbench.counts.votes import load_votes
from rankbench.data.tables.comparisons.column_meanings import ROLES
from rankbench.data.tables.comparisons.controls import ControlTerm, sided_columns
from rankbench.data.tables.comparisons.plain_names import plain_name
from rankbench.data.tables.recognize import default_of
from rankbench.describe.comparisons import ComparisonsSummary
from rankbench.errors import InputError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.column_readings import with_column
from rankbench.kinds.controlled_aggregator import ControlledAggregator
from rankbench.plugin.manager import get

if TYPE_CHECKING:
    from rankbench.counts.log_source import Log
    from rankbench.describe.describe import TableSummary

__all__ = ["offered_controls"]

_MOST = 8
_OUTCOMES = {*ROLES["left_score"], *ROLES["left_won"], *ROLES["left_wins"]}


def offered_controls(log: Log, source: LogSource, summary: TableSummary, *, columns: str, reader: str) -> list[str]:
    """Return terms of ``--control`` for a log that was described: those that a ranking takes, all together.

    ``side`` where the left wins more, or less, than half of the votes by its interval; and what the file has a column
    of numbers of for each of the two items. What the default method refuses is left out: columns with words or missing
    values, what is the same in all votes, and what follows from the items, or from terms before it.

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
    terms: dict[str, tuple[str, ...]] = {}
    if position is not None and not position.lower <= 0.5 <= position.upper:
        terms["side"] = ()
    known = sided_columns(source.remarks.left, source.remarks.columns)
    # Scores of a match that is read by its winner are who won, in other words.
    pairs = {name: pair for name, pair in known.items() if plain_name(pair[0]) not in _OUTCOMES}
    terms |= {str(ControlTerm(name)): pair for name, pair in list(pairs.items())[:_MOST]}
    aggregator = get(Aggregator, default_of(source.table, "method"))
    while terms and isinstance(aggregator, ControlledAggregator):
        try:
            read = open_source(log, columns=with_column(columns, "control", ", ".join(terms)), reader=reader)
            aggregator.refuse_unidentified(covariate_votes(load_votes(read.frame)).summed())
        except InputError as error:
            refused = [term for term, pair in terms.items() if error.column in (term, *pair)]
            if not refused:
                return []
            del terms[refused[0]]
            continue
        break
    return list(terms)
