"""`rankbench aggregate` ranks one log by one method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankbench.core.runtime import LOG_SEED, settle_runtime
from rankbench.data.readings.find import AnyReading
from rankbench.drawing.canvas import TitledDrawing
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.open import Log
from rankbench.logs.opened import no_file
from rankbench.ranking.load import WantedIntervals
from rankbench.ranking.pictures import items_drawing
from rankbench.ranking.question import RankingQuestion
from rankbench.ranking.rank import RESAMPLES
from rankbench.ranking.ranked_parts import FittedQuestion, RankedParts

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


def aggregate(
    log: Log,
    method: str = "",
    *,
    by: str | None = None,
    control: str = "",
    pool: bool = False,
    between: tuple[str, str] | None = None,
    intervals: WantedIntervals = None,
    columns: str = "",
    words: str = "",
    reading: AnyReading | None = None,
    reader: str = "",
    replicates: int = RESAMPLES,
    seed: int = LOG_SEED,
    executor: Literal["local", "dask"] = "local",
    address: str = "",
    where: str = "",
    without: Sequence[str] = (),
    without_judge: Sequence[str] = (),
    min_votes: int = 0,
) -> Aggregation:
    """Rank the items of a log by one method.

    Parameters
    ----------
    log : path, LazyFrame, DataFrame, or name of a data set
        Votes, ballots, or clicks on shown lists, in any format that a reader knows.
    method : str
        An aggregator in the contender grammar, as ``bradley-terry:ridge=0.1``; ridge=0 is
        plain maximum likelihood, for votes. Empty: what suits the kind of log,
        ``bradley-terry:penalty=firth`` for votes and ballots, ``coec:smoothing=1`` for clicks.
    by : str, optional
        A ranking for each query (``query``), or for each value of any other column. Without it an item of one name is
        one item in all queries.
    control : str
        Conditions of votes, as ``side:unless=neutral, log(length), bold``: covariates whose effects are
        estimated beside the scores, and taken out of them. A word is a column; of ``bold_a, bold_b`` the difference.
    pool : bool
        Shrink the scores of the values of `by` toward common ones, as far as they differ no more than by chance: see
        `rankbench.stats.random_effects`. There are always intervals then, by formula.
    between : (str, str), optional
        Two items whose difference is wanted: there are always intervals then, ``auto`` by default.
    intervals : {"bootstrap", "judges", "sandwich", "judges+queries", "auto"}, optional
        95% intervals: from resampled judgments, from resampled judges with all their
        judgments, by formula (Bradley-Terry and Davidson; clustered by judge where the log names
        judges), or by judge and query at once (by formula, or from judges and queries both resampled). ``auto``: by
        formula with Firth's penalty; else judges if the log names two, bootstrap, or the formula for
        more than a million votes. Rank ranges then hold for all items together at 95%.
    columns, words : str
        Meanings of columns and of words, as ``left=home,right=visitor,winner=result`` and ``home=H,visitor=A,tie=D``.
    reading : Reading, str or path, optional
        The whole reading, the name of a known format, or the path of a reading file; `columns` and `words` add to it.
    reader : str
        Reader of a file; chosen by its ending by default.
    replicates : int
        Number of resamples, 2 at least.
    seed : int
        Not negative.
    executor : {"local", "dask"}
        ``dask``: votes in Parquet, a file or a folder of shards, are counted by the workers of the Dask cluster whose
        scheduler is at `address`, to the same bytes; they must see the files under the same paths.
    address : str
        As in ``tcp://10.0.0.1:8786``.
    where : str
        Condition on rows, as ``lang == 'en' and turn > 1``: an SQL expression in the file's columns. If it names none
        of these alone, its names are columns of the schema. A missing value fulfils no comparison.
    without, without_judge : sequence of str
        Items and judges to leave out.
    min_votes : int
        rankbench takes out items with fewer votes, again and again, until no item has fewer.

    Returns
    -------
    Aggregation

    Raises
    ------
    InputError
        The log cannot be used; with the row.
    SpecError
        An unknown method, one that does not fit the log, or intervals that it cannot have.
    ContenderDiverged
        The method has no finite scores for this log, or they are too far apart.
    ExecutorError
        The cluster cannot be used, or its workers do not see the log.
    """
    asked = dict(locals())
    return ranked_log(asked.pop("log"), RankingQuestion.from_options(**asked))


def ranked_log(log: Log, question: RankingQuestion) -> Aggregation:
    """Rank a log by a question: see `aggregate`."""
    settle_runtime()
    fitted = FittedQuestion.opened(log, question)
    found = RankedParts(fitted)
    effects, between = (pl.concat(some) if some else None for some in (found.effects, found.differences))
    name, digest = str(fitted.controlling or fitted.aggregator), fitted.log.raw.sha256
    return Aggregation(found.table, name, found.all_notes(), found.facts, found.pairs, effects, between, digest)


def first_items(found: Aggregation, top: int | None) -> Aggregation:
    """Return a ranking with its first items alone, of each query if several; places are among all."""
    if top is None:
        return found
    table = found.table
    kept = table.group_by("query", maintain_order=True).head(top) if "query" in table.columns else table.head(top)
    return replace(found, table=kept)
