"""The choice of a reader follows a file's ending, its content, or a folder's parts."""

from __future__ import annotations

import glob
import hashlib
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Annotated, ClassVar

import polars as pl
from pydantic import Field

from rankbench.core.text import listed, numbered
from rankbench.data.readers.frame_source import readable
from rankbench.data.readers.json import nested_rows
from rankbench.data.readers.parquet_footer import check_row_groups
from rankbench.data.readers.unpacked import head, unpacked_name
from rankbench.data.tables.checks import TableReader, checked_table, recognized, table_of
from rankbench.data.tables.schemas import features
from rankbench.errors import InputError, Warned, option
from rankbench.interfaces.dataset import Reader, existing
from rankbench.interfaces.table_check import RawTable
from rankbench.plugin.manager import component_class, names, reference


def registered_readers() -> list[type[Reader]]:
    """Return the classes of all readers, plugins' too."""
    return [component_class(Reader, name) for name in names("reader")]


_PARQUET = (".parquet", ".pq")
_MARKS = "*?["
_FOLD = re.compile(r"(?i)(fold|cv)[ _-]?\d+\Z")


class PartsReader(TableReader):
    """All files of a folder, or that a pattern means, one after the other; of one format, which decides the reader.

    Files are taken in the order of the numbers in their names. Left out are those that begin with ``_`` or ``.``,
    also in such folders, and what no reader knows by its ending. Folders called ``key=value`` (Hive) make a column.
    Queries of items are called by their file too, since files may number them from 1 each.

    Prefer it for a log in several files: rankbench chooses it for folders and patterns.

    Examples
    --------
    ``rankbench aggregate 'votes-*.csv'`` reads all files of the pattern, and ``rankbench aggregate votes/`` those
    of the folder.
    """

    name: ClassVar[str] = "parts"
    source: ClassVar[str] = "spark.apache.org, docs.dask.org, docs.pola.rs"
    parquet: ClassVar[bool] = True

    each: Annotated[Reader | None, reference(Reader)] = Field(
        default=None, description="Reader of each file; null: by its ending."
    )

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether it is a folder with files that a reader knows by their endings."""
        return path.is_dir() and bool(_by_reader(path))

    def raw(self, path: Path) -> RawTable:
        """Return the table; see `Reader.raw`. Columns that a part lacks are empty there."""
        files = part_files(path)
        if self.each is None and files[0].name.lower().endswith(_PARQUET):
            parts = [RawTable(pl.scan_parquet(file, glob=False), file) for file in files]
            return RawTable(scan_parts(path), path, locate=lambda row: _located(parts, row), notes=_notes(parts))
        ((cls, _),) = _by_reader(path).items()
        reader = self.each or cls()
        parts = [reader.raw(file) for file in files]
        if parts[0].refusal is not None and parts[0].headed is None:
            return RawTable(
                pl.LazyFrame(), path, nested=nested_rows(files), refusal=parts[0].refusal, notes=_notes(parts)
            )
        usual = recognized(parts[0].schema.names())
        if parts[0].in_schema or (usual is not None and usual.together):
            return RawTable(_of_parts(reader, parts, files, path), path, in_schema=True, notes=_notes(parts))
        joined = _joined(parts, path)
        return replace(joined, nested=nested_rows(files)) if parts[0].nested is not None else joined


def is_pattern(path: Path) -> bool:
    """Return whether a path is no file or folder, but means some by ``*``, ``?`` or ``[...]``."""
    return any(mark in str(path) for mark in _MARKS) and not path.exists() and bool(_files(path))


def part_files(path: Path) -> list[Path]:
    """Return the files of a folder, or that a pattern means, of one format; by the numbers in their names.

    Raises
    ------
    InputError
        There are none, or they are of several formats.
    """
    if not (found := _by_reader(path)):
        raise InputError("it holds no file that a reader knows by its ending", path=path)
    if len(found) > 1:
        names = [files[0].name for files in found.values()]
        # With the extension of its compression.
        ending = "".join(Path(names[0]).suffixes[-2 if unpacked_name(Path(names[0])) != names[0] else -1 :])
        raise InputError(
            f"it holds files of several formats: {listed(names)}; give those that are meant, as "
            f"'{path if path.is_dir() else path.parent}/*{ending}'",
            path=path,
        )
    return next(iter(found.values()))


def part_names(files: Sequence[Path], path: Path) -> list[str]:
    """Return a distinct name for each file of a data set, as short as possible.

    Parameters
    ----------
    files : sequence of path
    path : path
        The folder, or the pattern, that they are of.

    Raises
    ------
    InputError
        They are the folds of a cross-validation, which hold the same queries over and over.
    """
    root = path if path.is_dir() else _fixed(path)
    within = [file.relative_to(root) for file in files]
    folds: dict[Path, Path] = {}
    for inner, file in zip(within, files, strict=True):
        if _FOLD.match(inner.parent.name):
            folds.setdefault(inner.parent, file)
    if len(folds) > 1:
        first, second = list(folds.values())[:2]
        again = next((file for file in files if file.parent == second.parent and file.name == first.name), second)
        raise InputError(
            f"{first} and {again} are of two folds of a cross-validation, which hold the same queries in other roles; "
            f"give one fold: {shlex.quote(str(first.parent))}",
            path=path,
        )
    whole = [str(inner.with_name(inner.name.split(".", 1)[0] or inner.name)) for inner in within]
    for called in ([Path(name).name for name in whole], [file.name for file in files], whole):
        if len(set(called)) == len(files):
            return called
    return [str(inner) for inner in within]


def _joined(parts: Sequence[RawTable], path: Path) -> RawTable:
    """Return tables with columns of any names, one after the other."""
    schemas = [part.schema for part in parts]
    every = dict.fromkeys(name for schema in schemas for name in schema)
    lacking = {name: part.path for part, own in zip(parts, schemas, strict=True) for name in every if name not in own}

    def diagnose() -> None:
        for part in parts:
            if part.diagnose is not None:
                part.diagnose()

    def headed(lines: int) -> RawTable:
        return _joined([part if part.headed is None else part.headed(lines) for part in parts], path)

    frame = pl.concat([part.frame for part in parts], how="diagonal_relaxed")
    return RawTable(
        frame,
        path,
        diagnose=diagnose,
        locate=lambda row: _located(parts, row),
        headed=None if parts[0].headed is None else headed,
        refusal=next((part.refusal for part in parts if part.refusal is not None), None),
        lacking=lacking,
        notes=_notes(parts),
    )


def _notes(parts: Sequence[RawTable]) -> tuple[str, ...]:
    """Return the notes on all parts, and a warning of a file that is a copy of another one."""
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    by_size = defaultdict[int, list[Path]](list)
    for part in parts:
        if part.path is not None:
            by_size[part.path.stat().st_size].append(part.path)
    known = dict[bytes, Path]()
    for path in (path for alike in by_size.values() if len(alike) > 1 for path in alike):
        with path.open("rb") as file:
            first = known.setdefault(hashlib.file_digest(file, "sha256").digest(), path)
        if first != path:
            said = f"{path.name} is a copy of {first.name}, and its rows count again"
            return *notes, Warned(said, str(path.parent / "PATTERN"), "reads the files that are meant")
    return notes


def _of_parts(reader: Reader, parts: Sequence[RawTable], files: Sequence[Path], path: Path) -> pl.LazyFrame:
    """Return tables of columns with fixed names, one after the other; queries of items are called by their file."""
    tables = [checked_table(part).frame for part in parts]
    kinds = [table_of(table.collect_schema(), file) for table, file in zip(tables, files, strict=True)]
    if kinds[0].features and "d" in reader.parameters():
        tables = _as_wide(reader, files, tables)
    if any(kind.together for kind in kinds):
        names = part_names(files, path)
        tables = [
            kind.part(table, name) if kind.together else table
            for kind, table, name in zip(kinds, tables, names, strict=True)
        ]
    return pl.concat(tables, how="diagonal_relaxed")


def _as_wide(reader: Reader, files: Sequence[Path], tables: list[pl.LazyFrame]) -> list[pl.LazyFrame]:
    """Return tables padded to the most features of all: features that a file never mentions are zero."""
    d = [features(table.collect_schema()) for table in tables]
    wide = reader.model_copy(update={"d": max(d)})
    return [table if own == max(d) else wide.scan(file) for table, file, own in zip(tables, files, d, strict=True)]


def scan_parts(path: Path) -> pl.LazyFrame:
    """Return the rows of Parquet files, one file after the other, with the columns that Hive's folders make."""
    files = part_files(path)
    for file in files:
        with readable(file):
            check_row_groups(file)
    keys = partition_keys(path)
    frame = pl.scan_parquet(files, glob=False, hive_partitioning=bool(keys), try_parse_hive_dates=False)
    if not keys:
        return frame
    # Folders above the one that was given may be called so, too.
    own = pl.scan_parquet(files[0], glob=False, hive_partitioning=False).collect_schema().names()
    return frame.select(name for name in frame.collect_schema().names() if name in own or name in keys)


