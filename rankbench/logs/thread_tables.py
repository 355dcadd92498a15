"""Two threads count judgments in memory by pair, into private tables or sorted runs of pairs.

A log is cut into chunks of 2^19 judgments; even and odd ones are counted by two threads
into tables of their own, each in turn, and the two are summed up. So sums of weights do not
depend on timing. Of a shorter log the caller's thread counts the only chunk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import short_repr
from rankbench.errors import InputError, option

Run: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
"""Counted pairs of m items, a sparse upper triangle: see `rankbench.logs.kernels`.

``starts``, (m + 1,), and ``high``, (P,), as in `PairCounts`; ``cells``, (P, 2 or 3): wins of `low`, wins of `high` and,
if there may be any, ties.
"""


def padded_run(run: Run, m: int) -> Run:
    """Return a run as one of m items, which include all items of its pairs."""
    starts, high, cells = run
    if len(starts) > m + 1:
        return starts[: m + 1], high, cells
    more = m + 1 - len(starts)
    return np.concatenate([starts, np.full(more, starts[-1])]) if more else starts, high, cells


def _sum(a: Run, b: Run) -> Run:
    from rankbench.logs.kernels import merge_runs

    starts = np.empty_like(a[0])
    room = len(a[1]) + len(b[1])
    high, cells = np.empty(room, np.int32), np.empty((room, a[2].shape[1]))
    merge_runs(*a, *b, starts, high, cells)
    pairs = int(starts[-1])
    # Pages that were never written to take no memory.
    return starts, high[:pairs], cells[:pairs]


def merged_runs(runs: list[Run], m: int, cells: int) -> Run:
    """Return the sum of runs as one of m items with so many cells a pair.

    The last two are summed first: the longest ones come first.
    """
    if not runs:
        return np.zeros(m + 1, np.int64), np.zeros(0, np.int32), np.zeros((0, cells))
    result = padded_run(runs[-1], m)
    for run in reversed(runs[:-1]):
        result = _sum(padded_run(run, m), result)
    return result


def relabelled_run(run: Run, rank: NDArray[np.int32]) -> Run:
    """Return the run with item i renumbered to ``rank[i]``; `rank` is a permutation."""
    from rankbench.logs.kernels import relabel

    if (np.diff(rank) == 1).all():
        return run
    result = np.zeros_like(run[0]), np.empty_like(run[1]), np.empty_like(run[2])
    relabel(*run, rank, *result)
    return result


DENSE_ITEMS = 2048
"""Most items whose pairs are counted in a table of all of them (24 MB, 64 MB with weights)."""

FEWEST = 256
"""Items that the first table has room for at least."""

ROWS = 1 << 19
"""Judgments of a chunk, for a thread at a time."""

BUFFER = 8 * ROWS
"""Judgments that are sorted at a time. They are a whole number of chunks: sums of weights do not depend on
how a chunk came in pieces."""


Piece: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8], NDArray[np.float64]]
"""Some rows of a log: winners, losers, ties and weights; the last two have length 0 where the log has none."""


NO_TIES: NDArray[np.uint8] = np.zeros(0, np.uint8)
"""The ties of a `Piece` of a log without ties."""

NO_WEIGHTS: NDArray[np.float64] = np.zeros(0)
"""The weights of a `Piece` of a log without weights."""


class DenseTable:
    """All pairs of a few items: a judgment costs one addition."""

    def __init__(self, m: int, tied: bool, weighted: bool) -> None:
        self.m, self.tied, self.weighted = m, tied, weighted
        cells = (2 if tied or weighted else 1) * m * m
        self.sums = np.zeros(cells if weighted else 0)
        self.counts = np.zeros(0 if weighted else cells, np.uint16)
        self.carry = np.zeros(0 if weighted else cells + 1, np.uint32)

    def add(self, piece: Piece) -> int:
        """Count a piece; return its first row that cannot be counted, or -1."""
        from rankbench.logs.kernels import count_judgments, count_weighted

        if self.weighted:
            return int(count_weighted(*piece, self.m, self.sums))
        return int(count_judgments(*piece[:3], self.m, self.counts, self.carry))

    def sum(self) -> NDArray[np.float64] | NDArray[np.uint16]:
        """Return the sums, flat: the table itself if nothing was carried."""
        if self.weighted:
            return self.sums
        return self.counts + 65536.0 * self.carry[:-1] if self.carry[-1] else self.counts

    def _of_items(self, m: int) -> NDArray[np.float64] | NDArray[np.uint16]:
        """Return the sums of the first m items, flat."""
        return self.sum().reshape(-1, self.m, self.m)[:, :m, :m].ravel()

    def run(self, m: int, other: DenseTable | None = None) -> Run:
        """Return the sums of m items of this table, and perhaps of another one of its kind and size."""
        from rankbench.logs.kernels import gather

        m = min(m, self.m)
        first = self._of_items(m)
        second = first[:0] if other is None else other._of_items(m)
        if first.dtype != second.dtype:
            first, second = first.astype(np.float64), second.astype(np.float64)
        # Room for all pairs: memory that is not written to is not taken.
        pairs = m * (m - 1) // 2
        starts = np.empty(m + 1, np.int64)
        high, cells = np.empty(pairs + 1, np.int32), np.empty((pairs + 1, 3 if self.tied else 2))
        gather(first, second, m, self.tied, starts, high, cells)
        return starts, high[: starts[-1]], cells[: starts[-1]]


class Sorter:
    """A buffer of judgments of many items, sorted when it is full."""

    def __init__(self, tied: bool, weighted: bool) -> None:
        self.tied, self.weighted, self.m, self.rows = tied, weighted, 0, 0
        self.keys, self.weights = np.empty(BUFFER, np.uint64), np.empty(BUFFER if weighted else 0)
        self.runs: list[Run] = []

    def add(self, piece: Piece, m: int) -> int:
        """Add a piece of judgments of m items; return its first row that cannot be counted, or -1."""
        from rankbench.logs.kernels import pack_judgments

        rows = len(piece[0])
        if self.rows + rows > BUFFER:
            self.flush()
        self.m = m
        to = slice(self.rows, self.rows + rows)
        bad = int(pack_judgments(*piece, m, self.keys[to]))
        if bad >= 0:
            # Entries that were not packed must not be sorted, should another chunk be waiting.
            return bad
        if self.weighted:
            self.weights[to] = piece[3]
        self.rows += rows
        return bad

    def flush(self) -> None:
        """Make a run of the buffer; runs of similar lengths are merged, so that few remain."""
        from rankbench.logs.kernels import sort_pairs, sum_cells

        if not self.rows:
            return
        keys, weights = self.keys[: self.rows], self.weights[: self.rows]
        starts = np.zeros(self.m + 1, np.int64)
        pairs = sort_pairs(keys, weights, self.m, np.empty_like(keys), np.empty_like(weights), starts)
        high, cells = np.empty(pairs, np.int32), np.zeros((pairs, 3 if self.tied else 2))
        sum_cells(keys, weights, high, cells)
        self.rows = 0
        self.runs.append((starts, high, cells))
        while len(self.runs) > 1 and len(self.runs[-2][1]) < 2 * len(self.runs[-1][1]):
            last = [self.runs.pop(), self.runs.pop()]
            self.runs.append(merged_runs(last[::-1], self.m, cells.shape[1]))


class ThreadShare:
    """One thread's share of a log: the chunks that it is given, one after the other.

    The number of items may grow from chunk to chunk: a table that they outgrow is put away
    as a run.
    """

    def __init__(self, tied: bool, weighted: bool) -> None:
        self.tied, self.weighted, self.m = tied, weighted, 0
        self.done: list[Run] = []
        self.dense: DenseTable | None = None
        self.sorter: Sorter | None = None

    def add(self, chunk: Sequence[Piece], m: int) -> int:
        """Count the pieces of a chunk of judgments of m items; return its first row that cannot be, or -1."""
        count, row = self._with_room(m), 0
        for piece in chunk:
            bad = count(piece)
            if bad >= 0:
                return row + bad
            row += len(piece[0])
        return -1

    def _with_room(self, m: int) -> Callable[[Piece], int]:
        """Return the method that counts a piece of judgments of m items."""
        self.m = max(self.m, m)
        if self.m > DENSE_ITEMS:
            self._put_away()
            if self.sorter is None:
                self.sorter = Sorter(self.tied, self.weighted)
            return partial(self.sorter.add, m=self.m)
        if self.dense is not None and self.dense.m < self.m:
            self._put_away()
        if self.dense is None:
            size = self.m if not self.done else min(2 * self.m, DENSE_ITEMS)
            self.dense = DenseTable(max(size, min(FEWEST, DENSE_ITEMS)), self.tied, self.weighted)
        return self.dense.add

    def _put_away(self) -> None:
        if self.dense is not None:
            self.done.append(self.dense.run(self.m))
            self.dense = None

    def run(self) -> Run:
        """Return the sums of all counted judgments."""
        self._put_away()
        runs = self.done
        if self.sorter is not None:
            self.sorter.flush()
            runs = [*runs, *self.sorter.runs]
        return merged_runs(runs, self.m, 3 if self.tied else 2)


def only_tables(shares: list[ThreadShare]) -> list[DenseTable]:
    """Return the shares' tables if they hold all counts and are of one size; else none."""
    tables = [share.dense for share in shares if share.dense is not None and not share.done]
    return tables if len(tables) == len(shares) and len({table.m for table in tables}) == 1 else []


