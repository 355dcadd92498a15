"""Tables of points: a row a point, a column a feature, a column of labels perhaps."""

from __future__ import annotations

import csv
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError, nearest
from rankbench.interfaces.dataset import existing
from rankbench_rankad.margins import Floats

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FORMATS", "Points", "read_csv", "read_npz", "read_parquet", "read_points"]

LARGEST = 4 << 30
"""Bytes that an array in an npz file may unpack to."""

DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
"""Errors of `zipfile` for files that are none, are damaged, or are packed in unusual ways."""


@dataclass(frozen=True, eq=False)
class Points:
    """A table of points.

    Attributes
    ----------
    features : tuple of str, length d
    x : ndarray of float64, shape (n, d)
        Finite.
    labels : ndarray of float64, shape (n,), or None
        1 for an anomaly, 0 for a nominal point.
    """

    features: tuple[str, ...]
    x: Floats
    labels: Floats | None


def read_points(path: Path, label: str = "y", ignore: Collection[str] = ()) -> Points:
    """Read a table by the ending of its file: `FORMATS`.

    Parameters
    ----------
    path : Path
    label : str
        Column (or array of an npz file) of labels, which may be missing.
    ignore : collection of str
        Columns that are no features.

    Raises
    ------
    InputError
        With row and column: there is no such file, no reader for its ending, a value that
        is missing or no finite number, a label that is neither 0 nor 1, no rows, no features.
    """
    reader = FORMATS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"tables of points end in {', '.join(FORMATS)}", path=path)
    return reader(path, label, ignore)


def read_npz(path: Path, label: str = "y", ignore: Collection[str] = ()) -> Points:
    """Read arrays ``X``, shape (n, d), and `label`, shape (n,), of an npz file; never a pickle."""
    _file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = set(archive.namelist())
            if "X.npy" not in members:
                here = ", ".join(sorted(name.removesuffix(".npy") for name in members)[:20])
                raise InputError(f"there is no array 'X' in it (arrays here: {here})", path=path)
            x = _array(archive, "X", path)
            y = _array(archive, label, path) if f"{label}.npy" in members else None
    except DAMAGED as error:
        raise InputError(f"not an npz file: {error}", path=path) from error
    if x.ndim != 2:
        raise InputError(f"it must have two dimensions, not shape {x.shape}", path=path, column="X")
    names = tuple(f"x_{i}" for i in range(x.shape[1]))
    _known(ignore, names, path)
    kept = [i for i, name in enumerate(names) if name not in ignore]
    return _checked(path, tuple(names[i] for i in kept), x[:, kept].astype(np.float64), y, label, first=1)


def read_csv(path: Path, label: str = "y", ignore: Collection[str] = ()) -> Points:
    """Read comma- or (``.tsv``) tab-separated values with a header line, which errors count as row 1."""
    import polars as pl

    _file(path)
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file, delimiter=separator), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"not a table of text: {error}", path=path) from error
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"the header names {twice[0]!r} twice; rename one", path=path, row=1)
    return _from_frame(
        lambda: pl.read_csv(path, separator=separator, infer_schema=False, glob=False), path, label, ignore, first=2
    )


def read_parquet(path: Path, label: str = "y", ignore: Collection[str] = ()) -> Points:
    """Read a Parquet file."""
    import polars as pl

    _file(path)
    return _from_frame(lambda: pl.read_parquet(path, glob=False), path, label, ignore, first=1)


FORMATS: dict[str, Callable[[Path, str, Collection[str]], Points]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".npz": read_npz,
}
"""Readers by the ending of a file."""


def _file(path: Path) -> None:
    if existing(path).is_dir():
        raise InputError("it is a folder; name a file in it", path=path)


def _array(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any]:
    """Read one array after its header was found to be harmless and to match its size."""
    from numpy.lib import format as npy

    info = archive.getinfo(f"{name}.npy")
    try:
        with archive.open(info) as member:
            version = npy.read_magic(member)
            header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = header(member)
            start = member.tell()
        if dtype.kind not in "iufb":
            raise InputError(f"it must hold numbers, not {dtype}", path=path, column=name)
        size = dtype.itemsize
        for length in shape:
            size *= int(length)
        if size > LARGEST:
            raise InputError(f"it unpacks to {size:,} bytes; {LARGEST:,} are the most", path=path, column=name)
        if size != info.file_size - start:
            raise InputError("its header does not match its size: the file is damaged", path=path, column=name)
        with archive.open(info) as member:
            return np.asarray(npy.read_array(member, allow_pickle=False))
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"not an array: {error}", path=path, column=name) from error


def _from_frame(
    read: Callable[[], pl.DataFrame], path: Path, label: str, ignore: Collection[str], first: int
) -> Points:
    import polars as pl

    try:
        frame = read()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # it panics over damaged Parquet
        raise InputError(str(error).strip().split("\n", 1)[0][:400], path=path) from error
    _known(ignore, frame.columns, path)
    names = tuple(name for name in frame.columns if name != label and name not in ignore)
    columns = [_numbers(frame[name], path, first) for name in names]
    x = np.column_stack(columns) if columns else np.empty((frame.height, 0))
    labels = _numbers(frame[label], path, first) if label in frame.columns else None
    return _checked(path, names, x, labels, label, first)


def _numbers(column: pl.Series, path: Path, first: int) -> Floats:
    import polars as pl

    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Boolean)):
        raise InputError(f"it holds {column.dtype}, not numbers; leave it out", path=path, column=column.name)
    text = column.dtype == pl.String
    numbers = (column.str.strip_chars() if text else column).cast(pl.Float64, strict=False)
    wrong = numbers.is_null().arg_true()
    if len(wrong):
        value = column[int(wrong[0])]
        found = "the value is missing" if value in (None, "") else f"{str(value)[:40]!r} is not a number"
        raise InputError(found, path=path, row=int(wrong[0]) + first, column=column.name)
    return numbers.to_numpy().astype(np.float64)


def _known(ignore: Collection[str], names: Collection[str], path: Path) -> None:
    for name in ignore:
        if name not in names:
            raise InputError(f"there is no column {name!r} to ignore{nearest(name, names)}", path=path)


def _checked(
    path: Path, names: tuple[str, ...], x: Floats, labels: NDArray[Any] | None, label: str, first: int
) -> Points:
    if not len(x):
        raise InputError("the table has no rows", path=path)
    if not names:
        raise InputError("the table has no features", path=path)
    wrong = np.argwhere(~np.isfinite(x))
    if len(wrong):
        row, column = (int(i) for i in wrong[0])
        raise InputError("not a finite number", path=path, row=row + first, column=names[column])
    if labels is not None:
        if labels.shape != (len(x),):
            raise InputError(f"it has shape {labels.shape}, the table {len(x)} rows", path=path, column=label)
        odd = np.flatnonzero((labels != 0) & (labels != 1))
        if len(odd):
            raise InputError(
                "a label must be 0 (nominal) or 1 (anomaly)", path=path, row=int(odd[0]) + first, column=label
            )
        labels = labels.astype(np.float64)
    return Points(names, x, labels)