def partition_keys(path: Path) -> set[str]:
    """Return the names of the columns that folders called ``key=value`` make."""
    root = path if path.is_dir() else _fixed(path)
    folders = {part for file in part_files(path) for part in file.relative_to(root).parts[:-1]}
    return {part.partition("=")[0] for part in folders if "=" in part[1:]}


def _fixed(pattern: Path) -> Path:
    """Return a pattern's leading folder, without wildcards."""
    root = Path(pattern.anchor)
    for part in pattern.relative_to(pattern.anchor).parts:
        if any(mark in part for mark in _MARKS):
            break
        root /= part
    return root


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = (file for file in path.rglob("*") if not any(p[0] in "._" for p in file.relative_to(path).parts))
    else:
        found = (Path(name) for name in glob.iglob(str(path), recursive=True))
    files = [file for file in found if file.is_file() and file.stat().st_size]
    return sorted(files, key=lambda file: [numbered(part) for part in file.parts])


def _by_reader(path: Path) -> dict[type[Reader], list[Path]]:
    """Return the files by the reader of their extension; if Parquet is among them, Parquet alone."""
    readers = [cls for cls in registered_readers() if cls.extensions]
    found = defaultdict(list)
    for file in _files(path):
        name = unpacked_name(file).lower()
        if (cls := next((cls for cls in readers if name.endswith(cls.extensions)), None)) is not None:
            found[cls].append(file)
    return {cls: files for cls, files in found.items() if cls.parquet} or dict(found)


