"""A log streams as chunks of coded votes: names become consecutive numbers, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import short_repr
from rankbench.data.readers.frame_source import readable
from rankbench.data.tables.schemas import REST
from rankbench.errors import InputError, nearest
from rankbench.interfaces.table_check import WITH_NULL
from rankbench.logs.thread_tables import NO_TIES, NO_WEIGHTS, ROWS, Piece

LARGEST_INTEGER = 1 << 22
"""Items called 0, 1, ... up to this are their own codes."""


class OutOfRange(Exception):
    """Integers turned out not to be small: they must be coded as names. Never leaves this package."""


class CategoryCodes:
    """Strings by a table that Polars keeps for all batches; listed in alphabetical order (by code point)."""

    def __init__(self) -> None:
        self.categories = pl.Categories.random(namespace="rankbench")
        self.dtype = pl.Categorical(self.categories)
        # The table lives as long as some series uses it.
        self.alive = pl.Series([], dtype=self.dtype)
        # Polars numbers them in the order in which its threads meet them; ours is the log's.
        self.number, self.count = np.full(1024, -1, np.int32), 0

    def expression(self, column: str) -> pl.Expr:
        """Return the column as `batch` takes it."""
        return pl.col(column).cast(pl.String).cast(self.dtype).to_physical()

    def batch(self, *columns: pl.Series) -> list[NDArray[np.int32]]:
        """Return the codes of a batch's columns without nulls, each of shape (rows,).

        Codes are given in the order of first appearance, a row's columns from left to right: never by where one batch
        ends and the next begins.
        """
        from rankbench.logs.kernels import renumber

        given = np.column_stack([column.to_numpy() for column in columns])
        most = int(given.max(initial=0)) + 1
        if most > len(self.number):
            self.number = np.concatenate([self.number, np.full(max(most, len(self.number)), -1, np.int32)])
        codes = np.empty(given.shape, np.int32)
        self.count = renumber(given, self.number, self.count, codes)
        return [np.ascontiguousarray(codes[:, c]) for c in range(len(columns))]

    def named(self, column: pl.Series) -> pl.Series:
        """Return the names of a column of a batch."""
        return column.cat.to(self.dtype).cast(pl.String)

    def restart(self) -> None:
        """Forget all codes: the next batch begins a part of the log that is counted by itself."""
        self.number[:] = -1
        self.count = 0

    @property
    def size(self) -> int:
        """Number of codes given so far: all are smaller."""
        return self.count

    def names(self) -> list[str]:
        """Return the name of every code."""
        given = np.flatnonzero(self.number >= 0).astype(np.uint32)
        return self.named(pl.Series(given[np.argsort(self.number[given])])).to_list()

    def order(self, seen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the codes in use, in the order in which items are listed."""
        names = self.names()
        return np.array(sorted(np.flatnonzero(seen).tolist(), key=names.__getitem__), np.int64)


class IntegerCodes:
    """Small integers, which are their own codes; listed in numerical order. Methods are those of `CategoryCodes`."""

    def __init__(self) -> None:
        self.bound = 0

    def expression(self, column: str) -> pl.Expr:
        """See `CategoryCodes.expression`."""
        return pl.col(column)

    def batch(self, *columns: pl.Series) -> list[NDArray[np.int32]]:
        """Return the codes of a batch's columns.

        Raises
        ------
        OutOfRange
            A negative or a large integer.
        """
        return [self._small(column.to_numpy()) for column in columns]

    def _small(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        if len(codes):
            # A negative integer is a huge unsigned one: one pass instead of two.
            most = int(codes.view(np.dtype(f"u{codes.itemsize}")).max())
            if most >= LARGEST_INTEGER:
                raise OutOfRange
            self.bound = max(self.bound, most + 1)
        return codes.astype(np.int32, copy=False)

    def named(self, column: pl.Series) -> pl.Series:
        """See `CategoryCodes.named`."""
        return column.cast(pl.String)

    def restart(self) -> None:
        """See `CategoryCodes.restart`."""
        self.bound = 0

    @property
    def size(self) -> int:
        """See `CategoryCodes.size`."""
        return self.bound

    def names(self) -> list[str]:
        """See `CategoryCodes.names`."""
        return [str(i) for i in range(self.bound)]

    def order(self, seen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """See `CategoryCodes.order`."""
        return np.flatnonzero(seen)


Codes: TypeAlias = CategoryCodes | IntegerCodes
"""A numbering of names."""


def codes_for(dtypes: Sequence[pl.DataType], *, small: bool = True, column: str = "winner") -> Codes:
    """Return the numbering that fits columns of these types.

    Parameters
    ----------
    dtypes : sequence of Polars types
    small : bool
        Whether integers may be taken for small ones.
    column : str
        Named in errors.

    Raises
    ------
    InputError
        Neither names nor integers.
    """
    if small and all(dtype.is_integer() for dtype in dtypes):
        return IntegerCodes()
    for dtype in dtypes:
        if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum)):
            raise InputError(f"items must be names or integers, not {short_repr(str(dtype))}", column=column)
    return CategoryCodes()


