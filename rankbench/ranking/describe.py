"""What is in a table, any kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from rankbench.core.text import plain_name
from rankbench.data.tables.checks import default_of, table_of
from rankbench.data.tables.column_roles import ROLES
from rankbench.data.tables.comparisons import ComparisonTable
from rankbench.data.tables.covariates import ControlTerm, sided_columns
from rankbench.data.tables.items import ItemTable
from rankbench.data.tables.orders import OrderTable
from rankbench.data.tables.schemas import features
from rankbench.data.tables.selections import SelectionTable
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.covariate_aggregator import ControlledAggregator
from rankbench.interfaces.table import QUERY, TableKind, with_column
from rankbench.plugin.manager import get
from rankbench.ranking.describe_votes import ComparisonsSummary, Sizes
from rankbench.ranking.open import LogSource, open_source
from rankbench.ranking.votes import covariate_votes, load_votes

if TYPE_CHECKING:
    from rankbench.ranking.open import Log


class TableSummary(Protocol):
    """What a describer finds."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""


def describe(table: pl.LazyFrame, *, path: Path | None = None) -> TableSummary:
    """Summarize a table in the schema.

    Parameters
    ----------
    table : LazyFrame
        As readers return it.
    path : Path, optional
        Named in errors.

    Raises
    ------
    InputError
        The table is empty, or reading it fails.
    """
    return _summary(table_of(table.collect_schema(), path), table, path)


@singledispatch
def _summary(kind: TableKind, table: pl.LazyFrame, path: Path | None) -> TableSummary:

    return describe_rows(kind, table, path)


@_summary.register
def _(kind: ItemTable, table: pl.LazyFrame, path: Path | None) -> TableSummary:

    return describe_items(table, features(table.collect_schema()), path)


@_summary.register
def _(kind: ComparisonTable, table: pl.LazyFrame, path: Path | None) -> TableSummary:
    from rankbench.ranking.describe_votes import describe_votes

    return describe_votes(table, path=path)


@_summary.register
def _(kind: SelectionTable, table: pl.LazyFrame, path: Path | None) -> TableSummary:

    return describe_selections(table, path=path)


@_summary.register
def _(kind: OrderTable, table: pl.LazyFrame, path: Path | None) -> TableSummary:

    return describe_orders(table, path=path)


@dataclass(frozen=True)
class RowsSummary:
    """What is in a table, whatever its kind.

    Attributes
    ----------
    table : str
        Name of the kind.
    rows, queries : int
    rows_per_query : Sizes
    facts : dict
        As `TableKind.facts` has them.
    """

    table: str
    rows: int
    queries: int
    rows_per_query: Sizes
    facts: dict[str, int | float | str]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        head = {"table": self.table, "rows": self.rows, "queries": self.queries}
        return {**head, "rows_per_query": vars(self.rows_per_query), **self.facts}

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""
        return [
            ("table", self.table),
            ("rows", f"{self.rows:,}"),
            ("queries", f"{self.queries:,}"),
            ("rows per query", str(self.rows_per_query)),
            *((name.replace("_", " "), _plainly(value)) for name, value in self.facts.items()),
        ]