def _located(parts: Sequence[RawTable], row: int) -> tuple[Path | str | None, int | None]:
    """Return the file that holds a row of the whole table, and the row's number in it; rows count from 1."""
    rows = [part.frame.select(pl.len()).collect(engine="streaming").item() for part in parts]
    ends = list(accumulate(rows))
    at = next((at for at, end in enumerate(ends) if row <= end), len(parts) - 1)
    return parts[at].place(row - (ends[at] - rows[at]))


_HEAD = 65_536

_SHARED = (".txt", ".dat", ".csv")
"""Endings that files of many formats have: the first bytes count more."""


def choose_reader(path: Path, readers: Iterable[type[Reader]] | None = None) -> Reader:
    """Return the reader for a file: by its ending, else by its first bytes.

    Parameters
    ----------
    path : Path
        A file, a folder made by ``rankbench data convert``, a folder of parts, or a pattern.
    readers : iterable of Reader classes, optional
        All that are registered by default.

    Raises
    ------
    InputError
        The file is missing, or no reader knows it.
    """
    classes = list(registered_readers() if readers is None else readers)
    if is_pattern(path):
        return PartsReader()
    existing(path)
    if path.is_dir():
        by_content = [cls for cls in classes if cls.sniff(path, b"")]
    else:
        name = unpacked_name(path).lower()
        by_name = [cls for cls in classes if name.endswith(cls.extensions)]
        if by_name and not name.endswith(_SHARED):
            return by_name[0]()
        first = head(path, _HEAD)
        if by_name and by_name[0].sniff(path, first):
            return by_name[0]()
        by_content = [cls for cls in classes if cls.sniff(path, first)]
        # Nothing without a colon is LETOR, whose errors would name a wrong cause.
        if by_name and not by_content and (name.endswith(".csv") or b":" in first):
            return by_name[0]()
    if by_content:
        return by_content[0]()
    known = ", ".join(sorted(cls.name for cls in classes))
    if path.is_dir():
        raise InputError(f"no reader knows this folder; readers: {known}", path=path)
    raise InputError(
        f"no reader knows this format; readers: {known}. {option('reader', 'csv')} reads a table with commas, "
        "semicolons, tabs or bars between its columns, but none with spaces (in R: write.csv(x, FILE, row.names = "
        "FALSE)). Remove the line of dashes of a Markdown table, and the bars at both ends of lines",
        path=path,
    )
