"""A reader is asked for what it declares: one of a plugin does what a built-in one does."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

from rankbench.aggregators.rates import Borda
from rankbench.data.readers.parquet import ParquetReader
from rankbench.interfaces.dataset import Reader
from rankbench.ranking import log_dataset
from rankbench.ranking.load import load_log
from rankbench.ranking.open import open_source

VOTES = {"query_id": ["q", "q", "q"], "winner": ["a", "b", "a"], "loser": ["b", "c", "c"]}


class Columnar(Reader):
    """Parquet under another ending."""

    name: ClassVar[str] = "columnar"
    source: ClassVar[str] = "a test"
    extensions: ClassVar[tuple[str, ...]] = (".votes",)
    parquet: ClassVar[bool] = True

    def scan(self, path: Path) -> pl.LazyFrame:
        return ParquetReader().scan(path)


@pytest.mark.parametrize("declares", [True, False])
def test_a_reader_of_parquet_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declares: bool) -> None:
    path = tmp_path / "log.votes"
    pl.DataFrame(VOTES).write_parquet(path)
    monkeypatch.setattr(Columnar, "parquet", declares)
    monkeypatch.setattr(log_dataset, "choose_reader", lambda path: Columnar())
    source = open_source(path)
    assert (source.parquet is not None) == declares
    assert load_log(source, Borda())[0].items == ["a", "b", "c"]