def _plainly(value: int | float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def describe_rows(kind: TableKind, table: pl.LazyFrame, path: Path | None) -> RowsSummary:
    """Summarize a table of any kind; memory grows with the queries, and with what the kind's facts need.

    Raises
    ------
    InputError
        The table has no rows, or reading it fails.
    """
    sizes = table.group_by(QUERY).len().collect(engine="streaming")["len"].to_list()
    if not sizes:
        raise InputError("the table has no rows", path=path)
    return RowsSummary(kind.name, sum(sizes), len(sizes), Sizes.from_counts(sizes), kind.facts(table))


_MOST_LABELS = 20


@dataclass(frozen=True)
class ItemsSummary:
    """What is in an items table.

    Attributes
    ----------
    rows, queries : int
    items_per_query : Sizes
    labels : dict of str to int
        Rows of each label value; empty if there are more than 20 values.
    label_range : tuple of float, optional
    unlabelled : int
        Rows without a label.
    usable : int
        Queries with two different labels and no item unlabelled.
    features : int
    zeros, not_finite : float, int
        Share of feature values that are 0; number that are NaN or infinite.
    constant : list of int
        Features, from 0, with one value in the whole table.
    feature_range : tuple of float
    """

    rows: int
    queries: int
    items_per_query: Sizes
    labels: dict[str, int]
    label_range: tuple[float, float] | None
    unlabelled: int
    usable: int
    features: int
    zeros: float
    not_finite: int
    constant: list[int]
    feature_range: tuple[float, float]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"table": "items"} | asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""
        labels = ", ".join(f"{label}: {count:,} ({count / self.rows:.1%})" for label, count in self.labels.items())
        if not labels:
            labels = "none" if self.label_range is None else f"{self.label_range[0]:g} to {self.label_range[1]:g}"
        constant = ", ".join(map(str, self.constant[:12])) + (", ..." if len(self.constant) > 12 else "")
        return [
            ("table", "items"),
            ("rows", f"{self.rows:,}"),
            (
                "queries",
                f"{self.queries:,} ({self.queries - self.usable:,} not usable: fewer than two different labels)",
            ),
            ("items per query", str(self.items_per_query)),
            ("labels", labels),
            ("unlabelled rows", f"{self.unlabelled:,}"),
            ("features", f"{self.features:,}"),
            ("feature values", f"{self.feature_range[0]:g} to {self.feature_range[1]:g}, {self.zeros:.1%} zero"),
            ("NaN or infinite", f"{self.not_finite:,}"),
            ("constant features", f"{len(self.constant)}" + (f" (from 0: {constant})" if self.constant else "")),
        ]


class _Features:
    """Running range, zeros and oddities of each feature."""

    def __init__(self, d: int) -> None:
        self.low = np.full(d, np.inf, np.float32)
        self.high = np.full(d, -np.inf, np.float32)
        self.values, self.zeros, self.not_finite = 0, 0, 0

    def add(self, x: np.ndarray[Any, np.dtype[np.float32]]) -> None:
        finite = np.isfinite(x)
        self.not_finite += int(x.size - np.count_nonzero(finite))
        self.zeros += int(np.count_nonzero(x == 0))
        self.values += x.size
        np.minimum(self.low, np.where(finite, x, np.inf).min(axis=0), out=self.low)
        np.maximum(self.high, np.where(finite, x, -np.inf).max(axis=0), out=self.high)


def describe_items(table: pl.LazyFrame, d: int, path: Path | None) -> ItemsSummary:
    """Summarize a table of items with d features, in one pass.

    Raises
    ------
    InputError
        The table has no rows.
    """
    labels: Counter[float] = Counter()
    x = _Features(d)
    sizes: Counter[str] = Counter()
    judged: dict[str, tuple[float, float]] = {}
    unlabelled: Counter[str] = Counter()
    for frame in table.collect_batches(maintain_order=True, engine="streaming"):
        if not frame.height:
            continue
        labels.update(dict(frame["label"].drop_nulls().value_counts().iter_rows()))
        x.add(frame["x"].to_numpy())
        groups = frame.group_by("query_id", maintain_order=True).agg(
            pl.len(), pl.col("label").null_count().alias("null"), low=pl.col("label").min(), high=pl.col("label").max()
        )
        for query, count, missing, low, high in groups.iter_rows():
            sizes[query] += count
            unlabelled[query] += missing
            if low is not None:
                before = judged.get(query, (low, high))
                judged[query] = (min(low, before[0]), max(high, before[1]))
    if not sizes:
        raise InputError("the table has no rows", path=path)
    values = sorted(labels)
    return ItemsSummary(
        rows=sizes.total(),
        queries=len(sizes),
        items_per_query=Sizes.from_counts(list(sizes.values())),
        labels={f"{value:g}": labels[value] for value in values} if len(values) <= _MOST_LABELS else {},
        label_range=(values[0], values[-1]) if values else None,
        unlabelled=unlabelled.total(),
        usable=sum(low < high and not unlabelled[query] for query, (low, high) in judged.items()),
        features=d,
        zeros=x.zeros / x.values,
        not_finite=x.not_finite,
        constant=np.flatnonzero(x.low == x.high).tolist(),
        feature_range=(float(x.low.min()), float(x.high.max())),
    )