LOOKED_AT = 1 << 15
"""First votes of a log that are searched for suspicious ones: it costs milliseconds for logs of any length."""


def beside_counted(schema: pl.Schema) -> list[str]:
    """Return the columns of a log that first votes have and that are not counted.

    They have ``time`` where they have ``first``, as games of two times are no mirrored ones.
    """
    times = ["time"] if "first" in schema else []
    return [name for name in ("query_id", "first", "judge", *times, REST) if name in schema]


class LogStream:
    """One pass over a log, coded batch by batch.

    Parameters
    ----------
    frame : LazyFrame
        Columns ``winner`` and ``loser`` (names or integers), perhaps ``weight`` (a number) or ``count``
        (positive whole numbers), and ``tie`` (a boolean), and the judges' column if it is asked for; others are not
        read.
    judge : str, optional
        Column of the judges, who are numbered by a table of their own: their numbers may be anything.
    first : int
        Rows of the log before those of the frame, for errors.
    small : bool
        Whether integers may be taken for small ones, which are their own codes.
    signed : bool
        Whether a missing judge is an error; else `unsigned` tells that there was one.
    first_votes : list of DataFrame, optional
        Gets one more than the first `LOOKED_AT` votes of this pass, so that they can be examined without another:
        ``winner`` and ``loser`` by name, ``tie``, and `beside_counted`.

    Attributes
    ----------
    items : Codes
        Numbering of the items.
    tied, weighted, counted : bool
        Whether the log has ties, weights or counts, and counts; these have no weights beside them.
    uneven : bool
        Whether some weight was not 1 since this was last set to False.
    unsigned : int
        Rows without a judge that were read so far.
    rows : int
        Rows that were read so far.
    votes : int
        Votes in them: one whose points are split has two rows.
    """

    def __init__(
        self,
        frame: pl.LazyFrame,
        judge: str | None = None,
        first: int = 0,
        *,
        small: bool = True,
        signed: bool = True,
        first_votes: list[pl.DataFrame] | None = None,
    ) -> None:
        schema = log_schema(frame)
        self.first_votes = first_votes
        self.signed, self.unsigned = signed, 0
        self.items, self.judge = codes_for([schema["winner"], schema["loser"]], small=small), judge
        self.judges = None if judge is None else CategoryCodes()
        self.rows, self.votes, self.first = 0, 0, first
        self.tied, self.counted = "tie" in schema, "count" in schema
        self.weighted = self.counted or "weight" in schema
        self.uneven = False
        columns = [self.items.expression("winner"), self.items.expression("loser")]
        if self.tied:
            columns.append(_flag(schema["tie"]))
        if "weight" in schema:
            dtype = schema["weight"]
            if not (dtype.is_numeric() or dtype in (pl.String, pl.Null)):
                raise InputError(f"weights must be numbers, not {short_repr(str(dtype))}", column="weight")
            columns.append(pl.col("weight").cast(pl.Float64, strict=False))
        if self.counted:
            columns.append(pl.col("count").cast(pl.Float64, strict=False))
        if REST in schema:
            columns.append(pl.col(REST))
        if judge is not None and self.judges is not None:
            if judge not in schema:
                raise InputError(f"column {judge!r} is missing{nearest(judge, schema)}", column=judge)
            codes_for([schema[judge]], column=judge)
            columns.append(self.judges.expression(judge).alias("judge"))
        self.coded = frame.select(columns)
        # Columns that every row must have.
        self.needed = [name for name in self.coded.collect_schema() if signed or name != "judge"]
        if first_votes is not None:
            first_votes.clear()
            known = self.coded.collect_schema()
            columns += [pl.col(name) for name in beside_counted(schema) if name not in known]
            self.coded = frame.select(columns)
        self.frame = frame

    def chunks(self) -> Iterator[list[tuple[Piece, NDArray[np.int32] | None]]]:
        """Yield `ROWS` rows at a time, in the log's order: pieces with their judges' codes.

        Rows before a missing value come out before its error is raised: something may be wrong with those too.

        Raises
        ------
        InputError
            With its row: something missing, or not what its column must hold; the file cannot be read.
        """
        with readable(None):
            chunk: list[tuple[Piece, NDArray[np.int32] | None]] = []
            height = 0
            for frame in self.coded.collect_batches(chunk_size=ROWS, maintain_order=True, engine="streaming"):
                for piece in _pieces(frame, height):
                    height += piece.height
                    if sound := _sound(piece, self.needed):
                        whole = piece.head(sound) if sound < piece.height else piece
                        self._keep(whole)
                        chunk.append(self._piece(whole))
                    if sound < piece.height:
                        if chunk:
                            yield chunk
                        raise self._missing(piece.row(sound, named=True))
                    if height == ROWS:
                        yield chunk
                        chunk, height = [], 0
            if height:
                yield chunk
        if not self.rows:
            raise InputError("there are no comparisons")

    def _keep(self, frame: pl.DataFrame) -> None:
        """Keep the first rows of the log, with names in place of codes."""
        kept = self.first_votes
        if kept is None or not (lacking := LOOKED_AT + 1 - sum(map(len, kept))):
            return
        rows = first_of_counts(frame, lacking)
        coded = {"winner": self.items, "loser": self.items} | ({"judge": self.judges} if self.judges else {})
        named = [codes.named(rows[name]).alias(name) for name, codes in coded.items()]
        kept.append(rows.with_columns(named))

    def _piece(self, frame: pl.DataFrame) -> tuple[Piece, NDArray[np.int32] | None]:
        winners, losers = self.items.batch(frame["winner"], frame["loser"])
        ties = frame["tie"].cast(pl.UInt8).to_numpy() if self.tied else NO_TIES
        # Counts of votes without weights are sums of weights of 1.
        weights = frame["count" if self.counted else "weight"].to_numpy() if self.weighted else NO_WEIGHTS
        self.uneven |= not self.counted and bool((weights != 1).any())
        self.rows += frame.height
        self.votes += int(weights.sum()) if self.counted else frame.height
        self.votes -= int(frame[REST].sum()) if REST in frame.columns else 0
        self.unsigned += frame["judge"].null_count() if self.judges is not None else 0
        judges = None if self.judges is None or self.unsigned else self.judges.batch(frame["judge"])[0]
        return (winners, losers, ties, weights), judges

    def nameless(self, *columns: str) -> InputError:
        """Return the error for the first row without a name in one of some columns; see `all_named`."""
        rows = self.frame.select(pl.col(list(columns)).cast(pl.String)).with_row_index("row", offset=self.first + 1)
        wrong = (pl.col(list(columns)) == "") | pl.col(list(columns)).str.contains("\0", literal=True)
        row, *names = rows.filter(pl.any_horizontal(wrong)).head(1).collect().row(0)
        at = next(at for at, name in enumerate(names) if name is not None and not all_named([name]))
        what = WITH_NULL.format(short_repr(names[at])) if names[at] else "the name is empty"
        return InputError(what, row=row, column=columns[at])

    def _missing(self, coded: dict[str, object]) -> InputError:
        """Return the error for the next row, which has a null: a missing value, or one of another type."""
        column = next(name for name, value in coded.items() if value is None and name in self.needed)
        row = self.first + self.rows + 1
        name = self.judge if column == "judge" and self.judge else column
        if (given := self.frame.select(name).slice(self.rows, 1).collect().item()) is None:
            return InputError(f"the {column} is missing", row=row, column=column)
        expected = {"weight": "a number", "count": "a whole number"}.get(column, "true or false")
        return InputError(f"{short_repr(given)} is not {expected}", row=row, column=column)


