"""The manifest of a folder of shards: what is in it and what it was made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field, ValidationError

from rankbench.errors import InputError
from rankbench.typed import Typed

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MANIFEST", "Manifest", "Shard", "ShardedFile"]

MANIFEST = "manifest.json"


class _Strict(Typed):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Shard(_Strict):
    """One Parquet file of the folder."""

    file: str = Field(pattern=r"^shard-\d{5}\.parquet$")
    rows: int = Field(ge=0)
    queries: int = Field(ge=0)


class ShardedFile(_Strict):
    """The file that the shards were made from."""

    name: str
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    reader: str


class Manifest(_Strict):
    """What ``rankbench data convert`` wrote.

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
        Queries by `rankbench.data.shards.shard_of`.
    source : Source
    """

    format: Literal["rankbench-shards/1"] = "rankbench-shards/1"
    table: str = Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
    columns: dict[str, str]
    d: int | None = None
    rows: int = Field(ge=0)
    queries: int = Field(ge=0)
    shards: tuple[Shard, ...] = Field(min_length=1)
    source: ShardedFile

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
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InputError(f"not a manifest of shards: {first['msg']}", path=path, column=where or None) from error
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
        import polars as pl
        from polars.io.plugins import register_io_source

        from rankbench.data.readers.frame_source import pushed_source
        from rankbench.kinds.table_check import UNREADABLE

        for shard in self.shards:
            path = folder / shard.file
            try:
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
        schema = pl.scan_parquet(full[0], glob=False).collect_schema()
        return register_io_source(pushed_source(full), schema=schema)