@dataclass(frozen=True)
class OrdersSummary:
    """What is in an orders table.

    Attributes
    ----------
    rows, queries : int
    voters : float
        Total weight.
    rows_per_query, items_per_query, ranked : Sizes
        Ballots of a query; its candidates, or else the items that its ballots rank; items on a
        ballot.
    complete : int
        Ballots that rank all items of their query.
    ties : int
        Ballots on which items are tied.
    judges : int, optional
        None if the table does not say who voted.
    unranked : int
        Candidates that no ballot ranks.
    """

    rows: int
    queries: int
    voters: float
    rows_per_query: Sizes
    items_per_query: Sizes
    ranked: Sizes
    complete: int
    ties: int
    judges: int | None
    unranked: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"table": "orders"} | asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""

        def share(count: int) -> str:
            return f"{count:,} ({count / self.rows:.1%})"

        return [
            ("table", "orders"),
            ("ballots", f"{self.rows:,}, of {self.voters:,g} voters"),
            ("queries", f"{self.queries:,}"),
            *([("ballots per query", str(self.rows_per_query))] if self.queries > 1 else []),
            ("items per query", f"{self.items_per_query}, of which no ballot ranks {self.unranked:,} in all"),
            ("items on a ballot", str(self.ranked)),
            ("complete ballots", share(self.complete)),
            ("ballots with ties", share(self.ties)),
            ("judges", "not given" if self.judges is None else f"{self.judges:,}"),
        ]


def describe_orders(table: pl.LazyFrame, *, path: Path | None = None) -> OrdersSummary:
    """Summarize an orders table in one pass; see `rankbench.ranking.describe.describe`.

    Memory grows with the queries, their items and the lengths of their ballots, not with the ballots.
    """
    per_query: Counter[str] = Counter()
    lengths: Counter[tuple[str, int]] = Counter()
    ranked: dict[str, set[str]] = {}
    candidates: dict[str, set[str]] = {}
    judges: set[str] = set()
    voters, ties, named = 0.0, 0, False
    for frame in table.collect_batches(maintain_order=True, engine="streaming"):
        if not frame.height:
            continue
        per_query.update(dict(frame["query_id"].value_counts().iter_rows()))
        voters += float(frame["weight"].sum()) if "weight" in frame.columns else frame.height
        if "judge" in frame.columns:
            named = True
            judges.update(frame["judge"].drop_nulls().unique().to_list())
        if "candidates" in frame.columns:
            for query, names in frame.unique("query_id").select("query_id", "candidates").iter_rows():
                candidates.setdefault(query, set(names))
        rows = frame.select("query_id", "ranking", row=pl.int_range(pl.len()))
        items = rows.explode("ranking", empty_as_null=False).with_columns(tied=pl.col("ranking").list.len() > 1)
        items = items.explode("ranking", empty_as_null=False)
        ballots = items.group_by("row").agg(pl.col("query_id").first(), pl.len(), pl.col("tied").any())
        ties += int(ballots["tied"].sum())
        lengths.update((query, length) for query, length in ballots.select("query_id", "len").iter_rows())
        for query, item in items.select("query_id", "ranking").unique().iter_rows():
            ranked.setdefault(query, set()).add(item)
    if not per_query:
        raise InputError("the table has no rows", path=path)
    sizes = {query: len(candidates.get(query, ranked[query])) for query in per_query}
    repeated = np.repeat([length for _, length in lengths], list(lengths.values()))
    return OrdersSummary(
        rows=per_query.total(),
        queries=len(per_query),
        voters=voters,
        rows_per_query=Sizes.from_counts(list(per_query.values())),
        items_per_query=Sizes.from_counts(list(sizes.values())),
        ranked=Sizes.from_counts(repeated.tolist()),
        complete=sum(count for (query, length), count in lengths.items() if length == sizes[query]),
        ties=ties,
        judges=len(judges) if named else None,
        unranked=sum(len(candidates[query] - ranked[query]) for query in candidates),
    )


_MOST_CLICKS = 5
_MOST_POSITIONS = 20


