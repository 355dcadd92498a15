"""Names become consecutive numbers, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import short_repr
from rankbench.errors import InputError

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
        from rankbench.logs.kernels.tables import renumber

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
