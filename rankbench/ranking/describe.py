"""`rankbench data describe` tells what a table of any kind holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from rankbench.ranking.describe_votes import ComparisonsSummary, Sizes, TableSummary, describe_votes
from rankbench.ranking.open import LogSource, open_source
from rankbench.ranking.votes import covariate_votes, load_votes

if TYPE_CHECKING:
    from rankbench.ranking.open import Log


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
    kind = table_of(table.collect_schema(), path)
    for described, describer in _DESCRIBERS.items():
        if isinstance(kind, described):
            return describer(table, path=path)
    return describe_rows(kind, table, path)


@dataclass(frozen=True)
class RowsSummary(TableSummary):
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
class ItemsSummary(TableSummary):
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

    table: str = field(default="items", init=False)
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

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""
        labels = ", ".join(f"{label}: {count:,} ({count / self.rows:.1%})" for label, count in self.labels.items())
        if not labels:
            labels = "none" if self.label_range is None else f"{self.label_range[0]:g} to {self.label_range[1]:g}"
        constant = ", ".join(map(str, self.constant[:12])) + (", ..." if len(self.constant) > 12 else "")
        return [
            ("table", self.table),
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


def _summed(
    table: pl.LazyFrame, path: Path | None, counted: Callable[[pl.DataFrame], Sequence[pl.DataFrame]]
) -> list[pl.DataFrame]:
    """Return what is counted of all batches of a table, summed by group.

    Parameters
    ----------
    table : LazyFrame
    path : Path, optional
        Named in errors.
    counted : callable
        Returns some frames of a batch, a row a group: what groups by, then ``len`` and other sums.

    Raises
    ------
    InputError
        The table has no rows.
    """
    sums: list[pl.DataFrame] = []
    for batch in table.collect_batches(maintain_order=True, engine="streaming"):
        if batch.height:
            found = counted(batch)
            sums = [_added(*two) for two in zip(sums, found, strict=True)] if sums else list(found)
    if not sums:
        raise InputError("the table has no rows", path=path)
    return sums


def _added(sums: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    groups = sums.columns[: sums.columns.index("len")]
    return pl.concat([sums, more]).group_by(groups, maintain_order=True).agg(pl.all().sum())


def describe_items(table: pl.LazyFrame, *, path: Path | None = None) -> ItemsSummary:
    """Summarize a table of items in one pass.

    Raises
    ------
    InputError
        The table has no rows.
    """
    d = features(table.collect_schema())
    x = _Features(d)

    def counted(batch: pl.DataFrame) -> list[pl.DataFrame]:
        x.add(batch["x"].to_numpy())
        return [batch.group_by("query_id", "label").len()]

    (sums,) = _summed(table, path, counted)
    label = pl.col("label")
    queries = sums.group_by("query_id").agg(
        pl.col("len").sum(), missing=label.null_count(), values=label.drop_nulls().len()
    )
    by_label = sums.drop_nulls("label").group_by("label").agg(pl.col("len").sum()).sort("label")
    labels = dict(by_label.iter_rows())
    values = list(labels)
    return ItemsSummary(
        rows=int(queries["len"].sum()),
        queries=queries.height,
        items_per_query=Sizes.from_counts(queries["len"].to_list()),
        labels={f"{value:g}": count for value, count in labels.items()} if len(labels) <= _MOST_LABELS else {},
        label_range=(values[0], values[-1]) if values else None,
        unlabelled=int(sums.filter(label.is_null())["len"].sum()),
        usable=queries.filter(pl.col("missing") == 0, pl.col("values") > 1).height,
        features=d,
        zeros=x.zeros / x.values,
        not_finite=x.not_finite,
        constant=np.flatnonzero(x.low == x.high).tolist(),
        feature_range=(float(x.low.min()), float(x.high.max())),
    )


@dataclass(frozen=True)
class OrdersSummary(TableSummary):
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

    table: str = field(default="orders", init=False)
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

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""

        def share(count: int) -> str:
            return f"{count:,} ({count / self.rows:.1%})"

        return [
            ("table", self.table),
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

    Memory grows with the queries, their items, and the lengths and the weights of their ballots, not with the ballots.
    """
    names, places = table.collect_schema().names(), pl.col("ranking").list.eval(pl.element().list.len())
    weight = pl.col("weight") if "weight" in names else pl.lit(1.0)
    judge = pl.col("judge") if "judge" in names else pl.lit(None, pl.String)

    def counted(batch: pl.DataFrame) -> list[pl.DataFrame]:
        ballots = batch.select("query_id", length=places.list.sum(), tied=places.list.max() > 1)
        ranked = _exploded(batch.select("query_id", item="ranking").explode("item", empty_as_null=False))
        return [
            ballots.group_by("query_id", "length").agg(pl.len(), pl.col("tied").sum()),
            batch.group_by(weight.alias("weight")).len(),
            batch.group_by(judge.alias("judge")).len(),
            ranked,
            _exploded(batch.unique("query_id").select("query_id", item="candidates"))
            if "candidates" in names
            else ranked,
        ]

    lengths, weights, judges, ranked, items = _summed(table, path, counted)
    per_query = lengths.group_by("query_id").agg(rows=pl.col("len").sum())
    per_query = per_query.join(items.group_by("query_id").len("items"), on="query_id")
    whole = lengths.join(per_query, on="query_id").filter(pl.col("length") == pl.col("items"))
    return OrdersSummary(
        rows=int(lengths["len"].sum()),
        queries=per_query.height,
        # Exact, in whatever order weights come.
        voters=math.fsum(weight * count for weight, count in weights.iter_rows()),
        rows_per_query=Sizes.from_counts(per_query["rows"].to_list()),
        items_per_query=Sizes.from_counts(per_query["items"].to_list()),
        ranked=Sizes.from_counts(np.repeat(lengths["length"], lengths["len"]).tolist()),
        complete=int(whole["len"].sum()),
        ties=int(lengths["tied"].sum()),
        judges=judges.drop_nulls().height if "judge" in names else None,
        unranked=items.join(ranked, on=["query_id", "item"], how="anti").height,
    )