@dataclass(frozen=True)
class SelectionsSummary:
    """What is in a selections table.

    Attributes
    ----------
    sessions, queries : int
    items : int
        Pairs of a query and an item that was shown for it.
    sessions_per_query, shown : Sizes
        Sessions of a query; items of a session.
    parts : dict of str to int
        Sessions of each part; empty if the table does not say.
    clicks : dict of int to int
        Sessions by the number of different positions clicked.
    click_rate : list of float
        Share of the lists that reach position 1, 2, ... in which it was clicked.
    clicks_off_list, sessions_off_list : int
        Clicks outside of the shown list, and sessions that have one.
    repeated : int
        Clicks on a position that the session had clicked before.
    upwards : int
        Sessions in which a click is above the one before it.
    """

    sessions: int
    queries: int
    items: int
    sessions_per_query: Sizes
    shown: Sizes
    parts: dict[str, int]
    clicks: dict[int, int]
    click_rate: list[float]
    clicks_off_list: int
    sessions_off_list: int
    repeated: int
    upwards: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"table": "selections"} | asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""

        def share(count: int) -> str:
            return f"{count:,} ({count / self.sessions:.1%})"

        several = sum(count for clicks, count in self.clicks.items() if clicks > 1)
        by_number = [f"{c}: {share(self.clicks[c])}" for c in sorted(self.clicks) if c < _MOST_CLICKS]
        more = sum(count for clicks, count in self.clicks.items() if clicks >= _MOST_CLICKS)
        if more:
            by_number.append(f"{_MOST_CLICKS} or more: {share(more)}")
        rates = " ".join(f"{rate:.3f}" for rate in self.click_rate[:_MOST_POSITIONS])
        lines = [
            ("table", "selections"),
            ("sessions", f"{self.sessions:,}"),
            ("queries", f"{self.queries:,}"),
            *([("sessions per query", str(self.sessions_per_query))] if self.queries > 1 else []),
            ("items", f"{self.items:,} (an item counts once a query)"),
            ("items shown", str(self.shown)),
            ("positions clicked", ", ".join(by_number)),
            ("several clicks", f"{share(several)} of the sessions; a selection has one: see the policies"),
            ("click rate by position", rates + (" ..." if len(self.click_rate) > _MOST_POSITIONS else "")),
            ("clicks off the list", f"{self.clicks_off_list:,} in {self.sessions_off_list:,} sessions"),
            ("clicks on the same again", f"{self.repeated:,}"),
            ("sessions clicking upwards", share(self.upwards)),
        ]
        if self.parts:
            lines.insert(2, ("parts", ", ".join(f"{name}: {share(count)}" for name, count in self.parts.items())))
        return lines


def describe_selections(table: pl.LazyFrame, *, path: Path | None = None) -> SelectionsSummary:
    """Summarize a selections table in one pass; see `rankbench.ranking.describe.describe`.

    Memory grows with the queries and items, not with the sessions.
    """
    per_query: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    clicks: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    hits: Counter[int] = Counter()
    items: set[tuple[str, str]] = set()
    off = off_sessions = repeated = upwards = 0
    for frame in table.collect_batches(maintain_order=True, engine="streaming"):
        if not frame.height:
            continue
        per_query.update(dict(frame["query_id"].value_counts().iter_rows()))
        if "part" in frame.columns:
            parts.update(dict(frame["part"].value_counts().iter_rows()))
        lengths.update(dict(frame["shown"].list.len().value_counts().iter_rows()))
        items.update(frame.select("query_id", "shown").explode("shown", empty_as_null=False).unique().iter_rows())
        rows = frame.select(row=pl.int_range(pl.len()), size=pl.col("shown").list.len(), position="clicked")
        events = rows.explode("position", empty_as_null=False)
        outside = events.filter(pl.col("position") > pl.col("size"))
        inside = events.filter(pl.col("position") <= pl.col("size"))
        distinct = inside.unique(["row", "position"])
        off += outside.height
        off_sessions += outside["row"].n_unique()
        repeated += inside.height - distinct.height
        rises = inside.filter(pl.col("position") < pl.col("position").shift(1).over("row"))
        upwards += rises["row"].n_unique()
        hits.update(dict(distinct["position"].value_counts().iter_rows()))
        per_session = distinct.group_by("row").len()["len"]
        clicks.update(dict(per_session.value_counts().iter_rows()))
        if frame.height > len(per_session):
            clicks[0] += frame.height - len(per_session)
    if not per_query:
        raise InputError("the table has no rows", path=path)
    longest = max(lengths)
    reached = np.cumsum([lengths[length] for length in range(longest, 0, -1)])[::-1]
    sizes = np.repeat(list(lengths), list(lengths.values()))
    return SelectionsSummary(
        sessions=per_query.total(),
        queries=len(per_query),
        items=len(items),
        sessions_per_query=Sizes.from_counts(list(per_query.values())),
        shown=Sizes.from_counts(sizes.tolist()),
        parts=dict(sorted(parts.items())),
        clicks=dict(sorted(clicks.items())),
        click_rate=[hits[position] / int(reached[position - 1]) for position in range(1, longest + 1)],
        clicks_off_list=off,
        sessions_off_list=off_sessions,
        repeated=repeated,
        upwards=upwards,
    )


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
