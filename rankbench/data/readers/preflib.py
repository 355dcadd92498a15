"""Ballots in the formats of PrefLib: ``.soc .soi .toc .toi``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rankbench.kinds.reader import Reader, existing

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PreflibReader"]


class PreflibReader(Reader):
    """Orders as PrefLib publishes them: a header of ``# KEY: value``, then ``count: 3,{1,4},2``.

    A file is one query, called as the file is, without its ending; its alternatives are the
    candidates. Items are called by their names. What the header says is checked: numbers of
    alternatives, voters and unique orders, and the data type: ``soc`` and ``soi`` have no ties, ``soc``
    and ``toc`` rank everything. Lines that begin with ``#`` and say something else are comments.
    """

    name: ClassVar[str] = "preflib"
    source: ClassVar[str] = "preflib.org, format of 2022; N. Mattei and T. Walsh, ADT 2013"
    extensions: ClassVar[tuple[str, ...]] = (".soc", ".soi", ".toc", ".toi")

    names: bool = Field(
        default=True, description="Whether items are called by their names; else by their numbers in the file."
    )
    counts: bool = Field(
        default=True, description="Whether voters and unique orders must be as many as the header says."
    )

    @classmethod
    def example(cls) -> bytes:
        """Return six ballots on three alternatives."""
        return (
            b"# FILE NAME: example.toi\n# DATA TYPE: toi\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 6\n"
            b"# NUMBER UNIQUE ORDERS: 3\n# ALTERNATIVE NAME 1: ann\n# ALTERNATIVE NAME 2: bob\n"
            b"# ALTERNATIVE NAME 3: cy\n3: 1,{2,3}\n2: 2,1\n1: {1,3}\n"
        )

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the file begins with a header that counts alternatives."""
        return head.startswith(b"#") and b"\n# NUMBER ALTERNATIVES:" in head

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the orders; see `Reader.scan`."""
        from polars.io.plugins import register_io_source

        from rankbench.data.readers.frame_source import io_source
        from rankbench.data.tables.orders.schema import orders_schema

        existing(path)
        return register_io_source(io_source(lambda: self.batches(path)), schema=orders_schema(("weight", "candidates")))

    def batches(self, path: Path) -> Iterator[pl.DataFrame]:
        """Yield the orders in pieces of bounded size."""
        from rankbench.data.readers.preflib_lines import PreflibFile

        yield from PreflibFile(existing(path), self.names, self.counts).batches()
