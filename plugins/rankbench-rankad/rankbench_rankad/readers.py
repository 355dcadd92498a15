"""Readers of tables of points, for ``rankbench data describe`` and ``convert``."""

from __future__ import annotations

import io
from abc import abstractmethod
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

from pydantic import Field

import rankbench
from rankbench.errors import InputError
from rankbench_rankad.items import to_items
from rankbench_rankad.points import Points, read_csv, read_npz, read_parquet

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CsvPoints", "NpzPoints", "ParquetPoints"]


class _PointsReader(rankbench.Reader):
    """Base: a table of points becomes the items of one query."""

    label: str = Field(default="y", description="Column of labels: 1 for an anomaly, 0 for a nominal point.")

    @classmethod
    def example(cls) -> bytes:
        """Return a file of three points, which rankbench's conformance checks read and damage."""
        file = io.BytesIO()
        cls._write(file)
        return file.getvalue()

    @classmethod
    @abstractmethod
    def _write(cls, file: IO[bytes]) -> None: ...

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the points as items of the query ``points``; errors of the content are raised at once."""
        points = self._points(path)
        try:
            return to_items(points.x, points.labels)
        except InputError as error:
            raise InputError(error.message, path=path, row=error.row, column=error.column) from error

    @abstractmethod
    def _points(self, path: Path) -> Points: ...


class NpzPoints(_PointsReader):
    """Points in NumPy's npz: arrays ``X`` and, if there are labels, ``y``; pickles are refused."""

    name: ClassVar[str] = "npz-points"
    source: ClassVar[str] = "numpy.org/doc/stable/reference/generated/numpy.lib.format.html"
    extensions: ClassVar[tuple[str, ...]] = (".npz",)

    def _points(self, path: Path) -> Points:
        return read_npz(path, self.label)

    @classmethod
    def _write(cls, file: IO[bytes]) -> None:
        import numpy as np

        np.savez(file, X=np.array([[1.5, 2.0], [0.25, -1.0], [9.0, 9.0]]), y=np.array([0, 0, 1]))


class CsvPoints(_PointsReader):
    """Points as comma-separated values, a column a feature; named, as ``--reader csv-points``."""

    name: ClassVar[str] = "csv-points"
    source: ClassVar[str] = "RFC 4180"

    def _points(self, path: Path) -> Points:
        return read_csv(path, self.label)

    @classmethod
    def _write(cls, file: IO[bytes]) -> None:
        file.write(b"height,weight,y\n1.5,2,0\n0.25,-1,0\n9,9,1\n")


class ParquetPoints(_PointsReader):
    """Points as Parquet, a column a feature; named, as ``--reader parquet-points``."""

    name: ClassVar[str] = "parquet-points"
    source: ClassVar[str] = "parquet.apache.org"

    def _points(self, path: Path) -> Points:
        return read_parquet(path, self.label)

    @classmethod
    def _write(cls, file: IO[bytes]) -> None:
        import polars as pl

        frame = pl.DataFrame({"height": [1.5, 0.25, 9.0], "weight": [2.0, -1.0, 9.0], "y": [0, 0, 1]})
        frame.write_parquet(file)
