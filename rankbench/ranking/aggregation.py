"""An aggregation holds the scores and ranks of a log's items by one method, with its remarks and facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from rankbench.drawing.canvas import TitledDrawing
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.opened import no_file
from rankbench.ranking.pictures import items_drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Aggregation:
    """Scores and ranks of the items of a log by one method.

    Attributes
    ----------
    table : DataFrame
        A row an item, sorted by query, scale and score, with the columns of docs/reference/files-and-columns.md: the
        first is ``query`` where it was asked for; ranks, votes and wins have these names in all logs. Without intervals
        ``lower``, ``upper`` and ``may_be_first`` are null, and ranks are places by score. With intervals ends are null
        for items that too few votes are about, which may hold any place; the first item of a scale is at 95% one of
        those that may be first.
    method : str
        Canonical spec.
    notes : tuple of str
        Remarks for the reader, such as that there are several scales.
    facts : dict
        ``unit`` of the scores, as "log-odds"; ``n``, the number of judgments; ``voters``, the total weight of ballots,
        else None; ``judges``, the number of judges that the intervals of one ranking rest on, else None; ``by``, the
        column that ``query`` is, or None; ``seed`` and ``resamples`` of the intervals (None where they are by formula);
        ``intervals``, how they were made, or None, ``by_judge``, whether by judge, and ``sampled``, what they are over,
        as "votes of these 3 judges";
        ``may_be_first``, names of items of the largest of so many ``scales``, where one ranking has intervals;
        ``winners``, names of the items that a rule of social choice elects, in one ranking;
        ``votes`` and ``wins``, names of the counts in these columns; ``filter``, the parts of a filter that were
        said. Pooled categories have also ``pool``, how much
        scores differ between them (``variance, lower, upper, differences, unit, p, trials``).
    pairs : PairCounts, optional
        Wins of each pair of items, where votes of the whole log were counted.
    effects : DataFrame, optional
        With covariates: ``covariate, effect, lower, upper, unit, words``, after ``query`` where it was asked for; see
        `rankbench.ranking.covariates.rank_controlled`. `table` then has ``unadjusted_score`` and the like.
    between : DataFrame, optional
        The difference of two items that were asked for, a row for each ranking: see
        `rankbench.ranking.ranking_table.pair_difference`.
    sha256 : callable
        See `rankbench.logs.opened.RawLog`.
    """

    table: pl.DataFrame
    method: str
    notes: tuple[str, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    pairs: PairCounts | None = field(default=None, repr=False)
    effects: pl.DataFrame | None = None
    between: pl.DataFrame | None = None
    sha256: Callable[[], str | None] = field(default=no_file, repr=False)

    def plot(self, top: int | None = None) -> Figure:
        """Draw the first items with their intervals, places and counts, as ``rankbench aggregate --out FILE.png``.

        Parameters
        ----------
        top : int, optional
            Number of items; 21 by default.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        SpecError
            There is a ranking for each query.
        """
        return self.drawing(top).canvas()

    def drawing(self, top: int | None = None) -> TitledDrawing:
        """Return the drawing of `plot`, as data."""
        return items_drawing(self.table, self.method, self.facts, top)

    @property
    def reading(self) -> dict[str, Any]:
        """The reading of the log: its source, roles, words, and the number of rows of each outcome."""
        return dict(self.facts.get("reading", {}))

    def _repr_html_(self) -> str:
        """Return the method and the table, for a notebook."""
        return f"<p>{escape(self.method)}</p>{self.table._repr_html_()}"


def first_items(found: Aggregation, top: int | None) -> Aggregation:
    """Return a ranking with its first items alone, of each query if several; places are among all."""
    if top is None:
        return found
    table = found.table
    kept = table.group_by("query", maintain_order=True).head(top) if "query" in table.columns else table.head(top)
    return replace(found, table=kept)
