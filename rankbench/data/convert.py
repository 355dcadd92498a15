"""The converter streams a file of any size to a folder of Parquet shards, whole or not at all.

Queries go to shards by a stable hash, so a query is never split and the same queries land
together with the file's other columns. Batches are spooled to small files while the source
is read once, then joined, one shard after the other.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from rankbench.core.text import listed
from rankbench.data.readers.choose import choose_reader, is_pattern, part_files
from rankbench.data.readers.parquet import MANIFEST, Manifest, Shard, ShardedFile, shards_of
from rankbench.data.tables.checks import checked_table, table_of
from rankbench.errors import InputError, option
from rankbench.interfaces.dataset import Reader

READING = "rankbench.reading"
"""Key of a shard's metadata for the reading by which it was made, in TOML."""

_SPOOL_BYTES = 96 << 20
_ROW_GROUP_VALUES = 4 << 20


def convert(
    source: Path,
    destination: Path,
    *,
    shards: int = 16,
    force: bool = False,
    reader: Reader | None = None,
    told: str = "",
    progress: Callable[[int], None] | None = None,
) -> Manifest:
    """Convert a file to a folder of shards with a manifest.

    Memory stays below about 1 GB for items of any number of rows; the judgments of one
    shard are sorted by query in memory, so take more shards for a larger log.

    Parameters
    ----------
    source : Path
        Any file that a reader knows, or a folder of files, or a pattern.
    destination : Path
        The folder to make. It appears whole, at the end.
    shards : int
    force : bool
        Replace `destination` if it is a folder of shards already.
    reader : Reader, optional
        Chosen by ending or content by default.
    told : str
        Meanings of columns: see `rankbench.interfaces.reading.Reading.text`. The shards hold the reading.
    progress : callable, optional
        Called with the number of rows read so far.

    Raises
    ------
    InputError
        The source cannot be read (file, row, column), the destination is there already,
        is not a folder of shards and of nothing else, or cannot be written.
    """
    reader = choose_reader(source) if reader is None else reader
    if shards < 1:
        raise InputError(f"the number of shards must be positive, not {shards}")
    if not destination.parent.is_dir():
        raise InputError("there is no such folder to write into", path=destination.parent)
    _put_back(destination)
    _replaceable(source, destination, force)
    with _writing(destination):
        beside = TemporaryDirectory(prefix=f".{destination.name}.", dir=destination.parent, ignore_cleanup_errors=True)
    with beside:
        work = Path(beside.name)
        with _writing(destination):
            spool = _Spool(work / "spool", shards)
        table = checked_table(reader.raw(source), told)
        streamed = table.frame.collect_batches(maintain_order=True, engine="streaming")
        for frame in reader.batches(source) if table.reading is None else streamed:
            with _writing(destination):
                spool.add(frame)
            if progress is not None:
                progress(spool.rows)
        if spool.schema is None:
            raise InputError("the file has no rows", path=source)
        whole = work / "whole"
        with _writing(destination):
            spool.flush()
            whole.mkdir()
            reading = "" if table.reading is None else table.reading.to_toml()
            made = tuple(_join(spool, shard, whole, reading) for shard in range(shards))
        manifest = _manifest(source, reader, spool.schema, made).model_copy(
            update={"reading": " ".join(table.notes[:1])}
        )
        with _writing(destination):
            manifest.save(whole)
            # Once more: others may have written there meanwhile.
            _replaceable(source, destination, force)
            _rename(whole, destination)
    return manifest


def _put_back(destination: Path) -> None:
    """Put back, or remove, a folder that was about to be replaced when the process that did it was killed."""
    old = _out_of_the_way(destination)
    with _writing(destination):
        if destination.exists():
            shutil.rmtree(old, ignore_errors=True)
        elif old.exists():
            old.rename(destination)


def _out_of_the_way(destination: Path) -> Path:
    """Return the path of a folder while another one replaces it."""
    return destination.with_name(f".{destination.name}.replaced")


