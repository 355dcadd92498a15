"""Tables as Parquet: a file, or a folder made by ``data convert``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rankbench.kinds.reader import Reader, existing

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ParquetReader"]


class ParquetReader(Reader):
    """Parquet files, and folders of shards with a ``manifest.json``.

    A folder's shards were checked when they were made and are scanned as they are, so
    that filters and projections reach the files.
    """

    name: ClassVar[str] = "parquet"
    source: ClassVar[str] = "parquet.apache.org"
    extensions: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    parquet: ClassVar[bool] = True

    columns: str = Field(default="", description="What columns of votes mean, as left=model_x,right=model_y.")

    @classmethod
    def example(cls) -> bytes:
        """Return two comparisons."""
        import io

        import polars as pl

        file = io.BytesIO()
        pl.DataFrame({"query_id": ["a", "a"], "winner": ["x", "y"], "loser": ["y", "z"]}).write_parquet(file)
        return file.getvalue()

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether these are Parquet's first bytes, or a folder with a manifest."""
        return head.startswith(b"PAR1") or (path.is_dir() and (path / "manifest.json").is_file())

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the table; see `Reader.scan`."""
        import polars as pl

        from rankbench.data.manifest import Manifest
        from rankbench.data.tables.checks import checked

        if existing(path).is_dir():
            shards = Manifest.load(path).scan(path)
            # Shards that were made before times were typed hold texts.
            return checked(shards, path=path) if shards.collect_schema().get("time") == pl.String else shards
        return checked(pl.scan_parquet(path, glob=False), path=path, columns=self.columns)