def all_named(names: Iterable[str]) -> bool:
    """Return whether all names are nonempty, without the character 0 in them."""
    return not any(name == "" or "\0" in name for name in names)


def _pieces(frame: pl.DataFrame, height: int) -> Iterator[pl.DataFrame]:
    """Cut a frame where `ROWS` rows are full, `height` being there, and where its memory is: pieces are not copied."""
    begin = 0
    for length in frame.to_series().chunk_lengths():
        end = begin + length
        while begin < end:
            rows = min(end - begin, ROWS - height)
            yield frame.slice(begin, rows) if rows < frame.height else frame
            begin, height = begin + rows, (height + rows) % ROWS


def _sound(frame: pl.DataFrame, needed: Sequence[str]) -> int:
    """Return the number of rows before the first one with a null in a column that is needed."""
    # Not `frame.select`: it plans a query, and the threads of its engine spin; that took a fifth of counting.
    columns = (frame.get_column(name) for name in needed)
    nulls = (column.is_null().arg_max() or 0 for column in columns if column.null_count())
    return min(nulls, default=frame.height)


def first_of_counts(frame: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Return the first votes of a table, a row each, whose rows may have counts.

    Parameters
    ----------
    frame : DataFrame
    limit : int
        Most votes to return.
    """
    rows = frame.head(limit)
    if "count" not in rows.columns:
        return rows
    before = pl.col("count").cum_sum() - pl.col("count")
    times = rows.select(pl.min_horizontal("count", (limit - before).clip(0))).to_series().cast(pl.Int64).to_numpy()
    return rows.drop("count")[np.repeat(np.arange(len(times)), times)]


def log_schema(frame: pl.LazyFrame) -> pl.Schema:
    """Return the schema of a log.

    Raises
    ------
    InputError
        It cannot be read, or has no winners or no losers.
    """
    with readable(None):
        schema = frame.collect_schema()
    for name in ("winner", "loser"):
        if name not in schema:
            raise InputError(f"column {name!r} is missing{nearest(name, schema)}", column=name)
    return schema


def _flag(dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.Boolean:
        return pl.col("tie")
    if dtype.is_integer():
        return pl.when(pl.col("tie").is_in([0, 1])).then(pl.col("tie").cast(pl.Boolean)).alias("tie")
    raise InputError(f"ties must be true or false, not {short_repr(str(dtype))}", column="tie")