@contextmanager
def _writing(destination: Path) -> Iterator[None]:
    """Add the destination to errors of writing, as on a full disk."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        # Not the text of all, which has a temporary name.
        said = str(error).strip().split("\n", 1)[0].split(" (os error", 1)[0][:200]
        reason = (isinstance(error, OSError) and error.strerror) or said
        raise InputError(
            f"it cannot be written ({reason}); is there space and permission?", path=destination
        ) from error


def _replaceable(source: Path, destination: Path, force: bool) -> None:
    if not destination.exists():
        return
    if not force:
        raise InputError(f"it exists already; use {option('force')} to replace it", path=destination)
    if destination.is_symlink() or not destination.is_dir():
        raise InputError("it is not a folder of shards, so it is not replaced", path=destination)
    if destination.resolve() in source.resolve().parents:
        raise InputError(f"the source {source.name} is in it, so it is not replaced", path=destination)
    if not (found := {entry.name for entry in destination.iterdir()}):
        return
    # Never delete foreign files: load raises unless a manifest describes the folder.
    ours = {MANIFEST, *(shard.file for shard in Manifest.load(destination).shards)}
    if found - ours:
        raise InputError(
            f"it holds other files too: {listed(sorted(found - ours))}; move them away, or name another folder",
            path=destination,
        )


def _rename(whole: Path, destination: Path) -> None:
    """Put the finished folder in place; an old one is moved out of the way first."""
    old = _out_of_the_way(destination)
    if destination.exists():
        destination.rename(old)
    try:
        whole.rename(destination)
    except OSError:
        if old.exists():
            old.rename(destination)
        raise
    shutil.rmtree(old, ignore_errors=True)


class _Spool:
    """Rows on their way to shards: in memory up to a bound, then in numbered files."""

    def __init__(self, folder: Path, shards: int) -> None:
        self.folder, self.shards = folder, shards
        self.schema: pl.Schema | None = None
        self.rows, self.held = 0, 0
        self.waiting: list[list[pl.DataFrame]] = [[] for _ in range(shards)]
        self.files: list[list[Path]] = [[] for _ in range(shards)]
        folder.mkdir()

    def add(self, frame: pl.DataFrame) -> None:
        self.schema = frame.schema
        self.rows += frame.height
        ids = frame["query_id"].unique(maintain_order=True)
        home = pl.Series(shards_of(ids.to_list(), self.shards), dtype=pl.UInt32)
        shard = frame["query_id"].replace_strict(ids, home)
        for (number,), part in (
            frame.with_columns(shard.alias("_shard"))
            .partition_by("_shard", as_dict=True, maintain_order=True, include_key=False)
            .items()
        ):
            self.waiting[int(str(number))].append(part)
        self.held += int(frame.estimated_size())
        if self.held > _SPOOL_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the rows held in memory."""
        for shard, frames in enumerate(self.waiting):
            if frames:
                path = self.folder / f"{shard:05}-{len(self.files[shard]):06}.parquet"
                pl.concat(frames).write_parquet(path, compression="lz4", statistics=False)
                self.files[shard].append(path)
                frames.clear()
        self.held = 0


def _join(spool: _Spool, shard: int, folder: Path, reading: str) -> Shard:
    """Write one shard's file, which holds the reading, and return its entry; its spool files are removed."""
    held = {READING: reading} if reading else None
    schema = spool.schema or pl.Schema()
    x = schema.get("x")
    path = folder / f"shard-{shard:05}.parquet"
    if not (files := spool.files[shard]):
        pl.DataFrame(schema=schema).write_parquet(path, metadata=held)
        return Shard(file=path.name, rows=0, queries=0)
    rows = pl.scan_parquet(files, glob=False)
    if not table_of(schema).together:
        rows = rows.sort("query_id", maintain_order=True)
    width = x.size if isinstance(x, pl.Array) else len(schema)
    size = max(1024, _ROW_GROUP_VALUES // width)
    rows.sink_parquet(path, row_group_size=size, maintain_order=True, metadata=held)
    for file in files:
        file.unlink()
    counts = (
        pl.scan_parquet(path, glob=False).select(rows=pl.len(), queries=pl.col("query_id").n_unique()).collect().row(0)
    )
    return Shard(file=path.name, rows=counts[0], queries=counts[1])


def _manifest(source: Path, reader: Reader, schema: pl.Schema, shards: tuple[Shard, ...]) -> Manifest:
    dtype = schema.get("x")
    whole = (source / MANIFEST).is_file()
    files = part_files(source) if (source.is_dir() and not whole) or is_pattern(source) else [source]
    return Manifest(
        table=table_of(schema).name,
        columns={name: str(kind) for name, kind in schema.items()},
        d=dtype.size if isinstance(dtype, pl.Array) else None,
        rows=sum(shard.rows for shard in shards),
        queries=sum(shard.queries for shard in shards),
        shards=shards,
        source=ShardedFile(
            name=source.name,
            bytes=sum(file.stat().st_size for file in files),
            sha256=Manifest.load(source).source.sha256 if whole else sha256_of(*files),
            reader=str(reader),
        ),
    )


def sha256_of(*paths: Path) -> str:
    """Return the sha256 of the bytes of a file, or of files one after the other, in hexadecimal."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()
