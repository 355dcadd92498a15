"""Pair counts of logs of any length, read in one pass."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.counts.clusters import Cells, cluster_counts, compacted, packed_clusters
from rankbench.counts.codes import CategoryCodes, Codes, codes_for
from rankbench.counts.count import Counter, no_flags, no_weights, pair_counts
from rankbench.counts.log_source import Log
from rankbench.counts.parquet_log import ParquetLog, is_parquet, parquet_log
from rankbench.counts.parts import PART, ClusterCells, LogPart, Tree, counts_of, counts_of_part, joined_parts
from rankbench.counts.runs import SortedPairs, relabelled_run
from rankbench.counts.stream import FirstVotes, LogStream, log_schema, streamed
from rankbench.counts.thread_tables import ROWS, LogPiece
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.python_tables import frame_in_memory
from rankbench.errors import InputError, nearest
from rankbench.kinds.counts import ClusterCounts, PairCounts

__all__ = ["count_frame", "count_log", "count_log_clusters", "parts"]


def _opened(log: Log) -> pl.LazyFrame | ParquetLog:
    if not isinstance(log, str | os.PathLike):
        held = frame_in_memory(log)
        if held is None:
            raise InputError(f"a {type(log).__name__} is no log")
        return held
    path = Path(log)
    return parquet_log(path) if is_parquet(path) else choose_reader(path).scan(path)


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
        The same bytes however the rows are cut into files, and on a cluster
        (`rankbench.counts.sharded`).

    Raises
    ------
    InputError
        With row (from 1) and column, of the first row that is wrong: a missing value, an item
        compared with itself, an item that is not among `items`, a weight that is not positive and
        finite. Without: missing columns, no rows, a file that cannot be read. Rows of Parquet
        come with their file: in a folder with the shard.
    """
    return counts_of_part(_total(log, items, None))


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
    return cast(ClusterCounts, counts_of(_total(log, items, judge)))


def _total(log: Log, items: Sequence[str] | None, judge: str | None) -> LogPart:
    found = _opened(log)
    if not isinstance(found, ParquetLog):
        return count_frame(found, items=items, judge=judge)
    try:
        return count_frame(found.frame(), items=items, judge=judge)
    except InputError as error:
        raise found.located(error) from error


def count_frame(
    frame: pl.LazyFrame,
    *,
    items: Sequence[str] | None = None,
    judge: str | None = None,
    signed: bool = True,
    first_votes: FirstVotes | None = None,
    check: Callable[[LogPart], None] | None = None,
) -> LogPart:
    """Count a log part by part, and sum the parts up; see `count_log` and `count_log_clusters`.

    Parameters
    ----------
    frame, items, judge
        See `count_log_clusters`.
    signed, first_votes
        See `parts`.
    check : callable, optional
        Called with sums of parts as they are made, the last one that of all.
    """

    def use(codes: Codes) -> LogPart:
        tree = Tree(joined_parts)
        for part in parts(frame, codes, judge=judge, signed=signed, first_votes=first_votes):
            tree.add(part)
            if check is not None:
                check(tree.sums[-1][1])
        total = tree.total()
        if check is not None:
            check(total)
        return total

    return streamed(frame, items, use)


def parts(
    frame: pl.LazyFrame,
    items: Codes,
    *,
    judge: str | None = None,
    first: int = 0,
    signed: bool = True,
    first_votes: FirstVotes | None = None,
) -> Iterator[LogPart]:
    """Yield what is counted in each part of a log, one at least.

    Judgments without weights are counted to whole numbers, the same in any order: such a log is
    one part, unless it is counted by judge (how many judges a part may have is limited).

    Parameters
    ----------
    frame : LazyFrame
        A log, or its rows from the beginning of a part on.
    items : Codes
        Numbering that fits the items.
    judge : str, optional
        Column by which to count apart.
    first : int
        Rows of the log before those of the frame, for errors.
    signed : bool
        Whether a missing judge is an error; else what follows it is counted by pair alone.
    first_votes : FirstVotes, optional
        What keeps the first rows of the frame.

    Raises
    ------
    InputError
        See `count_log_clusters`.
    OutOfRange
        Items are integers that are not small.
    """
    judges = None
    if judge is not None:
        schema = log_schema(frame)
        if judge not in schema:
            raise InputError(f"column {judge!r} is missing{nearest(judge, schema)}", column=judge)
        codes_for([schema[judge]], column=judge)
        # Names by a table of their own: judges' numbers may be anything.
        judges = CategoryCodes()
    stream = LogStream(frame, items, judge, judges, first, signed, first_votes)
    chunks = stream.chunks()
    size = PART // ROWS if stream.weighted or judge is not None else None
    while part := _part(stream, itertools.islice(chunks, size)):
        yield part


