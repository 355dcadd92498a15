"""`rankbench aggregate` ranks one log by one method."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rankbench.core.runtime import LOG_SEED, settle_runtime
from rankbench.data.readings.find import AnyReading, told
from rankbench.data.tables.kinds import default_of, not_judged
from rankbench.data.tables.schemas import REST
from rankbench.descriptions.suspicions import LOOKED_AT, name_notes, suspicious_votes
from rankbench.drawing.canvas import TitledDrawing
from rankbench.errors import InputError, SpecError, Unread, option
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.covariate_aggregator import ControlledAggregator
from rankbench.interfaces.metric import RIDGE
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.reading import with_told
from rankbench.logs.log_filter import Filter
from rankbench.logs.open import Log
from rankbench.logs.opened import OpenedLog, no_file
from rankbench.logs.stream import FirstVotes, first_of_counts
from rankbench.logs.votes import NO_TIMES
from rankbench.plugin import manager
from rankbench.ranking.covariates import beside_unadjusted, checked_control, rank_controlled
from rankbench.ranking.interval_kinds import Intervals, by_formula
from rankbench.ranking.load import WantedIntervals, check_cluster, check_fit, load_log, opened_log
from rankbench.ranking.pair_difference import check_pair, pair_difference
from rankbench.ranking.pictures import items_drawing
from rankbench.ranking.pooled import category_rankings, check_shared
from rankbench.ranking.rank import RESAMPLES, ItemRanking, QueryTables, rank, ranking_table
from rankbench.ranking.ranked_log import CountedVotes, ridge_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_NOTES = 5
_ROWS = "rows that are summed up"


@dataclass(frozen=True)
class Aggregation:
    """Scores and ranks of the items of a log by one method.

    Attributes
    ----------
    table : DataFrame
        ``item, score, rank_low, rank_high, may_be_first, lower, upper, scale, votes, wins``, before them ``query``
        where it was asked for; sorted by query, scale and score. Scores of different scales (from 1, the largest)
        cannot be compared. Without intervals ``lower``, ``upper`` and ``may_be_first`` are null, and ranks are places
        by score. With intervals ends are null for items that too few votes are about, which may hold any place; the
        first item of a scale is at 95% one of those that may be first. ``votes`` is the weight of the votes that an
        item was in (of the ballots that name it; how often it was shown), ``wins`` of those that it won, a tie being
        half a win (that put it first; how often it was clicked). Rules of social choice have also ``winner``, whether
        the rule elects the item.
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
        `rankbench.ranking.pair_difference.pair_difference`.
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
        """Return what `plot` draws, as data."""
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
        one item, whatever the query.
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
    settle_runtime()
    if intervals not in (None, "auto", *get_args(Intervals)):
        raise SpecError(f"there are no intervals {intervals!r}; there are {', '.join(('auto', *get_args(Intervals)))}")
    if replicates < 2 or seed < 0:
        raise SpecError("intervals need two replicates at least, and a seed that is not negative")
    if pool:
        check_shared(by, intervals, control)
    if between:
        check_pair(between, pool=pool)
        intervals = intervals or "auto"
    if (executor == "dask") != bool(address):
        raise SpecError("the executor dask and the address of its scheduler go together")
    meant = told(columns, words, reading) if words or reading else columns
    if control:
        meant = with_told(meant, "control", control)
    named = _aggregator(method) if method else None
    keep = Filter.from_options(where, without, without_judge, min_votes)
    source = opened_log(log, columns=meant, by=by, reader=reader, keep=keep)
    method = method or default_of(source.table, "method")
    if not method:
        raise not_judged(source.name, source.table, "method")
    source = source.judged()
    aggregator = named or _aggregator(method)
    check_fit(aggregator, source)
    if address:
        check_cluster(aggregator, source, intervals, whole=by is None and not control)

    controlling: ControlledAggregator | None = None
    if control:
        controlling, intervals = checked_control(aggregator, source, intervals)
    elif aggregator.config().get("control"):
        raise SpecError(f"{aggregator} takes covariates: name them with {option('control')}")
    first_votes, sampled = FirstVotes(LOOKED_AT + 1), dict[str, None]()
    facts: dict[str, Any] = {"unit": aggregator.score_unit(), "n": 0, "voters": None, "judges": None, "by": by}
    facts |= {"seed": seed, "resamples": replicates} | ({"filter": keep.as_dict()} if keep else {})
    facts |= {"reading": dict(source.stated)} if source.stated else {}

    def ranked(part: OpenedLog, *, pooled: bool) -> tuple[ItemRanking, list[str]]:
        kept = first_votes if pooled else None
        loaded, chosen = load_log(part, aggregator, intervals, pooled=pooled, address=address, first_votes=kept)
        if pooled and isinstance(loaded, CountedVotes):
            facts["pairs"] = loaded.counts
        ranking, more = rank(loaded, aggregator, intervals=chosen, resamples=replicates, seed=seed)
        tallies = loaded.tallies()
        facts["n"] += tallies.judgments if pooled else 0
        if tallies.voters:
            facts["voters"] = (facts["voters"] or 0.0) + tallies.voters
        if pooled and loaded.by_judge and ranking.units is not None:
            facts["judges"] = ranking.units.count
        facts["resamples"] = None if by_formula(chosen, aggregator) else replicates
        facts.update({"intervals": chosen, "votes": tallies.judged_words, "wins": tallies.won_words})
        facts["by_judge"] = loaded.by_judge
        if ranking.units is not None:
            sampled[ranking.units.noun] = None
        return replace(ranking, tallies=tallies, winners=loaded.winners(aggregator)), more

    def controlled(part: OpenedLog, plain: ItemRanking) -> tuple[ItemRanking, pl.DataFrame, list[str]]:
        assert controlling is not None
        adjusted, estimated, more = rank_controlled(part, controlling, "sandwich" if intervals else None, seed)
        facts["control"] = estimated["covariate"].to_list()
        return replace(adjusted, tallies=plain.tallies), estimated, more

    notes, effects, differences = list(source.notes), None, list[pl.DataFrame]()
    if pool:
        shared = category_rankings(source, aggregator, column=str(by), seed=seed)
        notes += [*shared.notes, *dict.fromkeys(itertools.chain.from_iterable(map(_scale_notes, shared.rankings)))]
        n = sum(one.tallies.judgments for one in shared.rankings if one.tallies)
        facts |= {"intervals": "sandwich", "resamples": None, "n": n, "votes": "votes", "wins": "wins", **shared.facts}
        table, intervals = ranking_table(shared.rankings, shared.names), "sandwich"
    elif by is None:
        ranking, more = ranked(source, pooled=True)
        notes += more
        table = ranking_table([ranking])
        notes += _scale_notes(ranking)
        if controlling is not None:
            ranking, effects, more = controlled(source, ranking)
            table = beside_unadjusted(ranking_table([ranking]), table)
            notes += more
        if between:
            differences.append(pair_difference(ranking, between))
    else:
        tables, unadjusted, some, gone = QueryTables(), QueryTables(), list[pl.DataFrame](), list[str]()
        for query, part, votes in _queries(source, aggregator, sums=intervals is None and controlling is None):
            try:
                ranking, more = ranked(part, pooled=False)
                if controlling is not None:
                    plain, (ranking, estimated, also) = ranking, controlled(part, ranking)
                    unadjusted.add(query, plain)
                    some.append(estimated.select(pl.lit(query).alias("query"), pl.all()))
                    more += also
            except Unread:
                raise  # nothing is known of any query
            except InputError as error:
                gone.append(f"rankbench leaves out {by} {query!r}: {error}")
                notes.append(gone[-1])
                continue
            # Notes on the whole log are said once.
            notes += [
                note if note == NO_TIMES else f"{by} {query!r}: {note}" for note in (*more, *_scale_notes(ranking))
            ]
            facts["n"] += votes
            if between:
                differences.append(pair_difference(ranking, between, query))
            tables.add(query, ranking)
        if not tables:
            raise InputError(gone[0] if gone else "there are no judgments", path=source.path)
        table = tables.whole()
        if some:
            table, effects = beside_unadjusted(table, unadjusted.whole()), pl.concat(some)
    if by is None and intervals is not None:
        facts["may_be_first"] = table.filter("may_be_first", scale=1)["item"].to_list()
        facts["scales"] = table["scale"].n_unique()
    if by is None and "winner" in table.columns:
        facts["winners"] = table.filter("winner")["item"].to_list()
    facts.setdefault("sampled", " or ".join(sampled) or None)
    found = _findings(source, first_votes, table["item"].unique().to_list(), queries=by in (None, "query"))
    if by not in (None, "query"):
        found += name_notes(table["query"].unique().to_list(), "categories")
    if intervals is not None and table["lower"].count() and ridge_of(aggregator) > 0:
        found = [RIDGE.sentence.format(value=ridge_of(aggregator)), *found]
    pairs, name = facts.pop("pairs", None), str(controlling or aggregator)
    contrasts = pl.concat(differences) if differences else None
    return Aggregation(table, name, (*_shortened(notes), *found), facts, pairs, effects, contrasts, source.raw.sha256)


