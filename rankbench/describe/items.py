"""What is in a table of items: counts, sizes, labels, features, in one pass of bounded memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankbench.describe.sizes import Sizes
from rankbench.errors import InputError

__all__ = ["ItemsSummary", "describe_items"]

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