def _part(stream: LogStream, chunks: Iterator[list[tuple[LogPiece, NDArray[np.int32] | None]]]) -> LogPart | None:
    """Count some chunks; None if there are none left."""
    codes, begin, votes = stream.items, stream.rows, stream.votes
    codes.restart()
    stream.uneven = False
    if stream.judges is not None:
        stream.judges.restart()
    found: list[Cells] = []
    with Counter(stream.tied, stream.weighted, codes.names, stream.first + begin) as counter:
        try:
            for chunk in chunks:
                counter.add([piece for piece, _ in chunk], codes.size)
                if stream.unsigned:
                    found.clear()
                elif stream.judges is not None:
                    found.append(_cells(chunk))
                    # Seldom enough that the work stays linear, often enough that repeats take no memory.
                    if sum(len(cells.keys) for cells in found[1:]) > max(len(found[0].keys), 4 * ROWS):
                        found = [compacted(found)]
        except InputError:
            # What is wrong with a row before comes first.
            counter.settle()
            raise
        judgments = stream.votes - votes
        if not judgments:
            return None
        run = counter.total(codes.size)
    run, order, rank = _listed(run, codes)
    labels = codes.labels(order)
    if isinstance(codes, CategoryCodes) and "" in labels:
        raise stream.nameless("winner", "loser")
    if stream.judges is None or stream.unsigned:
        return LogPart(labels, run, judgments, stream.uneven, None, stream.unsigned)
    pairs = pair_counts(run, [], judgments, stream.uneven)
    judges = stream.judges.names()
    if "" in judges:
        raise stream.nameless(stream.judge or "judge")
    by_judge = cluster_counts(compacted(found), pairs, rank.astype(np.int64), judges)
    said = ClusterCells(by_judge.clusters, by_judge.starts, by_judge.cells, by_judge.weights)
    return LogPart(labels, run, judgments, stream.uneven, said)


def _cells(chunk: list[tuple[LogPiece, NDArray[np.int32] | None]]) -> Cells:
    """Return the sums of a whole chunk: in which pieces it came must not change them."""
    pieces = [piece for piece, _ in chunk]
    judges = [who for _, who in chunk if who is not None]
    return packed_clusters(
        np.concatenate([piece.winners for piece in pieces]),
        np.concatenate([piece.losers for piece in pieces]),
        np.concatenate(judges),
        np.concatenate([piece.ties for piece in pieces]) if len(pieces[0].ties) else no_flags(),
        np.concatenate([piece.weights for piece in pieces]) if len(pieces[0].weights) else no_weights(),
    )


def _listed(run: SortedPairs, codes: Codes) -> tuple[SortedPairs, NDArray[np.int64], NDArray[np.int32]]:
    """Return the run of the items that are listed, in their order, their codes, and each code's item."""
    seen = np.diff(run.starts) > 0
    seen[run.high] = True
    order = codes.order(seen)
    m = len(seen)
    # Items that are left out have no pairs: they go to the end, and off it.
    rank = np.empty(m, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    left_out = np.ones(m, np.bool_)
    left_out[order] = False
    rank[left_out] = np.arange(len(order), m, dtype=np.int32)
    return relabelled_run(run, rank).padded(len(order)), order, rank
