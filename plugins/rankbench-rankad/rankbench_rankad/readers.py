"""Readers of tables of points, for ``rankbench data describe`` and ``convert``."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

import rankbench
from rankbench_rankad.items import to_items
from rankbench_rankad.points import Points, read_csv, read_npz, read_parquet

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CsvPoints", "NpzPoints", "ParquetPoints"]


class _PointsReader(rankbench.Reader):
    """Base: a table of points becomes the items of one query."""

    label: str = Field(default="y", description="Column of labels: 1 for an anomaly, 0 for a nominal point.")

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the points as items of the query ``points``; errors of the content are raised at once."""
        points = self._points(path)
        return to_items(points.x, points.labels)

    @abstractmethod
    def _points(self, path: Path) -> Points: ...


class NpzPoints(_PointsReader):
    """Points in NumPy's npz: arrays ``X`` and, if there are labels, ``y``; pickles are refused."""

    name: ClassVar[str] = "npz-points"
    source: ClassVar[str] = "numpy.org/doc/stable/reference/generated/numpy.lib.format.html"
    extensions: ClassVar[tuple[str, ...]] = (".npz",)

    def _points(self, path: Path) -> Points:
        return read_npz(path, self.label)


class CsvPoints(_PointsReader):
    """Points as comma-separated values, a column a feature; named, as ``--reader csv-points``."""

    name: ClassVar[str] = "csv-points"
    source: ClassVar[str] = "RFC 4180"

    def _points(self, path: Path) -> Points:
        return read_csv(path, self.label)


class ParquetPoints(_PointsReader):
    """Points as Parquet, a column a feature; named, as ``--reader parquet-points``."""

    name: ClassVar[str] = "parquet-points"
    source: ClassVar[str] = "parquet.apache.org"

    def _points(self, path: Path) -> Points:
        return read_parquet(path, self.label)