_WAITING = 4
"""Chunks that may wait for a thread, a bound on rows read ahead."""


class Counter:
    """Two threads that count chunks in turn; `close` ends them.

    Parameters
    ----------
    tied, weighted : bool
        Whether chunks have ties and weights.
    names : callable
        Returns the names of the items so far, for errors.
    first : int
        Judgments of the log before those that are counted here, for errors.
    """

    def __init__(self, tied: bool, weighted: bool, names: Callable[[], Sequence[str]], first: int = 0) -> None:
        self.names, self.first = names, first
        self.shares = [ThreadShare(tied, weighted), ThreadShare(tied, weighted)]
        self.threads = [ThreadPoolExecutor(1, thread_name_prefix="rankbench-count") for _ in self.shares]
        self.waiting: deque[tuple[Future[int], int, Sequence[Piece]]] = deque()
        self.rows = 0

    def close(self) -> None:
        """End the threads."""
        for thread in self.threads:
            thread.shutdown(cancel_futures=True)

    def add(self, chunk: Sequence[Piece], m: int) -> None:
        """Count a chunk of `ROWS` judgments (the last one may be shorter) whose items are in [0, m).

        Raises
        ------
        InputError
            A judgment of this chunk, or of an earlier one, that cannot be counted; its row.
        """
        while len(self.waiting) >= _WAITING:
            self._settle_first()
        turn, first = self.rows // ROWS % 2, self.rows
        self.rows += sum(len(winners) for winners, *_ in chunk)
        if self.rows < ROWS:  # threads would take longer to start
            self._check(self.shares[turn].add(chunk, m), first, chunk)
        else:
            self.waiting.append((self.threads[turn].submit(self.shares[turn].add, chunk, m), first, chunk))

    def settle(self) -> None:
        """Wait for all that was added; errors as in `add`."""
        while self.waiting:
            self._settle_first()

    def _settle_first(self) -> None:
        future, first, chunk = self.waiting.popleft()
        self._check(future.result(), first, chunk)

    def _check(self, bad: int, first: int, chunk: Sequence[Piece]) -> None:
        if bad >= 0:
            # The first wrong row is named: later ones must not be looked for.
            self.waiting.clear()
            raise row_error(chunk, bad, self.first + first + bad + 1, self.names())

    def total(self, m: int) -> Run:
        """Return the sums over all chunks; errors as in `add`."""
        self.settle()
        if tables := only_tables(self.shares):
            return padded_run(tables[0].run(m, tables[1]), m)
        cells = 3 if self.shares[0].tied else 2
        if self.rows < ROWS:
            return merged_runs([self.shares[0].run()], m, cells)
        runs = [thread.submit(share.run) for thread, share in zip(self.threads, self.shares, strict=True)]
        return merged_runs([run.result() for run in runs], m, cells)


def row_error(pieces: Sequence[Piece], bad: int, row: int, names: Sequence[str]) -> InputError:
    """Return the error on judgment `bad` of some pieces, which is the log's `row`, from 1."""
    t = bad
    for piece in pieces:
        if t < len(piece[0]):
            break
        t -= len(piece[0])
    winners, losers, _, weights = piece
    winner, loser = int(winners[t]), int(losers[t])
    if winner == loser:
        how = option("columns", "self=drop")
        what = f"item {short_repr(names[winner])} is compared with itself; {how} leaves such rows out"
        return InputError(what, row=row, column="winner")
    for item, column in ((winner, "winner"), (loser, "loser")):
        if not 0 <= item < len(names):
            return InputError(f"items are numbered from 0 to {len(names) - 1}", row=row, column=column)
    return InputError(f"weight {weights[t]} is not positive and finite", row=row, column="weight")
