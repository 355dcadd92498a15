"""Ballots, clicks and Parquet files are opened as logs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.aggregators.ballot_rules import BallotRule
from rankbench.aggregators.social_choice import MajorityRule
from rankbench.core.runtime import resample_entropy
from rankbench.core.text import first_of, short_reprs
from rankbench.data.readers.choose import is_pattern, part_files
from rankbench.data.readers.frame_source import readable
from rankbench.data.readers.parquet import MANIFEST, Manifest
from rankbench.data.tables.column_roles import as_comparisons
from rankbench.data.tables.impressions import count_clicks
from rankbench.data.tables.order_log import load_orders
from rankbench.data.tables.selections import load_selections, take_selections
from rankbench.data.tables.sides import CONTRADICTED, MARKED, SAID
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.interfaces.click_aggregator import SelectionAggregator
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Orders, Selections, implied_comparisons
from rankbench.interfaces.row_weights import MOST_VOTES
from rankbench.ranking.ranked_log import ItemTallies, WholeLog
from rankbench.ranking.sampling_units import JUDGES, Units, units_of_lists
from rankbench.ranking.votes import NO_TIMES


@dataclass(frozen=True, eq=False)
class Ballots(WholeLog):
    """Ballots of one query.

    Attributes
    ----------
    items : list of str, length m
    orders : Orders
    judges : ndarray of int64, shape (ballots,), or None
        Whose ballot it is, where judges are the units. Else voters are, or ballots where nobody counted voters.
    counts : ndarray of int64, shape (ballots,), or None
        Number of voters who cast each ballot; None: one each.
    """

    items: list[str]
    orders: Orders
    judges: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None

    @property
    def by_judge(self) -> bool:  # type: ignore[override]
        """True if judges are the units."""
        return self.judges is not None

    @cached_property
    def _times(self) -> NDArray[np.int64]:
        """Number of voters who cast each ballot, (ballots,)."""
        return np.ones(len(self.orders), np.int64) if self.counts is None else self.counts

    @cached_property
    def units(self) -> Units:
        """Independent units, and the votes in them."""
        orders = self.orders
        found = units_of_lists(orders.items, orders.starts, self.judges, orders.weights, len(self.items), self._times)
        return replace(found, noun=JUDGES if self.by_judge else "ballots")

    def tallies(self) -> ItemTallies:
        """Return the ballots that name each item, and those that put nothing before it."""
        orders, m = self.orders, len(self.items)
        lengths = np.diff(orders.starts)
        weights = np.repeat(orders.weights, lengths)
        best = np.repeat(np.minimum.reduceat(orders.places, orders.starts[:-1]), lengths)
        first = np.where(orders.places == best, weights, 0.0)
        named, won = (np.bincount(orders.items, each, m).astype(np.float64) for each in (weights, first))
        return ItemTallies(named, won, "ballots", "firsts", int(self._times.sum()), float(orders.weights.sum()))

    def _again(self, aggregator: Aggregator, times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        said = self.orders
        if times is not None:
            one = said.weights / self._times if self.judges is None else said.weights
            said = replace(said, weights=one * (times if self.judges is None else times[self.judges]))
        return call_aggregator(aggregator, said, len(self.items))

    def _drawn(self, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
        """Yield how often each resample draws each judge, or each ballot by any of its voters."""
        if self.judges is not None or self.counts is None:
            yield from super()._drawn(resamples, seed)
        elif (voters := int(self.counts.sum())) <= MOST_VOTES:
            ballot = np.repeat(np.arange(len(self.counts)), self.counts)
            for times in super()._drawn(resamples, seed):
                yield np.bincount(ballot, times, len(self.counts)).astype(np.int64)
        else:
            rng = np.random.default_rng(np.random.SeedSequence(resample_entropy(seed, voters)))
            for _ in range(resamples):
                yield rng.multinomial(voters, self.counts / voters)

    def scales(self, aggregator: Aggregator) -> NDArray[np.int64]:
        """Return a number for each item, (m,), the same where a chain of ballots connects them."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        if isinstance(aggregator, BallotRule):
            return np.zeros(len(self.items), np.int64)
        orders, m = self.orders, len(self.items)
        first = np.repeat(orders.items[orders.starts[:-1]], np.diff(orders.starts))
        graph = coo_array((np.ones(len(first)), (first, orders.items)), shape=(m, m))
        return np.asarray(connected_components(graph, directed=False)[1].astype(np.int64))

    def winners(self, aggregator: Aggregator) -> NDArray[np.bool_] | None:
        """Return whether a rule of social choice elects each item, (m,); None of other aggregators."""
        orders, m = self.orders.weighed(), len(self.items)
        if isinstance(aggregator, BallotRule):
            return aggregator.winners(orders, m)
        if isinstance(aggregator, MajorityRule):
            return aggregator.winners(PairCounts.from_comparisons(implied_comparisons(orders), m))
        return None

    def notes(self, aggregator: Aggregator) -> list[str]:
        """Return what a reader of these scores must know."""
        return [NO_TIMES] if "sequential" in aggregator.properties else []


