"""Comparison logs as a stream of coded chunks, and their pair counts at any length."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.data.readers.base import choose_reader, existing
from rankbench.data.shown import shown
from rankbench.errors import InputError, nearest
from rankbench.logs.clusters import Cells, ClusterCounts, cluster_counts, compacted, packed
from rankbench.logs.codes import CategoryCodes, Codes, FixedCodes, OutOfRange, codes_for
from rankbench.logs.count import Counter, no_flags, no_weights, pair_counts
from rankbench.logs.pairs import PairCounts
from rankbench.logs.runs import Run, relabelled
from rankbench.logs.tables import ROWS, Piece

__all__ = ["Log", "LogStream", "count_log", "count_log_clusters", "open_log", "streamed"]

T = TypeVar("T")
Log: TypeAlias = pl.LazyFrame | pl.DataFrame | str | os.PathLike[str]
"""A comparison log: a frame, or the path of a file or of a folder of shards."""

_LONGEST = 400


def open_log(log: Log) -> pl.LazyFrame:
    """Return a log as a lazy frame.

    Parameters
    ----------
    log : LazyFrame, DataFrame or path
        Parquet files are scanned as they are; other files, and folders of shards, go
        through the reader that fits them, with its checks.

    Raises
    ------
    InputError
        There is no such file, or no reader knows it.
    """
    if isinstance(log, pl.LazyFrame):
        return log
    if isinstance(log, pl.DataFrame):
        return log.lazy()
    path = Path(log)
    if existing(path).is_file() and path.suffix.lower() in (".parquet", ".pq"):
        return pl.scan_parquet(path, glob=False)
    return choose_reader(path).scan(path)


class LogStream:
    """One pass over a log, coded batch by batch.

    Parameters
    ----------
    frame : LazyFrame
        Columns ``winner`` and ``loser`` (names or integers), perhaps ``weight`` (a number) and
        ``tie`` (a boolean), and the judges' column if it is asked for; others are not read.
    items : Codes
        Numbering of the items.
    judge : str, optional
        Column of the judges.
    judges : Codes, optional
        Their numbering.

    Attributes
    ----------
    tied, weighted : bool
        Whether the log has such a column.
    rows : int
        Rows that were read so far.
    """

    def __init__(
        self, frame: pl.LazyFrame, items: Codes, judge: str | None = None, judges: Codes | None = None
    ) -> None:
        schema = _schema(frame)
        self.items, self.judge, self.judges, self.rows = items, judge, judges, 0
        self.tied, self.weighted = "tie" in schema, "weight" in schema
        columns = [items.expression("winner"), items.expression("loser")]
        if self.tied:
            columns.append(_flag(schema["tie"]))
        if self.weighted:
            columns.append(pl.col("weight").cast(pl.Float64, strict=False))
        if judges is not None and judge is not None:
            columns.append(judges.expression(judge).alias("judge"))
        self.frame, self.coded = frame, frame.select(columns)

    def chunks(self) -> Iterator[list[tuple[Piece, NDArray[np.int32] | None]]]:
        """Yield `ROWS` rows at a time, in the log's order: pieces with their judges' codes.

        Raises
        ------
        InputError
            With its row: something missing or unknown; the file cannot be read.
        """
        try:
            chunk: list[tuple[Piece, NDArray[np.int32] | None]] = []
            height = 0
            for frame in self.coded.collect_batches(maintain_order=True, engine="streaming"):
                rest = frame
                while rest.height:
                    piece = rest.head(ROWS - height)
                    rest = rest.slice(piece.height)
                    height += piece.height
                    chunk.append(self._piece(piece))
                    if height == ROWS:
                        yield chunk
                        chunk, height = [], 0
            if height:
                yield chunk
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"the log cannot be read: {str(error).strip().splitlines()[0][:_LONGEST]}") from error
        if not self.rows:
            raise InputError("there are no comparisons")

    def _piece(self, frame: pl.DataFrame) -> tuple[Piece, NDArray[np.int32] | None]:
        for column in frame.columns:
            if frame[column].null_count():
                raise self._missing(column, frame[column])
        winners, losers = self.items.batch(frame["winner"], frame["loser"])
        piece = Piece(
            winners,
            losers,
            frame["tie"].cast(pl.UInt8).to_numpy() if self.tied else no_flags(),
            frame["weight"].to_numpy() if self.weighted else no_weights(),
        )
        judges = None if self.judges is None else self.judges.batch(frame["judge"])[0]
        self.rows += len(piece)
        return piece, judges

    def _missing(self, column: str, values: pl.Series) -> InputError:
        """Return the error for the first null: missing in the log, or not what the column must hold."""
        at = self.rows + int(values.is_null().arg_max() or 0)
        name = self.judge if column == "judge" and self.judge else column
        given = self.frame.select(name).slice(at, 1).collect().item()
        if given is None:
            return InputError(f"the {column} is missing", row=at + 1, column=column)
        expected = {"weight": "a number", "tie": "true or false"}.get(column, "one of the items that were named")
        return InputError(f"{shown(given)} is not {expected}", row=at + 1, column=column)


def _schema(frame: pl.LazyFrame) -> pl.Schema:
    try:
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"the log cannot be read: {str(error).strip().splitlines()[0][:_LONGEST]}") from error
    for name in ("winner", "loser"):
        if name not in schema:
            raise InputError(f"column {name!r} is missing{nearest(name, schema)}", column=name)
    return schema


def _flag(dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.Boolean:
        return pl.col("tie")
    if dtype.is_integer():
        return pl.when(pl.col("tie").is_in([0, 1])).then(pl.col("tie").cast(pl.Boolean)).alias("tie")
    raise InputError(f"ties must be true or false, not {shown(str(dtype))}", column="tie")


def streamed(frame: pl.LazyFrame, items: Sequence[str] | None, use: Callable[[Codes], T]) -> T:
    """Return ``use(codes)`` with the numbering of items that fits the log.

    Integers are tried as their own codes; if they turn out to be large or negative, `use`
    is called again.
    """
    schema = _schema(frame)
    if items is not None:
        return use(FixedCodes(items))
    codes = codes_for([schema["winner"], schema["loser"]])
    try:
        return use(codes)
    except OutOfRange:
        return use(CategoryCodes())


def count_log(log: Log, *, items: Sequence[str] | None = None) -> PairCounts:
    """Sum the comparisons of a log by pair, without holding it in memory.

    The log streams by in batches, read by Polars; names become codes, and two threads
    count. Memory is bounded by the pairs that were observed, whatever the number of rows.

    Parameters
    ----------
    log : LazyFrame, DataFrame or path
        Columns ``winner`` and ``loser`` (names or integers), perhaps ``weight`` (positive and
        finite) and ``tie``; others, ``query_id`` among them, are not looked at: an item of that
        name is the same item in every query. Filter or rename before.
    items : sequence of str, optional
        The items, in the order wanted; others are errors, those that the log does not
        name have no pairs. By default those of the log, in alphabetical order (by code
        point), integers in numerical order.

    Returns
    -------
    PairCounts
        The same for `count_pairs` of the same rows, byte for byte.

    Raises
    ------
    InputError
        With row (from 1) and column: a missing value, an item compared with itself, an item
        that is not among `items`, a weight that is not positive and finite. Without: missing
        columns, no rows, a file that cannot be read.
    """
    frame = open_log(log)
    return streamed(frame, items, lambda codes: _count(LogStream(frame, codes)))


def _count(stream: LogStream) -> PairCounts:
    codes = stream.items
    with Counter(stream.tied, stream.weighted, codes.names) as counter:
        for chunk in stream.chunks():
            counter.add([piece for piece, _ in chunk], codes.size)
        run = counter.total(codes.size)
    run, items, _ = _listed(run, codes)
    return pair_counts(run, items, stream.rows, stream.weighted)


def count_log_clusters(log: Log, *, judge: str = "judge", items: Sequence[str] | None = None) -> ClusterCounts:
    """Sum the comparisons of a log by judge and pair, without holding it in memory.

    Memory grows with the combinations of judge and pair that occur.

    Parameters
    ----------
    log, items
        As in `count_log`.
    judge : str
        Column of names or integers that says whose judgment it is; missing ones are an error.

    Raises
    ------
    InputError
        As in `count_log`; no such column; more than a million items or eight million judges.
    """
    frame = open_log(log)
    schema = _schema(frame)
    if judge not in schema:
        raise InputError(f"column {judge!r} is missing{nearest(judge, schema)}", column=judge)

    def use(codes: Codes) -> ClusterCounts:
        # Names by a table of their own: judges' numbers may be anything.
        judges = CategoryCodes()
        codes_for([schema[judge]], column=judge)
        stream = LogStream(frame, codes, judge, judges)
        parts: list[Cells] = []
        with Counter(stream.tied, stream.weighted, codes.names) as counter:
            for chunk in stream.chunks():
                counter.add([piece for piece, _ in chunk], codes.size)
                found = [
                    packed(piece.winners, piece.losers, who, piece.ties, piece.weights)
                    for piece, who in chunk
                    if who is not None
                ]
                parts += found
                # Seldom enough that the work stays linear, often enough that repeats take no memory.
                if sum(len(part.keys) for part in parts[1:]) > max(len(parts[0].keys), 4 * ROWS):
                    parts = [compacted(parts)]
            run = counter.total(codes.size)
        run, names, rank = _listed(run, codes)
        counts = pair_counts(run, names, stream.rows, stream.weighted)
        return cluster_counts(compacted(parts), counts, rank.astype(np.int64), judges.names())

    return streamed(frame, items, use)


def _listed(run: Run, codes: Codes) -> tuple[Run, list[str], NDArray[np.int32]]:
    """Return the run of the items that are listed, in their order, their names, and each code's item."""
    seen = np.diff(run.starts) > 0
    seen[run.high] = True
    order, names = codes.order(seen), codes.names()
    m = len(seen)
    # Items that are left out have no pairs: they go to the end, and off it.
    rank = np.empty(m, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    left_out = np.ones(m, np.bool_)
    left_out[order] = False
    rank[left_out] = np.arange(len(order), m, dtype=np.int32)
    return relabelled(run, rank).padded(len(order)), [names[i] for i in order], rank
