"""Logs of any length are counted by pair, here or on a cluster.

The workers read the log themselves, so its Parquet files stand on a file system that they
share with this machine, under the same paths; nothing but counts goes over the network. A task
is a part of the log, and parts are summed up by the workers in the tree that is used on one
machine too (`rankbench.logs.count`): the result is the same bytes, and a worker that is lost
costs time alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.errors import ExecutorError, InputError, RankbenchError
from rankbench.logs.count import (
    PART,
    Cells,
    LogPart,
    Tree,
    checked_sums,
    cluster_counts,
    compacted,
    joined_parts,
    packed_clusters,
    pair_counts,
)
from rankbench.logs.parquet_log import ROW, ParquetLog
from rankbench.logs.stream import (
    Codes,
    IntegerCodes,
    LogStream,
    OutOfRange,
    all_named,
    log_schema,
)
from rankbench.logs.thread_tables import ROWS, Counter, Piece, Run, padded_run, relabelled_run


def count_frame(
    frame: pl.LazyFrame,
    *,
    judge: str | None = None,
    signed: bool = True,
    first_votes: list[pl.DataFrame] | None = None,
    check: Callable[[LogPart], None] | None = None,
) -> LogPart:
    """Sum the comparisons of a log by pair, without holding the log in memory.

    The log streams by in batches, read by Polars; names become codes, and two threads count part by part. Memory is
    bounded by the pairs that were observed, whatever the number of rows; by judge it grows with the combinations of
    judge and pair that occur. Items are in alphabetical order (by code point), integers in numerical order. The same
    bytes however the rows are cut into files, and on a cluster.

    Parameters
    ----------
    frame : LazyFrame
        Columns ``winner`` and ``loser`` (names or integers), perhaps ``weight`` (positive and
        finite) and ``tie``; others, ``query_id`` among them, are not looked at: an item of that
        name is the same item in every query. Filter or rename before.
    judge : str, optional
        Column of names or integers that says whose judgment it is: each judge is counted apart.
    signed, first_votes
        See `rankbench.logs.stream.LogStream`.
    check : callable, optional
        Called with sums of parts as they are made.

    Raises
    ------
    InputError
        With row (from 1) and column, of the first row that is wrong: a missing value, an item
        compared with itself, a weight that is not positive and finite. Without: missing columns, no rows; by judge,
        more than a million items or eight million judges.
    """

    def counted(small: bool) -> LogPart:
        tree = Tree(joined_parts)
        for part in parts(LogStream(frame, judge, small=small, signed=signed, first_votes=first_votes)):
            tree.add(part)
            if check is not None:
                check(tree.sums[-1][1])
        total = tree.total()
        checked_sums(total.counts)
        return total

    try:
        return counted(small=True)
    except OutOfRange:
        # Integers are large or negative: they are names.
        return counted(small=False)


def parts(stream: LogStream) -> Iterator[LogPart]:
    """Yield the counts of each part of a log, at least one part.

    Judgments without weights are counted to whole numbers, the same in any order: such a log is
    one part, unless it is counted by judge (how many judges a part may have is limited).

    Raises
    ------
    InputError
        See `count_frame`.
    OutOfRange
        Items are integers that are not small.
    """
    chunks = stream.chunks()
    size = PART // ROWS if stream.weighted or stream.judges is not None else None
    while part := _part(stream, itertools.islice(chunks, size)):
        yield part


def _part(stream: LogStream, chunks: Iterator[list[tuple[Piece, NDArray[np.int32] | None]]]) -> LogPart | None:
    """Return the counts of some chunks; None without chunks."""
    codes, begin, votes = stream.items, stream.rows, stream.votes
    codes.restart()
    stream.uneven = False
    if stream.judges is not None:
        stream.judges.restart()
    found: list[Cells] = []
    with closing(Counter(stream.tied, stream.weighted, codes.names, stream.first + begin)) as counter:
        try:
            for chunk in chunks:
                counter.add([piece for piece, _ in chunk], codes.size)
                if stream.unsigned:
                    found.clear()
                elif stream.judges is not None:
                    found.append(_cells(chunk))
                    # Seldom enough that the work stays linear, often enough that repeats take no memory.
                    if sum(len(keys) for keys, _ in found[1:]) > max(len(found[0][0]), 4 * ROWS):
                        found = [compacted(found)]
        except InputError:
            # The error of a row before comes first.
            counter.settle()
            raise
        if not (judgments := stream.votes - votes):
            return None
        run = counter.total(codes.size)
    run, order, rank = _listed(run, codes)
    names = codes.names()
    labels = [names[i] for i in order]
    if not all_named(labels):
        raise stream.nameless("winner", "loser")
    pairs, integers = pair_counts(run, labels, judgments, stream.uneven), isinstance(codes, IntegerCodes)
    if stream.judges is None or stream.unsigned:
        return LogPart(pairs, integers, stream.unsigned)
    judges = stream.judges.names()
    if not all_named(judges):
        raise stream.nameless(stream.judge or "judge")
    return LogPart(cluster_counts(compacted(found), pairs, rank.astype(np.int64), judges), integers)


def _cells(chunk: list[tuple[Piece, NDArray[np.int32] | None]]) -> Cells:
    """Return the sums of a whole chunk, independent of its division into pieces."""
    winners, losers, ties, weights = map(np.concatenate, zip(*(piece for piece, _ in chunk), strict=True))
    judges = np.concatenate([who for _, who in chunk if who is not None])
    return packed_clusters((winners, losers, ties, weights), judges)


def _listed(run: Run, codes: Codes) -> tuple[Run, NDArray[np.int64], NDArray[np.int32]]:
    """Return the run of the items that are listed, in their order, their codes, and each code's item."""
    starts, high, _ = run
    seen = np.diff(starts) > 0
    seen[high] = True
    order = codes.order(seen)
    m = len(seen)
    # Items that are left out have no pairs: they go to the end, and off it.
    rank = np.empty(m, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    left_out = np.ones(m, np.bool_)
    left_out[order] = False
    rank[left_out] = np.arange(len(order), m, dtype=np.int32)
    return padded_run(relabelled_run(run, rank), len(order)), order, rank


Counted: TypeAlias = LogPart | InputError | OutOfRange
"""Result of a task. An error of a row is a value, so that the first error in the log can be named."""


def count_parts_on_cluster(log: ParquetLog, address: str, *, judge: str | None = None, signed: bool = True) -> LogPart:
    """Count a log part by part on a cluster, and sum the parts up there.

    Parameters
    ----------
    log : ParquetLog
        Row groups should not be longer than a part (16.8 million rows), or they are read more than once.
    address : str
        Of the Dask scheduler whose workers count, as ``tcp://10.0.0.1:8786``; they see the log under the same path.
    judge : str, optional
        Column by which to count apart; `rankbench.logs.parquet_log.ROW` is added.
    signed : bool
        See `rankbench.logs.stream.LogStream`.

    Raises
    ------
    InputError
        See `count_frame`; rows are those of the whole log.
    ExecutorError
        The cluster cannot be used (see `rankbench.core.system.connected_client`) or is lost on the
        way, a worker does not see the log, or every worker that tries to count a part dies.
    """
    from rankbench.core.system import connected_client

    log_schema(log.frame())
    if not log.rows:
        raise InputError("there are no comparisons")
    with closing(connected_client(address)) as client:
        found = _run(client, log, (judge, signed, True))
        if isinstance(found, OutOfRange):
            found = _run(client, log, (judge, signed, False))
    if isinstance(found, Exception):
        raise found
    checked_sums(found.counts)
    return found


def _run(client: Any, log: ParquetLog, how: tuple[str | None, bool, bool]) -> Counted:
    tree: Tree[Any] = Tree(lambda a, b: client.submit(_joined, a, b, pure=False))
    for first in range(0, log.rows, PART):
        tree.add(client.submit(_count, log.cut(first, PART), *how, pure=False))
    try:
        return cast(Counted, tree.total().result())
    except RankbenchError:
        raise
    except Exception as error:
        raise ExecutorError(f"the Dask cluster did not count the log ({type(error).__name__}: {error})") from error


# The functions below run on the cluster's machines.


def _count(rows: ParquetLog, judge: str | None, signed: bool, small: bool) -> Counted:
    """Count a part."""
    if (missing := rows.unreadable()) is not None:
        import socket

        raise ExecutorError(
            f"the Dask worker on {socket.gethostname()} does not see {missing}, or sees another file. The log must "
            "stand on a file system that all workers share, under the same path"
        )
    frame = rows.frame()
    if judge == ROW:
        frame = frame.with_row_index(ROW, offset=rows.first)
    try:
        return next(parts(LogStream(frame, judge, rows.first, small=small, signed=signed)))
    except (InputError, OutOfRange) as error:
        return error


def _joined(a: Counted, b: Counted) -> Counted:
    """Return the sum of two neighbors, or the earlier one's error."""
    if isinstance(a, LogPart) and isinstance(b, LogPart):
        return joined_parts(a, b)
    return b if isinstance(a, LogPart) else a