def _exploded(lists: pl.DataFrame) -> pl.DataFrame:
    """Return the different items of each query, given lists of them."""
    return lists.explode("item", empty_as_null=False).group_by("query_id", "item").len()


_MOST_CLICKS = 5
_MOST_POSITIONS = 20


@dataclass(frozen=True)
class SelectionsSummary(TableSummary):
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

    table: str = field(default="selections", init=False)
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
            ("table", self.table),
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
    # Positions less the length of the list: above 0 they are off the list.
    size = pl.col("shown").list.len().cast(pl.Int64)
    past = pl.col("clicked").cast(pl.List(pl.Int64)) - size
    on_list = past.list.eval(pl.element().filter(pl.element() <= 0))
    names, off = table.collect_schema().names(), pl.col("off")
    part = pl.col("part") if "part" in names else pl.lit(None, pl.String)

    def counted(batch: pl.DataFrame) -> list[pl.DataFrame]:
        sessions = batch.select(
            "query_id",
            part=part,
            size=size,
            distinct=on_list.list.unique(),
            off=past.list.len() - on_list.list.len(),
            repeated=on_list.list.len() - on_list.list.n_unique(),
            upwards=on_list.list.diff().list.min() < 0,
        )
        positions = sessions.select("size", "distinct").explode("distinct", empty_as_null=False)
        of_query = pl.col("off", "repeated", "upwards").sum()
        return [
            sessions.group_by("query_id").agg(pl.len(), of_query, with_off=(off > 0).sum()),
            sessions.group_by("part").len(),
            sessions.group_by("size").len(),
            sessions.group_by(pl.col("distinct").list.len()).len(),
            positions.group_by(pl.col("distinct") + pl.col("size")).len(),
            _exploded(batch.select("query_id", item="shown")),
        ]

    per_query, parts, lengths, clicks, hits, items = _summed(table, path, counted)
    of_length, of_position = dict(lengths.iter_rows()), dict(hits.iter_rows())
    longest = max(of_length)
    reached = np.cumsum([of_length.get(length, 0) for length in range(longest, 0, -1)])[::-1]
    found = per_query.select(pl.exclude("query_id").sum()).row(0, named=True)
    return SelectionsSummary(
        sessions=found["len"],
        queries=per_query.height,
        items=items.height,
        sessions_per_query=Sizes.from_counts(per_query["len"].to_list()),
        shown=Sizes.from_counts(np.repeat(lengths["size"], lengths["len"]).tolist()),
        parts=dict(sorted(parts.drop_nulls().iter_rows())),
        clicks=dict(sorted(clicks.iter_rows())),
        click_rate=[of_position.get(at, 0) / int(reached[at - 1]) for at in range(1, longest + 1)],
        clicks_off_list=found["off"],
        sessions_off_list=found["with_off"],
        repeated=found["repeated"],
        upwards=found["upwards"],
    )


_DESCRIBERS: dict[type[TableKind], Callable[..., TableSummary]] = {
    ItemTable: describe_items,
    ComparisonTable: describe_votes,
    SelectionTable: describe_selections,
    OrderTable: describe_orders,
}
"""What summarizes which kind of table; other kinds are summarized by their facts."""

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
