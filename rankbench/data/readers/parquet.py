"""The Parquet reader reads files, and folders of shards with their manifest.

The hash is blake2b, so that it is the same on every machine, in every version of every
library and whatever other queries there are. Shards and splits are independent of one another.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from rankbench.core.component import Record, first_problem
from rankbench.core.text import count_text
from rankbench.data.readers.frame_source import frames_in_turn, readable
from rankbench.data.readers.parquet_footer import check_row_groups
from rankbench.data.tables.checks import TableReader, checked
from rankbench.errors import InputError
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.table_check import UNREADABLE, RawTable


class ParquetReader(TableReader):
    """Parquet files, and folders of shards with a ``manifest.json``.

    A folder's shards were checked when they were made and are scanned as they are, so
    that filters and projections reach the files.

    Prefer it for large logs: rankbench reads only the columns and row groups that it needs.
    """

    name: ClassVar[str] = "parquet"
    source: ClassVar[str] = "parquet.apache.org"
    extensions: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    parquet: ClassVar[bool] = True

    @classmethod
    def example(cls) -> bytes:
        """Return two comparisons."""
        file = io.BytesIO()
        pl.DataFrame({"query_id": ["a", "a"], "winner": ["x", "y"], "loser": ["y", "z"]}).write_parquet(file)
        return file.getvalue()

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether these are Parquet's first bytes, or a folder with a manifest."""
        return head.startswith(b"PAR1") or (path.is_dir() and (path / "manifest.json").is_file())

    def raw(self, path: Path) -> RawTable:
        """Return the table; see `Reader.raw`."""
        if existing(path).is_dir():
            manifest = Manifest.load(path)
            shards, notes = manifest.scan(path), tuple(filter(None, [manifest.reading]))
            # Shards that were made before times were typed hold texts.
            typed = shards.collect_schema().get("time") != pl.String
            return RawTable(shards if typed else checked(shards, path=path), path, in_schema=True, notes=notes)
        with readable(path):
            check_row_groups(path)
        return RawTable(pl.scan_parquet(path, glob=False), path)


MANIFEST = "manifest.json"


class Shard(Record):
    """One Parquet file of the folder."""

    file: str = Field(pattern=r"^shard-\d{5}\.parquet$")
    rows: int = Field(ge=0)
    queries: int = Field(ge=0)


class ShardedFile(Record):
    """The file that the shards were made from."""

    name: str
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    reader: str


class Manifest(Record):
    """Record of the shards that ``rankbench data convert`` wrote.

    Attributes
    ----------
    table : str
        The kind of table: what its name was when the shards were made.
    columns : dict of str to str
        Name and Polars type of every column.
    d : int, optional
        Number of features, for items.
    rows, queries : int
    shards : tuple of Shard
        Queries by `rankbench.data.readers.parquet.shard_of`.
    source : Source
    reading : str
        The line that states how the source was read.
    """

    format: Literal["rankbench-shards/1"] = "rankbench-shards/1"
    table: str = Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
    columns: dict[str, str]
    d: int | None = None
    rows: int = Field(ge=0)
    queries: int = Field(ge=0)
    shards: tuple[Shard, ...] = Field(min_length=1)
    source: ShardedFile
    reading: str = ""

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read a folder's manifest.

        Raises
        ------
        InputError
            It is missing, not a manifest, or names a shard that is not there.
        """
        path = folder / MANIFEST
        if not path.is_file():
            raise InputError(
                f"the folder has no {MANIFEST}; give a file, or a folder made by `rankbench data convert`", path=folder
            )
        try:
            manifest = cls.model_validate_json(path.read_bytes())
        except ValidationError as error:
            where, reason = first_problem(error)
            raise InputError(f"not a manifest of shards: {reason}", path=path, column=where or None) from error
        for shard in manifest.shards:
            if not (folder / shard.file).is_file():
                raise InputError(f"the shard {shard.file} is missing; convert the source again", path=folder)
        return manifest

    def save(self, folder: Path) -> None:
        """Write the manifest into the folder."""
        text = json.dumps(self.model_dump(mode="json"), indent=2) + "\n"
        (folder / MANIFEST).write_text(text, encoding="utf-8")

    def scan(self, folder: Path) -> pl.LazyFrame:
        """Return the shards one after the other; filters and projections reach the files.

        Raises
        ------
        InputError
            A shard cannot be read, or has not the columns and rows that the manifest says, at once; a shard is
            damaged where its rows are, when it is collected.
        """
        for shard in self.shards:
            path = folder / shard.file
            try:
                check_row_groups(path)
                frame = pl.scan_parquet(path, glob=False)
                columns = {name: str(kind) for name, kind in frame.collect_schema().items()}
                rows = frame.select(pl.len()).collect().item()
            except UNREADABLE as error:
                raise InputError("the shard is damaged or cut off; convert the source again", path=path) from error
            if columns != self.columns or rows != shard.rows:
                what = f"{rows} rows, not the {shard.rows}" if columns == self.columns else "other columns than those"
                raise InputError(f"the shard has {what} that {MANIFEST} says; convert the source again", path=path)
        if not any(shard.rows for shard in self.shards):
            raise InputError("the shards have no rows; convert the source again", path=folder)
        full = [folder / shard.file for shard in self.shards if shard.rows]
        frames = [pl.scan_parquet(path, glob=False) for path in full]
        return frames_in_turn(frames, [partial(readable, path) for path in full])


def stable_hash(query_id: str, purpose: Literal["shard", "split"]) -> int:
    """Return the 64-bit hash of a query's id for one purpose.

    Parameters
    ----------
    query_id : str
    purpose : {"shard", "split"}
        Hashes for different purposes are independent.

    Returns
    -------
    int
        In ``[0, 2**64)``.
    """
    digest = hashlib.blake2b(query_id.encode(), digest_size=8, person=f"rankbench-{purpose}".encode())
    return int.from_bytes(digest.digest(), "big")


def shards_of(ids: Sequence[str], shards: int) -> NDArray[np.int64]:
    """Return the shard of each query, in ``[0, shards)``."""
    return np.array([stable_hash(query, "shard") % shards for query in ids], dtype=np.int64)


def design_heldout(ids: Sequence[str], design: int, heldout: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split queries into design queries, which are judged, and held-out queries, for evaluation only.

    Queries are ordered by hash; the first `design` are design, the next `heldout` are
    held out. If there are fewer than ``design + heldout``, half of them are design (one
    more if their number is odd) and the rest held out.

    Parameters
    ----------
    ids : sequence of str
        Distinct ids of the usable queries, in any order: the split does not depend on it.
    design, heldout : int
        At least 1, and at least 0.

    Returns
    -------
    tuple of ndarray of int64
        Indices into `ids`, in the order of the hash.

    Raises
    ------
    InputError
        Fewer than two queries.
    """
    if len(ids) < 2:
        usable = count_text(len(ids), "usable query")
        raise InputError(f"{usable} cannot be split into design and held-out ones; two are needed")
    order = np.array(sorted(range(len(ids)), key=lambda q: (stable_hash(ids[q], "split"), ids[q])), np.int64)
    if len(ids) < design + heldout:
        design = (len(ids) + 1) // 2
        heldout = len(ids) - design
    return order[:design], order[design : design + heldout]
