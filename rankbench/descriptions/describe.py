"""`rankbench data describe` summarizes a table of any kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankbench.core.text import count_text
from rankbench.data.tables.checks import table_of
from rankbench.data.tables.comparisons import ComparisonTable
from rankbench.data.tables.items import ItemTable
from rankbench.data.tables.orders import OrderTable
from rankbench.data.tables.schemas import features
from rankbench.data.tables.selections import SelectionTable
from rankbench.descriptions.describe_votes import Sizes, TableSummary, describe_votes
from rankbench.errors import InputError
from rankbench.interfaces.table import QUERY, TableKind


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


def describe_rows(kind: TableKind, table: pl.LazyFrame, path: Path | None) -> TableSummary:
    """Summarize a table of any kind; memory grows with the queries, and with the kind's facts.

    The facts are ``rows, queries, rows_per_query``, and those of `TableKind.facts`.

    Raises
    ------
    InputError
        The table has no rows, or reading it fails.
    """
    sizes = table.group_by(QUERY).len().collect(engine="streaming")
    if sizes.is_empty():
        raise InputError("the table has no rows", path=path)
    per_query, more = Sizes.from_counts(sizes["len"].to_list()), kind.facts(table)
    rows, queries = int(sizes["len"].sum()), sizes.height
    facts = {"table": kind.name, "rows": rows, "queries": queries, "rows_per_query": per_query, **more}
    of_scores = "measurements" in kind.judgments
    lines = [
        ("table", kind.name),
        ("rows", f"{rows:,}"),
        ("tasks" if of_scores else "queries", f"{queries:,}"),
        ("rows per task" if of_scores else "rows per query", str(per_query)),
        *((name.replace("_", " "), _plainly(value)) for name, value in more.items()),
    ]
    return TableSummary(facts, lines)


def _plainly(value: int | float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _summed(
    table: pl.LazyFrame, path: Path | None, counted: Callable[[pl.DataFrame], list[pl.DataFrame]]
) -> list[pl.DataFrame]:
    """Return the counts of all batches of a table, summed by group: a text file is read once.

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
            sums = [_added(*two) for two in zip(sums, found, strict=True)] if sums else found
    if not sums:
        raise InputError("the table has no rows", path=path)
    return sums


