"""Logs counted on a Dask cluster that the user already has (the extra ``rankbench[dask]``).

The workers read the log themselves, so its Parquet files stand on a file system that they
share with this machine, under the same paths; nothing but counts goes over the network. A task
is a part of the log, and parts are summed up by the workers in the tree that is used on one
machine too (`rankbench.counts.parts`): the result is the same bytes, and a worker that is lost
costs time alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from rankbench.counts.codes import FixedCodes, OutOfRange, codes_for
from rankbench.counts.parquet_log import LogRows, ParquetLog, parquet_log
from rankbench.counts.parts import PART, LogPart, Tree, counts_of, counts_of_part, joined_parts
from rankbench.counts.scan import parts
from rankbench.counts.stream import log_schema
from rankbench.errors import ExecutorError, InputError, RankbenchError
from rankbench.kinds.counts import ClusterCounts, PairCounts

__all__ = ["count_log_clusters_on_cluster", "count_log_on_cluster", "count_parts_on_cluster"]

Counted: TypeAlias = LogPart | InputError | OutOfRange
"""What a task returns. What is wrong with a row is a value, so that the first one in the log can be told."""


def count_log_on_cluster(
    log: str | os.PathLike[str], address: str, *, items: Sequence[str] | None = None
) -> PairCounts:
    """Sum the comparisons of a log by pair on a cluster; see `rankbench.counts.scan.count_log`.

    Parameters
    ----------
    log : path
        A Parquet file, or a folder of shards made by ``rankbench data convert``, which every
        worker sees under the same path. Row groups should not be longer than a part
        (16.8 million rows), or they are read more than once.
    address : str
        Of the scheduler, as ``tcp://10.0.0.1:8786``.
    items : sequence of str, optional
        See `count_log`.

    Returns
    -------
    PairCounts
        The same bytes as `count_log`.

    Raises
    ------
    InputError
        As `count_log`, with the same file and row.
    ExecutorError
        The cluster cannot be used (see `rankbench.dask.connected_client`) or is lost on the
        way, a worker does not see the log, or every worker that tries to count a part dies.
    """
    return counts_of_part(_located(log, address, items, None))


def count_log_clusters_on_cluster(
    log: str | os.PathLike[str], address: str, *, judge: str = "judge", items: Sequence[str] | None = None
) -> ClusterCounts:
    """Sum the comparisons of a log by judge and pair on a cluster.

    See `count_log_on_cluster`, and `rankbench.counts.scan.count_log_clusters`.
    """
    return cast(ClusterCounts, counts_of(_located(log, address, items, judge)))


def _located(log: str | os.PathLike[str], address: str, items: Sequence[str] | None, judge: str | None) -> LogPart:
    found = parquet_log(Path(log))
    try:
        return count_parts_on_cluster(found, address, items=items, judge=judge)
    except InputError as error:
        raise found.located(error) from error


def count_parts_on_cluster(
    log: ParquetLog,
    address: str,
    *,
    items: Sequence[str] | None = None,
    judge: str | None = None,
    numbered: bool = False,
    signed: bool = True,
) -> LogPart:
    """Count a log part by part on a cluster, and sum the parts up there.

    Parameters
    ----------
    log : ParquetLog
    address : str
    items : sequence of str, optional
    judge : str, optional
        Column by which to count apart.
    numbered : bool
        Whether that is the column `rankbench.counts.parquet_log.ROW`, to be added.
    signed : bool
        See `rankbench.counts.scan.parts`.

    Raises
    ------
    InputError
        See `rankbench.counts.scan.count_log`; rows are those of the whole log.
    ExecutorError
        See `count_log_on_cluster`.
    """
    from rankbench.dask import connected_client

    log_schema(log.frame())
    if not log.rows:
        raise InputError("there are no comparisons")
    client = connected_client(address)
    try:
        found = _run(client, log, (items, judge, numbered, signed, True))
        if isinstance(found, OutOfRange):
            found = _run(client, log, (items, judge, numbered, signed, False))
    finally:
        client.close()
    if isinstance(found, Exception):
        raise found
    return found


def _run(client: Any, log: ParquetLog, how: tuple[Sequence[str] | None, str | None, bool, bool, bool]) -> Counted:
    from distributed import CancelledError, KilledWorker

    def join(a: Any, b: Any) -> Any:
        return client.submit(_joined, a, b, pure=False)

    tree: Tree[Any] = Tree(join)
    for first in range(0, log.rows, PART):
        rows = log.cut(first, PART)
        tree.add(client.submit(_count, rows, *how, pure=False))
    try:
        return cast(Counted, tree.total().result())
    except RankbenchError:
        raise
    except KilledWorker as error:
        raise ExecutorError(
            "every worker that counted some part of the log was lost; is there memory enough for the pairs?"
        ) from error
    except CancelledError as error:
        raise ExecutorError("the Dask cluster was lost; run again") from error
    except Exception as error:
        raise ExecutorError(f"the log could not be counted on the cluster ({type(error).__name__}: {error})") from error


# What follows runs on the cluster's machines.


def _count(
    rows: LogRows, items: Sequence[str] | None, judge: str | None, numbered: bool, signed: bool, small: bool
) -> Counted:
    """Count a part."""
    missing = rows.unreadable()
    if missing is not None:
        import socket

        raise ExecutorError(
            f"the Dask worker on {socket.gethostname()} does not see {missing}, or sees another file: the log must "
            "stand on a file system that all workers share, under the same path"
        )
    frame = rows.numbered() if numbered else rows.frame()
    try:
        schema = log_schema(frame)
        codes = FixedCodes(items) if items is not None else codes_for([schema["winner"], schema["loser"]], small=small)
        return next(parts(frame, codes, judge=judge, first=rows.first, signed=signed))
    except (InputError, OutOfRange) as error:
        return error


def _joined(a: Counted, b: Counted) -> Counted:
    """Sum up two neighbors; what is wrong with the earlier one comes first."""
    for found in (a, b):
        if not isinstance(found, LogPart):
            return found
    return joined_parts(cast(LogPart, a), cast(LogPart, b))