@dataclass(frozen=True, eq=False)
class Sessions(WholeLog):
    """Sessions of one query; they are the units.

    Scores from clicks are rates, and every item has its own: all stand on one scale.

    Attributes
    ----------
    items : list of str, length m
    selections : Selections
        All clicks on what was shown.
    off_list, repeated : int
        Clicks outside of the shown lists, and on what the session had clicked before.
    """

    items: list[str]
    selections: Selections
    by_judge: bool = False
    off_list: int = 0
    repeated: int = 0

    @cached_property
    def units(self) -> Units:
        """Independent units, and the votes in them."""
        shown = self.selections
        found = units_of_lists(shown.items, shown.starts, None, np.ones(len(shown)), len(self.items))
        return replace(found, noun="sessions")

    def tallies(self) -> ItemTallies:
        """Return how often each item was shown, and clicked."""
        items, clicks, m = self.selections.items, self.selections.clicked, len(self.items)
        shown, clicked = (np.bincount(some, minlength=m).astype(np.float64) for some in (items, items[clicks]))
        return ItemTallies(shown, clicked, "shown", "clicks", len(self.selections))

    def _again(self, aggregator: Aggregator, times: NDArray[np.int64] | None) -> NDArray[np.float64]:
        said = self.selections
        if times is not None:
            said = take_selections(said, np.repeat(np.arange(len(times)), times))
        return call_aggregator(aggregator, said, len(self.items))

    def scales(self, aggregator: Aggregator) -> NDArray[np.int64]:
        """Return a number for each item, (m,)."""
        return np.zeros(len(self.items), np.int64)

    def notes(self, aggregator: Aggregator) -> list[str]:
        """Return what a reader of these scores must know: clicks that they do not use, items without an observation."""
        shown, unseen = self.selections, list[str]()
        unused = {"outside of the shown list": self.off_list, "on what a session had clicked before": self.repeated}
        if isinstance(aggregator, SelectionAggregator):
            seen = np.bincount(shown.items[aggregator.observed(shown)], minlength=len(self.items))
            unseen = short_reprs([item for item, times in zip(self.items, seen, strict=True) if not times])
            if aggregator.stops:
                busy = np.maximum.reduceat(shown.clicked, shown.starts[:-1])
                below = f"below the topmost of a list ({aggregator.name} takes one click a list)"
                unused[below] = int(shown.clicked.sum() - busy.sum())
        said = ", ".join(f"{count:,} {where}" for where, count in unused.items() if count)
        notes = [f"{aggregator.name} does not use all clicks; it leaves out {said}"] if said else []
        if unseen:
            notes.append(f"{aggregator.name} has no observation of {first_of(unseen, 4)}: such scores are no estimates")
        return notes


def load_ballots(frame: pl.LazyFrame, *, judges: bool = False) -> Ballots:
    """Return the ballots of one query.

    Parameters
    ----------
    frame : LazyFrame
        Orders in the schema, of one query.
    judges : bool
        Resample judges with all their ballots.

    Raises
    ------
    InputError
        No rows; `judges`, and the log does not name two of them, or not all.
    """
    log = load_orders(frame)
    return Ballots(log.items, log.orders, _judges(frame) if judges else None, log.counts)


def load_sessions(frame: pl.LazyFrame) -> Sessions:
    """Return the sessions of one query, with all their clicks.

    Parameters
    ----------
    frame : LazyFrame
        Selections in the schema, of one query.

    Raises
    ------
    InputError
        No rows.
    """
    table = frame.collect(engine="streaming")
    log = load_selections(table.lazy())
    _, off_list, repeated = count_clicks(table)
    return Sessions(log.items, log.selections, off_list=off_list, repeated=repeated)


def _judges(frame: pl.LazyFrame) -> NDArray[np.int64]:
    column = frame.select("judge").collect(engine="streaming")["judge"]
    if column.null_count():
        raise InputError("the judge is missing", row=int(column.is_null().arg_max() or 0) + 1, column="judge")
    if column.n_unique() < 2:
        raise InputError("all ballots are of one judge: resample ballots instead (--intervals bootstrap)")
    return (column.rank("dense") - 1).to_numpy().astype(np.int64)


ROW = "row"
"""Column of the number of a judgment, where every judgment is a cluster of its own."""