def _added(sums: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    groups = sums.columns[: sums.columns.index("len")]
    return pl.concat([sums, more]).group_by(groups, maintain_order=True).agg(pl.all().sum())


_MOST_LABELS = 20


def describe_items(table: pl.LazyFrame, *, path: Path | None = None) -> TableSummary:
    """Summarize a table of items in one pass; see `rankbench.descriptions.describe.describe`.

    The facts are:

    - ``rows, queries, features``; ``items_per_query``, a `Sizes`;
    - ``labels``, rows of each label value, empty if there are more than 20 values; ``label_range``; ``unlabelled``,
      rows without a label; ``usable``, queries with two different labels and no item unlabelled;
    - ``zeros``, the share of feature values that are 0; ``not_finite``, how many are NaN or infinite; ``constant``,
      features, from 0, with one value in the whole table; ``feature_range``.

    Raises
    ------
    InputError
        The table has no rows.
    """
    d = features(table.collect_schema())
    low, high = np.full(d, np.inf, np.float32), np.full(d, -np.inf, np.float32)
    zeros, not_finite = 0, 0

    def counted(batch: pl.DataFrame) -> list[pl.DataFrame]:
        nonlocal low, high, zeros, not_finite
        x = batch["x"].to_numpy()
        finite = np.isfinite(x)
        not_finite += int(np.count_nonzero(~finite))
        zeros += int(np.count_nonzero(x == 0))
        low = np.minimum(low, np.where(finite, x, np.inf).min(axis=0))
        high = np.maximum(high, np.where(finite, x, -np.inf).max(axis=0))
        return [batch.group_by("query_id", "label").len()]

    (sums,) = _summed(table, path, counted)
    label, count = pl.col("label"), pl.col("len").sum()
    queries = sums.group_by("query_id").agg(count, missing=label.null_count(), values=label.drop_nulls().len())
    by_label = dict(sums.drop_nulls("label").group_by("label").agg(count).sort("label").iter_rows())
    values, rows = list(by_label), int(queries["len"].sum())
    per_query, usable = Sizes.from_counts(queries["len"].to_list()), (pl.col("missing") == 0) & (pl.col("values") > 1)
    facts: dict[str, Any] = {
        "table": "items",
        "rows": rows,
        "queries": queries.height,
        "items_per_query": per_query,
        "labels": {f"{value:g}": n for value, n in by_label.items()} if len(values) <= _MOST_LABELS else {},
        "label_range": (values[0], values[-1]) if values else None,
        "unlabelled": int(sums.filter(label.is_null())["len"].sum()),
        "usable": queries.filter(usable).height,
        "features": d,
        "zeros": zeros / (rows * d),
        "not_finite": not_finite,
        "constant": np.flatnonzero(low == high).tolist(),
        "feature_range": (float(low.min()), float(high.max())),
    }
    if not (labels := ", ".join(f"{value}: {n:,} ({n / rows:.1%})" for value, n in facts["labels"].items())):
        labels = f"{values[0]:g} to {values[-1]:g}" if values else "none"
    same = facts["constant"]
    constant = ", ".join(map(str, same[:12])) + (", ..." if len(same) > 12 else "")
    unusable = f"{queries.height - facts['usable']:,} not usable: fewer than two different labels"
    lines = [
        ("table", "items"),
        ("rows", f"{rows:,}"),
        ("queries", f"{queries.height:,} ({unusable})"),
        ("items per query", str(per_query)),
        ("labels", labels),
        ("unlabelled rows", f"{facts['unlabelled']:,}"),
        ("features", f"{d:,}"),
        ("feature values", f"{low.min():g} to {high.max():g}, {facts['zeros']:.1%} zero"),
        ("NaN or infinite", f"{not_finite:,}"),
        ("constant features", f"{len(same)}" + (f" (from 0: {constant})" if same else "")),
    ]
    return TableSummary(facts, lines)


def describe_orders(table: pl.LazyFrame, *, path: Path | None = None) -> TableSummary:
    """Summarize an orders table in one pass; see `rankbench.descriptions.describe.describe`.

    Memory grows with the queries, their items, and the lengths and the weights of their ballots, not with the ballots.
    The facts are:

    - ``rows, queries``; ``voters``, the total weight; ``judges``, None without a column of judges;
    - ``rows_per_query``, ``items_per_query`` (candidates, or else the items that ballots rank) and ``ranked`` (items on
      a ballot), each a `Sizes`;
    - ``complete``, ballots that rank all items of their query; ``ties``, ballots on which items are tied; ``unranked``,
      candidates that no ballot ranks.
    """
    names, places = table.collect_schema().names(), pl.col("ranking").list.eval(pl.element().list.len())
    weight = pl.col("weight") if "weight" in names else pl.lit(1.0)
    cast = pl.col("count").sum() if "count" in names else pl.len()
    judge = pl.col("judge") if "judge" in names else pl.lit(None, pl.String)

    def counted(batch: pl.DataFrame) -> list[pl.DataFrame]:
        times = pl.col("count") if "count" in names else pl.lit(1, pl.Int64)
        ballots = batch.select("query_id", length=places.list.sum(), tied=places.list.max() > 1, len=times)
        ranked = _exploded(batch.select("query_id", item="ranking").explode("item", empty_as_null=False))
        return [
            ballots.group_by("query_id", "length").agg(pl.col("len").sum(), (pl.col("tied") * pl.col("len")).sum()),
            batch.group_by(weight.alias("weight")).agg(cast.alias("len")),
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
    rows, queries = int(lengths["len"].sum()), per_query.height
    facts: dict[str, Any] = {
        "table": "orders",
        "rows": rows,
        "queries": queries,
        # Exact for weights in any order.
        "voters": math.fsum(weight * count for weight, count in weights.iter_rows()),
        "rows_per_query": Sizes.from_counts(per_query["rows"].to_list()),
        "items_per_query": Sizes.from_counts(per_query["items"].to_list()),
        "ranked": Sizes.from_counts(np.repeat(lengths["length"], lengths["len"]).tolist()),
        "complete": int(whole["len"].sum()),
        "ties": int(lengths["tied"].sum()),
        "judges": judges.drop_nulls().height if "judge" in names else None,
        "unranked": items.join(ranked, on=["query_id", "item"], how="anti").height,
    }

    lines = [
        ("table", "orders"),
        ("ballots", f"{rows:,}, of {count_text(facts['voters'], 'voter')}"),
        ("queries", f"{queries:,}"),
        *([("ballots per query", str(facts["rows_per_query"]))] if queries > 1 else []),
        ("items per query", f"{facts['items_per_query']}; {facts['unranked']:,} on no ballot of their query"),
        ("items on a ballot", str(facts["ranked"])),
        ("complete ballots", _share(facts["complete"], rows)),
        ("ballots with ties", _share(facts["ties"], rows)),
        ("judges", "not given" if facts["judges"] is None else f"{facts['judges']:,}"),
    ]
    return TableSummary(facts, lines)


def _share(count: int, of: int) -> str:
    return f"{count:,} ({count / of:.1%})"


def _exploded(lists: pl.DataFrame) -> pl.DataFrame:
    """Return the different items of each query, given lists of them."""
    return lists.explode("item", empty_as_null=False).group_by("query_id", "item").len()


_MOST_CLICKS = 5
_MOST_POSITIONS = 20


def describe_selections(table: pl.LazyFrame, *, path: Path | None = None) -> TableSummary:
    """Summarize a selections table in one pass; see `rankbench.descriptions.describe.describe`.

    Memory grows with the queries and items, not with the sessions. The facts are:

    - ``sessions, queries``; ``items``, pairs of a query and an item that was shown for it; ``sessions_per_query`` and
      ``shown`` (items of a session), each a `Sizes`; ``parts``, sessions of each part, empty if the table has none;
    - ``clicks``, sessions by the number of different positions clicked; ``click_rate``, the share of the lists that
      reach position 1, 2, ... in which it was clicked;
    - ``clicks_off_list``, clicks outside of the shown list, and ``sessions_off_list``, sessions that have one;
      ``repeated``, clicks on a position that the session had clicked before; ``upwards``, sessions in which a click is
      above the one before it.
    """
    # Positions less the length of the list: above 0 they are off the list.
    size = pl.col("shown").list.len().cast(pl.Int64)
    past = pl.col("clicked").cast(pl.List(pl.Int64)) - size
    on_list = past.list.eval(pl.element().filter(pl.element() <= 0))
    part = pl.col("part") if "part" in table.collect_schema() else pl.lit(None, pl.String)

    def counted(batch: pl.DataFrame) -> list[pl.DataFrame]:
        sessions = batch.select(
            "query_id",
            part=part,
            size=size,
            distinct=on_list.list.unique(),
            clicks_off_list=past.list.len() - on_list.list.len(),
            repeated=on_list.list.len() - on_list.list.n_unique(),
            upwards=on_list.list.diff().list.min() < 0,
        )
        positions = sessions.select("size", "distinct").explode("distinct", empty_as_null=False)
        off, others = pl.col("clicks_off_list"), pl.col("repeated", "upwards")
        return [
            sessions.group_by("query_id").agg(
                pl.len(), off.sum(), (off > 0).sum().alias("sessions_off_list"), others.sum()
            ),
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
    count = found.pop("len")
    facts: dict[str, Any] = {
        "table": "selections",
        "sessions": count,
        "queries": per_query.height,
        "items": items.height,
        "sessions_per_query": Sizes.from_counts(per_query["len"].to_list()),
        "shown": Sizes.from_counts(np.repeat(lengths["size"], lengths["len"]).tolist()),
        "parts": dict(sorted(parts.drop_nulls().iter_rows())),
        "clicks": dict(sorted(clicks.iter_rows())),
        "click_rate": [of_position.get(at, 0) / int(reached[at - 1]) for at in range(1, longest + 1)],
        **found,
    }
    return TableSummary(facts, _lines_of_selections(facts))


def _lines_of_selections(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines for people on a selections table's facts."""
    count, parts, rates = facts["sessions"], facts["parts"], facts["click_rate"]
    share = partial(_share, of=count)
    several = sum(n for at, n in facts["clicks"].items() if at > 1)
    by_number = [f"{at}: {share(n)}" for at, n in facts["clicks"].items() if at < _MOST_CLICKS]
    more = sum(n for at, n in facts["clicks"].items() if at >= _MOST_CLICKS)
    by_number += [f"{_MOST_CLICKS} or more: {share(more)}"] if more else []
    rate = [f"{each:.3f}" for each in rates[:_MOST_POSITIONS]] + ["..."] * (len(rates) > _MOST_POSITIONS)
    return [
        ("table", "selections"),
        ("sessions", f"{count:,}"),
        *([("parts", ", ".join(f"{name}: {share(n)}" for name, n in parts.items()))] if parts else []),
        ("queries", f"{facts['queries']:,}"),
        *([("sessions per query", str(facts["sessions_per_query"]))] if facts["queries"] > 1 else []),
        ("items", f"{facts['items']:,} (an item counts once a query)"),
        ("items shown", str(facts["shown"])),
        ("positions clicked", ", ".join(by_number)),
        ("several clicks", f"{share(several)} of the sessions; a selection has one: see the policies"),
        ("click rate by position", " ".join(rate)),
        ("clicks off the list", f"{facts['clicks_off_list']:,} in {count_text(facts['sessions_off_list'], 'session')}"),
        ("clicks on the same again", f"{facts['repeated']:,}"),
        ("sessions clicking upwards", share(facts["upwards"])),
    ]


_DESCRIBERS: dict[type[TableKind], Callable[..., TableSummary]] = {
    ItemTable: describe_items,
    ComparisonTable: describe_votes,
    SelectionTable: describe_selections,
    OrderTable: describe_orders,
}
"""Function that summarizes each kind of table; other kinds are summarized by their facts."""