def first_items(found: Aggregation, top: int | None) -> Aggregation:
    """Return a ranking with its first items alone, of each query where there are several; places are among all."""
    if top is None:
        return found
    table = found.table
    kept = table.group_by("query", maintain_order=True).head(top) if "query" in table.columns else table.head(top)
    return replace(found, table=kept)


def _aggregator(method: str) -> Aggregator:
    return manager.get(Aggregator, method)


def _queries(source: OpenedLog, aggregator: Aggregator, *, sums: bool) -> Iterator[tuple[str, OpenedLog, int]]:
    """Yield the queries with their judgments and how many, by name; votes as sums by pair where that is enough."""
    frame = source.frame
    names = frame.collect_schema().names()
    votes = pl.col("count").sum() if "count" in names else (~pl.col(REST)).sum() if REST in names else pl.len()
    if source.table.row == "comparisons" and sums and isinstance(aggregator, CountAggregator):
        keys = [name for name in ("query_id", "winner", "loser", "tie") if name in names]
        weight = pl.col("weight").sum() if "weight" in names else votes.cast(pl.Float64)
        frame = frame.group_by(keys).agg(weight.alias("weight"), votes.alias(_ROWS)).sort(keys)
    by_name = frame.with_columns(pl.col("query_id").cast(pl.String)).sort("query_id", maintain_order=True)
    whole, first = by_name.collect(engine="streaming"), 0
    for length, query in whole["query_id"].rle().struct.unnest().iter_rows():
        part = whole.slice(first, length)
        rows = int(part[_ROWS].sum() if _ROWS in part.columns else part.select(votes).item())
        yield query, source.part(f"query {query}", part.drop(_ROWS, strict=False).lazy()), rows
        first += length


