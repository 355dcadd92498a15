"""Comparison logs as a stream of coded chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.counts.codes import CategoryCodes, Codes, FixedCodes, OutOfRange, codes_for
from rankbench.counts.count import no_flags, no_weights
from rankbench.counts.thread_tables import ROWS, LogPiece
from rankbench.errors import InputError, nearest
from rankbench.kinds.table_check import UNREADABLE
from rankbench.text import short_repr

__all__ = ["LogStream", "log_schema", "streamed"]

T = TypeVar("T")

_LONGEST = 400


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
    first : int
        Rows of the log before those of the frame, for errors.
    signed : bool
        Whether a missing judge is an error; else `unsigned` tells that there was one.

    Attributes
    ----------
    tied, weighted : bool
        Whether the log has such a column.
    unsigned : int
        Rows without a judge that were read so far.
    rows : int
        Rows that were read so far.
    """

    def __init__(
        self,
        frame: pl.LazyFrame,
        items: Codes,
        judge: str | None = None,
        judges: Codes | None = None,
        first: int = 0,
        signed: bool = True,
    ) -> None:
        schema = log_schema(frame)
        self.signed, self.unsigned = signed, 0
        self.items, self.judge, self.judges = items, judge, judges
        self.rows, self.first = 0, first
        self.tied, self.weighted = "tie" in schema, "weight" in schema
        columns = [items.expression("winner"), items.expression("loser")]
        if self.tied:
            columns.append(_flag(schema["tie"]))
        if self.weighted:
            _check_weight(schema["weight"])
            columns.append(pl.col("weight").cast(pl.Float64, strict=False))
        if judges is not None and judge is not None:
            columns.append(judges.expression(judge).alias("judge"))
        self.frame, self.coded = frame, frame.select(columns)

    def chunks(self) -> Iterator[list[tuple[LogPiece, NDArray[np.int32] | None]]]:
        """Yield `ROWS` rows at a time, in the log's order: pieces with their judges' codes.

        Rows before a missing value come out before its error is raised: something may be wrong with those too.

        Raises
        ------
        InputError
            With its row: something missing or unknown; the file cannot be read.
        """
        try:
            chunk: list[tuple[LogPiece, NDArray[np.int32] | None]] = []
            height = 0
            for frame in self.coded.collect_batches(chunk_size=ROWS, maintain_order=True, engine="streaming"):
                for piece in _pieces(frame, height):
                    height += piece.height
                    sound = _sound(piece if self.signed else piece.drop("judge", strict=False))
                    if sound:
                        chunk.append(self._piece(piece.head(sound) if sound < piece.height else piece))
                    if sound < piece.height:
                        if chunk:
                            yield chunk
                        raise self._missing(piece.row(sound, named=True))
                    if height == ROWS:
                        yield chunk
                        chunk, height = [], 0
            if height:
                yield chunk
        except UNREADABLE as error:
            raise InputError(f"the log cannot be read: {str(error).strip().splitlines()[0][:_LONGEST]}") from error
        if not self.rows:
            raise InputError("there are no comparisons")

    def _piece(self, frame: pl.DataFrame) -> tuple[LogPiece, NDArray[np.int32] | None]:
        winners, losers = self.items.batch(frame["winner"], frame["loser"])
        piece = LogPiece(
            winners,
            losers,
            frame["tie"].cast(pl.UInt8).to_numpy() if self.tied else no_flags(),
            frame["weight"].to_numpy() if self.weighted else no_weights(),
        )
        self.rows += len(piece)
        self.unsigned += frame["judge"].null_count() if self.judges is not None else 0
        judges = None if self.judges is None or self.unsigned else self.judges.batch(frame["judge"])[0]
        return piece, judges

    def nameless(self, *columns: str) -> InputError:
        """Return the error for the first row that has an empty name in one of some columns."""
        rows = self.frame.select(pl.col(list(columns)).cast(pl.String)).with_row_index("row", offset=self.first + 1)
        row, *names = rows.filter(pl.any_horizontal(pl.col(list(columns)) == "")).head(1).collect().row(0)
        return InputError("the name is empty", row=row, column=columns[names.index("")])

    def _missing(self, coded: dict[str, object]) -> InputError:
        """Return the error for the next row, which has a null: missing, or not what the column must hold."""
        column = next(name for name, value in coded.items() if value is None and (self.signed or name != "judge"))
        row = self.first + self.rows + 1
        name = self.judge if column == "judge" and self.judge else column
        given = self.frame.select(name).slice(self.rows, 1).collect().item()
        if given is None:
            return InputError(f"the {column} is missing", row=row, column=column)
        expected = {"weight": "a number", "tie": "true or false"}.get(column, "one of the items that were named")
        return InputError(f"{short_repr(given)} is not {expected}", row=row, column=column)


def _pieces(frame: pl.DataFrame, height: int) -> Iterator[pl.DataFrame]:
    """Cut a frame where `ROWS` rows are full, `height` being there, and where its memory is: pieces are not copied."""
    begin = 0
    for length in frame.to_series().chunk_lengths():
        end = begin + length
        while begin < end:
            rows = min(end - begin, ROWS - height)
            yield frame.slice(begin, rows) if rows < frame.height else frame
            begin, height = begin + rows, (height + rows) % ROWS


def _sound(frame: pl.DataFrame) -> int:
    """Return the number of rows before the first one with a null."""
    nulls = (column.is_null().arg_max() or 0 for column in frame.get_columns() if column.null_count())
    return min(nulls, default=frame.height)


def log_schema(frame: pl.LazyFrame) -> pl.Schema:
    """Return the schema of a log.

    Raises
    ------
    InputError
        It cannot be read, or has no winners or no losers.
    """
    try:
        schema = frame.collect_schema()
    except UNREADABLE as error:
        raise InputError(f"the log cannot be read: {str(error).strip().splitlines()[0][:_LONGEST]}") from error
    for name in ("winner", "loser"):
        if name not in schema:
            raise InputError(f"column {name!r} is missing{nearest(name, schema)}", column=name)
    return schema


def _check_weight(dtype: pl.DataType) -> None:
    if not (dtype.is_numeric() or dtype in (pl.String, pl.Null)):
        raise InputError(f"weights must be numbers, not {short_repr(str(dtype))}", column="weight")


def _flag(dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.Boolean:
        return pl.col("tie")
    if dtype.is_integer():
        return pl.when(pl.col("tie").is_in([0, 1])).then(pl.col("tie").cast(pl.Boolean)).alias("tie")
    raise InputError(f"ties must be true or false, not {short_repr(str(dtype))}", column="tie")


def streamed(frame: pl.LazyFrame, items: Sequence[str] | None, use: Callable[[Codes], T]) -> T:
    """Return ``use(codes)`` with the numbering of items that fits the log.

    Integers are tried as their own codes; if they turn out to be large or negative, `use`
    is called again.
    """
    schema = log_schema(frame)
    if items is not None:
        return use(FixedCodes(items))
    codes = codes_for([schema["winner"], schema["loser"]])
    try:
        return use(codes)
    except OutOfRange:
        return use(CategoryCodes())
