"""LETOR / SVMlight: ``label qid:N index:value ... # comment``, one item a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rankbench.kinds.reader import Reader, existing

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LetorReader"]

_LINE = re.compile(rb"[ \t]*[-+.0-9eE]+([ \t]+qid:[^ \t\r\n#]+)?([ \t]+[0-9]+:[^ \t\r\n#]+)*[ \t]*(#.*)?\r?\Z")


class LetorReader(Reader):
    """Graded items as text lines, sparse or dense, plain or gzip.

    The items of a query stand together, named by ``qid:N`` right after the label; a file
    without ``qid`` has a neighbour ``FILE.group`` (or ``FILE.query``) with the number of
    lines of each query, and its queries are then called 1, 2, ... Features that a line
    does not mention are zero.
    """

    name: ClassVar[str] = "letor"
    source: ClassVar[str] = "[QL13]_ section 2; SVMlight file format"
    extensions: ClassVar[tuple[str, ...]] = (
        ".txt",
        ".letor",
        ".svm",
        ".svmlight",
        ".libsvm",
        ".dat",
        ".train",
        ".vali",
        ".test",
    )

    d: int = Field(default=0, ge=0, le=1 << 24, description="Number of features; 0: the largest index of the file.")
    zero_based: bool = Field(default=False, alias="zero-based", description="Whether feature indices count from 0.")
    allow_single: bool = Field(
        default=False, alias="allow-single", description="Whether a query may have a single item."
    )
    negative: bool = Field(default=False, description="Whether labels below 0 are grades, and not an error.")

    @classmethod
    def example(cls) -> bytes:
        """Return two queries of two features."""
        return b"2 qid:1 1:0.5 2:1 # a comment\n0 qid:1 1:0.25\n1 qid:7 2:3\n0 qid:7 1:-1 2:0.5\n1 qid:7 1:0.5\n"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line with content is a LETOR line."""
        for line in head.split(b"\n"):
            content = line.strip()
            if content and not content.startswith(b"#"):
                return b":" in content and _LINE.match(line) is not None
        return False

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the items; see `Reader.scan`. Counts the features at once unless d is given."""
        from polars.io.plugins import register_io_source

        from rankbench.data.readers.frame_source import io_source
        from rankbench.data.readers.letor_lines import LetorFile

        file = LetorFile(existing(path), self.d, self.zero_based, self.allow_single, self.negative)
        return register_io_source(io_source(file.batches), schema=file.schema())

    def batches(self, path: Path) -> Iterator[pl.DataFrame]:
        """Yield the items in pieces of bounded size."""
        from rankbench.data.readers.letor_lines import LetorFile

        yield from LetorFile(existing(path), self.d, self.zero_based, self.allow_single, self.negative).batches()
