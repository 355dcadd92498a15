"""`rankbench aggregate` ranks one log by one method: it fits a question to the log, ranks each part, and joins them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rankbench.core.runtime import LOG_SEED, settle_runtime
from rankbench.core.text import listed
from rankbench.data.readings.find import AnyReading
from rankbench.data.tables.kinds import default_of, not_judged
from rankbench.data.tables.schemas import REST
from rankbench.descriptions.suspicions import name_notes, suspicious_votes
from rankbench.errors import InputError, SpecError, Unread, option
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.covariate_aggregator import ControlledAggregator
from rankbench.interfaces.metric import RIDGE
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.reading import with_told
from rankbench.logs.open import Log
from rankbench.logs.opened import OpenedLog
from rankbench.logs.stream import LOOKED_AT, first_of_counts
from rankbench.logs.votes import NO_TIMES
from rankbench.plugin import manager
from rankbench.ranking.aggregation import Aggregation
from rankbench.ranking.covariates import checked_control, rank_controlled
from rankbench.ranking.interval_kinds import by_formula
from rankbench.ranking.load import WantedIntervals, check_cluster, check_fit, load_log, opened_log
from rankbench.ranking.pooled import category_rankings
from rankbench.ranking.question import RankingQuestion
from rankbench.ranking.rank import RESAMPLES, Ranking, rank
from rankbench.ranking.ranked_log import CountedVotes, RankedLog, ridge_of
from rankbench.ranking.ranking_table import pair_difference, query_tables, ranking_table

_MOST_NOTES = 5
_MOST_NAMED = 4
_ROWS = "rows that are summed up"


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
    ranked = ranked_categories if question.pool else ranked_whole if question.by is None else ranked_queries
    return ranked(FittedQuestion.opened(log, question))


@dataclass(frozen=True)
class FittedQuestion:
    """A question that an opened log can answer: its aggregators, and the intervals that they can have."""

    question: RankingQuestion
    log: OpenedLog
    aggregator: Aggregator
    controlling: ControlledAggregator | None
    intervals: WantedIntervals

    @classmethod
    def opened(cls, log: Log, question: RankingQuestion) -> FittedQuestion:
        """Open a log, and fit a question to it.

        Raises
        ------
        InputError, SpecError
            See `rankbench.aggregate`.
        """
        named = _aggregator(question.method) if question.method else None
        told = with_told(question.told, "control", question.control)
        source = opened_log(log, columns=told, by=question.by, reader=question.reader, keep=question.keep)
        method = question.method or default_of(source.table, "method")
        if not method:
            raise not_judged(source.name, source.table, "method")
        source = source.judged()
        aggregator, intervals = named or _aggregator(method), question.wanted
        check_fit(aggregator, source)
        if question.address:
            whole = question.by is None and not question.control
            check_cluster(aggregator, source, intervals, whole=whole)
        controlling: ControlledAggregator | None = None
        if question.control:
            controlling, intervals = checked_control(aggregator, source, intervals)
        elif aggregator.config().get("control"):
            raise SpecError(f"{aggregator} takes covariates: name them with {option('control')}")
        return cls(question, source, aggregator, controlling, intervals)

    def facts(self) -> dict[str, Any]:
        """Return the facts of an answer that are known before anything is ranked."""
        asked = self.question
        found: dict[str, Any] = {"unit": self.aggregator.score_unit(), "n": 0, "voters": None, "judges": None}
        found |= {"sampled": [], "by": asked.by, "seed": asked.seed, "resamples": asked.replicates}
        found |= {"filter": asked.keep.as_dict()} if asked.keep else {}
        return found | ({"reading": dict(self.log.stated)} if self.log.stated else {})

    def ranked(
        self, part: OpenedLog, facts: dict[str, Any], first_votes: list[pl.DataFrame] | None = None
    ) -> tuple[Ranking, RankedLog]:
        """Rank a part, add to the facts, and return what was ranked too.

        With `first_votes`, which get some, the part is the whole log.
        """
        asked, aggregator, whole = self.question, self.aggregator, first_votes is not None
        loaded, chosen = load_log(
            part, aggregator, self.intervals, pooled=whole, address=asked.address, first_votes=first_votes
        )
        ranking = rank(loaded, aggregator, intervals=chosen, resamples=asked.replicates, seed=asked.seed)
        tallies, units = loaded.tallies, ranking.units
        if tallies.voters:
            facts["voters"] = (facts["voters"] or 0.0) + tallies.voters
        facts["resamples"] = None if by_formula(chosen, aggregator) else asked.replicates
        facts |= {"intervals": chosen, "votes": tallies.judged_words, "wins": tallies.won_words}
        facts["by_judge"] = loaded.by_judge
        if units is not None:
            facts["sampled"] += [units.noun] * (units.noun not in facts["sampled"])
            facts["judges"] = units.count if loaded.by_judge and whole else None
        ranking = replace(ranking, tallies=tallies, winners=loaded.winners(aggregator))
        ranking = replace(ranking, notes=(*ranking.notes, *_scale_notes(ranking)))
        if self.controlling is None:
            return ranking, loaded
        with_intervals: Literal["sandwich"] | None = "sandwich" if self.intervals else None
        adjusted = rank_controlled(part, self.controlling, with_intervals, asked.seed).noted(ranking.notes)
        if adjusted.effects is not None:
            facts["control"] = adjusted.effects["covariate"].to_list()
        return replace(adjusted, tallies=tallies, unadjusted=ranking), loaded


def ranked_whole(fitted: FittedQuestion) -> Aggregation:
    """Rank a log as one."""
    facts, first_votes = fitted.facts(), list[pl.DataFrame]()
    ranking, loaded = fitted.ranked(fitted.log, facts, first_votes)
    table = ranking_table({None: ranking})
    facts["n"] = loaded.tallies.judgments
    if fitted.intervals is not None:
        facts["may_be_first"] = table.filter("may_be_first", scale=1)["item"].to_list()
        facts["scales"] = table["scale"].n_unique()
    if "winner" in table.columns:
        facts["winners"] = table.filter("winner")["item"].to_list()
    pair, counts = fitted.question.between, loaded.counts if isinstance(loaded, CountedVotes) else None
    differences = [pair_difference(ranking, pair)] if pair else []
    effects = [] if ranking.effects is None else [ranking.effects]
    return _answer(fitted, table, ranking.notes, facts, effects, differences, first_votes, counts)


def ranked_queries(fitted: FittedQuestion) -> Aggregation:
    """Rank each query of a log, or each value of a column, by itself.

    Raises
    ------
    InputError
        None of them can be ranked.
    """
    by, pair, facts = fitted.question.by, fitted.question.between, fitted.facts()
    effects, differences, gone, said = list[pl.DataFrame](), list[pl.DataFrame](), list[str](), dict[str, list[str]]()

    def rankings() -> Iterator[tuple[str, Ranking]]:
        for query, part, votes in _queries(fitted):
            try:
                ranking, _ = fitted.ranked(part, facts)
            except Unread:
                raise  # nothing is known of any query
            except InputError as error:
                gone.append(f"rankbench leaves out {by} {query!r}: {error}")
                continue
            for note in ranking.notes:
                said.setdefault(note, []).append(query)
            facts["n"] += votes
            if pair:
                differences.append(pair_difference(ranking, pair, query))
            if ranking.effects is not None:
                effects.append(ranking.effects.select(pl.lit(query).alias("query"), pl.all()))
            yield query, ranking

    table = query_tables(rankings())
    if table is None:
        raise InputError(gone[0] if gone else "there are no judgments", path=fitted.log.path)
    # Notes on the whole log, and notes that differ in the category alone, are said once.
    notes = [note if note == NO_TIMES else f"{by} {listed(some, _MOST_NAMED)}: {note}" for note, some in said.items()]
    return _answer(fitted, table, [*gone, *notes], facts, effects, differences)


def ranked_categories(fitted: FittedQuestion) -> Aggregation:
    """Rank categories by scores that are shrunk toward common ones."""
    by, seed = str(fitted.question.by), fitted.question.seed
    rankings, pooled, notes = category_rankings(fitted.log, fitted.aggregator, column=by, seed=seed)
    every, facts = rankings.values(), fitted.facts() | pooled
    facts |= {"intervals": "sandwich", "resamples": None, "votes": "votes", "wins": "wins"}
    facts["n"] = sum(one.tallies.judgments for one in every if one.tallies)
    notes += dict.fromkeys(itertools.chain.from_iterable(map(_scale_notes, every)))
    return _answer(fitted, ranking_table(rankings), notes, facts)


def _answer(
    fitted: FittedQuestion,
    table: pl.DataFrame,
    notes: Iterable[str],
    facts: dict[str, Any],
    effects: Sequence[pl.DataFrame] = (),
    differences: Sequence[pl.DataFrame] = (),
    first_votes: Sequence[pl.DataFrame] = (),
    pairs: PairCounts | None = None,
) -> Aggregation:
    """Put rankings together, with notes on suspicious votes and names."""
    by, ridge = fitted.question.by, ridge_of(fitted.aggregator)
    names = table["item"].unique().to_list()
    control = isinstance(fitted.aggregator, ControlledAggregator) and not fitted.question.control
    found = _findings(fitted.log, first_votes, names, queries=by in (None, "query"), control=control)
    if by not in (None, "query"):
        found += name_notes(table["query"].unique().to_list(), "categories")
    if facts["intervals"] and table["lower"].count() and ridge > 0:
        found = [RIDGE.sentence.format(value=ridge), *found]
    every = (*_shortened([*fitted.log.notes, *notes]), *found)
    facts["sampled"] = " or ".join(facts["sampled"]) or None
    shown, between = (pl.concat(some) if some else None for some in (effects, differences))
    name, digest = str(fitted.controlling or fitted.aggregator), fitted.log.raw.sha256
    return Aggregation(table, name, every, facts, pairs, shown, between, digest)


def _aggregator(method: str) -> Aggregator:
    return manager.get(Aggregator, method)


def _queries(fitted: FittedQuestion) -> Iterator[tuple[str, OpenedLog, int]]:
    """Yield the queries with their judgments and how many, by name; votes as sums by pair where that is enough."""
    source, frame = fitted.log, fitted.log.frame
    sums = fitted.intervals is None and fitted.controlling is None
    names = frame.collect_schema().names()
    votes = pl.col("count").sum() if "count" in names else (~pl.col(REST)).sum() if REST in names else pl.len()
    if source.table.row == "comparisons" and sums and isinstance(fitted.aggregator, CountAggregator):
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


def _scale_notes(ranking: Ranking) -> list[str]:
    scales = len(np.unique(ranking.scales))
    if scales < 2:
        return []
    return [
        f"{scales} groups of items cannot be compared with one another. Scores of different groups stand on scales of "
        "their own (column scale), and say nothing about their order"
    ]


def _findings(
    source: OpenedLog, first_votes: Sequence[pl.DataFrame], names: list[str], *, queries: bool, control: bool
) -> list[str]:
    """Return notes on suspicious votes and names; with `queries`, also on queries."""
    if source.table.row != "comparisons":
        return name_notes(names)
    frame = source.frame if source.parquet is None else source.parquet.frame()
    if "count" in frame.collect_schema():
        frame = first_of_counts(frame.head(LOOKED_AT + 1).collect(engine="streaming"), LOOKED_AT + 1).lazy()
    judged = "judge" in frame.collect_schema()
    if first_votes:
        frame = pl.concat(first_votes).lazy()
        # Rows may have been counted in the place of judges.
        frame = frame if judged else frame.drop("judge", strict=False)
    return [*suspicious_votes(frame, queries=queries).notes(control=control), *name_notes(names)]


def _shortened(notes: list[str]) -> tuple[str, ...]:
    different = list(dict.fromkeys(notes))
    if len(different) <= _MOST_NOTES + 1:
        return tuple(different)
    return (*different[:_MOST_NOTES], f"and {len(different) - _MOST_NOTES} more like these")