@dataclass(frozen=True)
class ParquetFile:
    """A file of a log: where it is, its rows, and its size in bytes."""

    path: Path
    rows: int
    size: int


@dataclass(frozen=True)
class LogRows:
    """Successive rows of a log, as another machine can read them.

    Attributes
    ----------
    first : int
        Rows of the log before these.
    files : tuple of (str, int, int, int)
        Absolute path, size in bytes, first row and number of rows to take.
    roles : mapping of str to str, or None
        See `ParquetLog`.
    """

    first: int
    files: tuple[tuple[str, int, int, int], ...]
    roles: Mapping[str, str] | None

    def unreadable(self) -> str | None:
        """Return the first file that is not here, or is not the one that was meant."""
        for path, size, _, _ in self.files:
            try:
                if os.stat(path).st_size != size:
                    return path
            except OSError:
                return path
        return None

    def frame(self) -> pl.LazyFrame:
        """Return the rows."""
        pieces = [pl.scan_parquet(path, glob=False).slice(begin, count) for path, _, begin, count in self.files]
        return _read_as(pl.concat(pieces), self.roles)


@dataclass(frozen=True)
class ParquetLog:
    """Comparisons in Parquet files, one after the other, which nothing has to be done to.

    Attributes
    ----------
    path : Path
        The file, or the folder.
    files : tuple of ParquetFile
        Without empty ones.
    roles : mapping of str to str, or None
        Columns by role, as `rankbench.data.tables.sides.decided` returns them; None: they have the
        schema's names.
    """

    path: Path
    files: tuple[ParquetFile, ...]
    roles: Mapping[str, str] | None = None

    @property
    def rows(self) -> int:
        """Number of rows of all files."""
        return sum(file.rows for file in self.files)

    def raw(self) -> pl.LazyFrame:
        """Return all files under their own columns."""
        return pl.scan_parquet([file.path for file in self.files], glob=False)

    def frame(self) -> pl.LazyFrame:
        """Return the whole log; what is in its rows has not been checked, so that times may be texts."""
        return _read_as(self.raw(), self.roles)

    def cut(self, first: int, count: int) -> LogRows:
        """Return at most `count` rows from row `first` on."""
        found = []
        begin = 0
        for file in self.files:
            low, high = max(first, begin), min(first + count, begin + file.rows)
            if low < high:
                found.append((str(file.path.resolve()), file.size, low - begin, high - low))
            begin += file.rows
        return LogRows(first, tuple(found), self.roles)

    def located(self, error: InputError) -> InputError:
        """Return an error about a row of the log as one about a row of its file."""
        if error.path is not None:
            return error
        row, begin = error.row, 0
        for file in self.files if row is not None else ():
            if row is not None and row <= begin + file.rows:
                return InputError(error.message, path=file.path, row=row - begin, column=error.column)
            begin += file.rows
        return InputError(error.message, path=self.path, row=row, column=error.column)


def _read_as(raw: pl.LazyFrame, roles: Mapping[str, str] | None) -> pl.LazyFrame:
    return raw if roles is None else as_comparisons(raw, roles).drop(SAID, CONTRADICTED, MARKED, strict=False)


def parquet_log(path: Path, roles: Mapping[str, str] | None = None) -> ParquetLog:
    """Return a log in Parquet.

    Parameters
    ----------
    path : Path
        A Parquet file, a folder made by ``rankbench data convert``, a folder of such files, or a pattern.
    roles : mapping of str to str, optional
        Columns of files by role.

    Raises
    ------
    InputError
        There is no such file, or it cannot be read; a shard is damaged, or not the one of the manifest.
    """
    if (path / MANIFEST).is_file():
        manifest = Manifest.load(path)
        manifest.scan(path)  # compares every shard with the manifest
        shards = [(path / shard.file, shard.rows) for shard in manifest.shards if shard.rows]
        return ParquetLog(path, tuple(ParquetFile(file, rows, file.stat().st_size) for file, rows in shards))
    parts = part_files(path) if path.is_dir() or is_pattern(path) else [existing(path)]
    return ParquetLog(path, tuple(filter(lambda file: file.rows, map(_parquet_file, parts))), roles)


def _parquet_file(path: Path) -> ParquetFile:
    with readable(path):
        rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    return ParquetFile(path, int(rows), path.stat().st_size)


def is_parquet(path: Path) -> bool:
    """Return whether a path is called like a Parquet file, or is a folder of shards or of such files."""
    if (path / MANIFEST).is_file():
        return True
    file = part_files(path)[0] if path.is_dir() or is_pattern(path) else path
    return file.suffix.lower() in (".parquet", ".pq")
