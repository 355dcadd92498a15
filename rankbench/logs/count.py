"""Two threads count judgments in memory by pair.

A log is cut into chunks of 2^19 judgments; even and odd ones are counted by two threads
into tables of their own, each in turn, and the two are summed up. So sums of weights do not
depend on timing. Of a shorter log the caller's thread counts the only chunk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankbench.core.text import short_repr
from rankbench.errors import InputError, option
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.row_weights import check_weights
from rankbench.logs.thread_tables import ROWS, Piece, Run, ThreadShare, merged_runs, only_tables, padded_run

_WAITING = 4
"""Chunks that may wait for a thread, a bound on rows read ahead."""

_MOST_ITEMS = 2**30 - 1


NO_TIES: NDArray[np.uint8] = np.zeros(0, np.uint8)
"""The ties of a `Piece` of a log without ties."""

NO_WEIGHTS: NDArray[np.float64] = np.zeros(0)
"""The weights of a `Piece` of a log without weights."""


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


def pair_counts(run: Run, items: list[str], judgments: int, weighted: bool) -> PairCounts:
    """Return a run as `PairCounts`."""
    starts, high, cells = run
    forward, backward = np.ascontiguousarray(cells[:, 0]), np.ascontiguousarray(cells[:, 1])
    ties = np.ascontiguousarray(cells[:, 2]) if cells.shape[1] > 2 else np.zeros(len(forward))
    return PairCounts(items, starts, high, forward, backward, ties, judgments, weighted)


def checked_sums(counts: PairCounts) -> PairCounts:
    """Return counts whose sums of weights can be computed without overflow or loss.

    Raises
    ------
    InputError
        Sums of weights by pair are too large or different: see `check_weights`.
    """
    if counts.weighted:
        check_weights(np.concatenate([sums[sums != 0] for sums in (counts.forward, counts.backward, counts.ties)]))
    return counts


def count_pairs(
    winners: ArrayLike,
    losers: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    ties: ArrayLike | None = None,
    m: int | None = None,
    items: Sequence[str] | None = None,
) -> PairCounts:
    """Sum n comparisons of m items by pair, in O(n) and with two threads.

    Parameters
    ----------
    winners, losers : array of int, shape (n,)
        Items, in ``[0, m)``; 32-bit integers are read where they are.
    weights : array of float, shape (n,), optional
        Positive and finite; 1 by default.
    ties : array of bool, shape (n,), optional
        Where true, neither won.
    m : int, optional
        Number of items; by default the length of `items`, or one more than the largest index.
    items : sequence of str, optional
        Names; by default the indices.

    Raises
    ------
    InputError
        Shapes that do not fit each other, no comparisons; with its row (from 1): an item
        compared with itself, an index that is no item's, a weight that is not positive and
        finite.
    """
    w, v = np.asarray(winners), np.asarray(losers)
    g = NO_WEIGHTS if weights is None else np.ascontiguousarray(weights, np.float64)
    t = NO_TIES if ties is None else np.ascontiguousarray(ties, np.bool_).view(np.uint8)
    n = len(w)
    if not (w.shape == v.shape == (n,) and g.shape in ((n,), (0,)) and t.shape in ((n,), (0,))):
        raise InputError("winners, losers, weights and ties must be one-dimensional and equally long")
    if not n:
        raise InputError("there are no comparisons")
    if w.dtype.kind not in "iu" or v.dtype.kind not in "iu":
        raise InputError(f"winners and losers must be indices of items, not {w.dtype} and {v.dtype}")
    names = None if items is None else [str(item) for item in items]
    size = _size(w, v, m, names)
    listed = names if names is not None else [str(i) for i in range(size)]
    with closing(Counter(len(t) > 0, len(g) > 0, lambda: listed)) as counter:
        for begin in range(0, n, ROWS):
            rows = slice(begin, begin + ROWS)
            counter.add([(_indices(w[rows], size), _indices(v[rows], size), t[rows], g[rows])], size)
        run = counter.total(size)
    return checked_sums(pair_counts(run, listed, n, len(g) > 0))


def _size(winners: NDArray[np.int64], losers: NDArray[np.int64], m: int | None, names: list[str] | None) -> int:
    if m is None:
        m = len(names) if names is not None else int(max(winners.max(), losers.max())) + 1
    if names is not None and (len(names) != m or len(set(names)) != m):
        raise InputError(f"{m} items need as many different names")
    if not 0 < m <= _MOST_ITEMS:
        raise InputError(f"the number of items must be in [1, {_MOST_ITEMS}], not {m}")
    return m


def _indices(rows: NDArray[np.int64], m: int) -> NDArray[np.int32]:
    """Return indices as int32 for the kernels; indices out of range become -1, which they refuse."""
    if rows.dtype == np.int32:
        return np.ascontiguousarray(rows, np.int32)
    return np.where((rows >= 0) & (rows < m), rows, -1).astype(np.int32)