def _scale_notes(ranking: ItemRanking) -> list[str]:
    scales = len(np.unique(ranking.scales))
    if scales < 2:
        return []
    return [
        f"{scales} groups of items cannot be compared with one another. Scores of different groups stand on scales of "
        "their own (column scale), and say nothing about their order"
    ]


def _findings(source: OpenedLog, first_votes: FirstVotes, names: list[str], *, queries: bool) -> list[str]:
    """Return what is suspicious about a log that could be ranked; `queries`: whether its queries are what was asked."""
    if source.table.row != "comparisons":
        return name_notes(names)
    frame = source.frame if source.parquet is None else source.parquet.frame()
    if "count" in frame.collect_schema():
        frame = first_of_counts(frame.head(LOOKED_AT + 1).collect(engine="streaming"), LOOKED_AT + 1).lazy()
    judged = "judge" in frame.collect_schema()
    if first_votes.frames:
        frame = pl.concat(first_votes.frames).lazy()
        # Rows may have been counted in the place of judges.
        frame = frame if judged else frame.drop("judge", strict=False)
    return [*suspicious_votes(frame, queries=queries).notes(), *name_notes(names)]


def _shortened(notes: list[str]) -> tuple[str, ...]:
    different = list(dict.fromkeys(notes))
    if len(different) <= _MOST_NOTES + 1:
        return tuple(different)
    return (*different[:_MOST_NOTES], f"and {len(different) - _MOST_NOTES} more like these")
