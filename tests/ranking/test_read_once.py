"""A log is read once by the reader that its file declares, and its first thousand rows tell how names are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from polars.io.plugins import register_io_source
from ranked_logs import named, two_items

import rankbench
from rankbench.aggregators.rates import Borda
from rankbench.data.readers.parquet import ParquetReader
from rankbench.interfaces.dataset import Reader
from rankbench.ranking import aggregate as engine
from rankbench.ranking import log_dataset
from rankbench.ranking import suspicions as findings
from rankbench.ranking.load import load_log
from rankbench.ranking.open import open_source

N = 3000


class Passes:
    """A log that is a lazy frame, and how often and how far it was read."""

    def __init__(self, votes: pl.DataFrame) -> None:
        self.votes, self.rows = votes, list[int]()

    def frame(self) -> pl.LazyFrame:
        def batches(
            columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
        ) -> Iterator[pl.DataFrame]:
            self.rows.append(0)
            votes = self.votes if n_rows is None else self.votes.head(n_rows)
            for rows in votes.iter_slices(700):
                self.rows[-1] += rows.height
                chosen = rows if columns is None else rows.select(columns)
                yield chosen if predicate is None else chosen.filter(predicate)

        return register_io_source(batches, schema=self.votes.schema)


def votes(integers: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    a, b = two_items(rng, N, 6)
    # The left wins too often, judges vote on the same again, and item 0 looks like the letter o.
    tie, judge, first = rng.random(N) < 0.2, rng.integers(40, size=N).astype(str), rng.random(N) < 0.7
    frame = named(a, b, tie=tie, judge=judge, first=first)
    return frame.with_columns(winner=a, loser=b) if integers else frame


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("intervals", [None, "auto", "bootstrap", "judges", "sandwich"])
@pytest.mark.parametrize("method", ["bradley-terry", "win-rate", "elo"])
def test_a_log_is_read_once(method: str, intervals: str | None, missing: bool) -> None:
    if (intervals == "sandwich" and method != "bradley-terry") or (intervals == "judges" and missing):
        return
    frame = votes()
    if missing:
        frame = frame.with_columns(judge=pl.when(pl.int_range(pl.len()) != 2000).then("judge"))
    log = Passes(frame)
    found = rankbench.aggregate(log.frame(), method, intervals=intervals, replicates=3)
    assert [rows for rows in log.rows if rows > 1000] == [N]
    assert any("left wins" in note for note in found.notes)
    assert any("votes cast again" in note for note in found.notes)


@pytest.mark.parametrize("method", ["bradley-terry", "elo"])
@pytest.mark.parametrize("intervals", [None, "auto"])
def test_what_is_found_is_what_the_log_itself_says(
    method: str, intervals: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first 2000 votes, whose names were numbers on the way."""
    for module in (findings, engine):
        monkeypatch.setattr(module, "LOOKED_AT", 2000)
    frame = votes()
    expected = findings.suspicious_votes(frame.lazy()).notes()
    assert len(expected) == 2
    found = rankbench.aggregate(frame, method, intervals=intervals, replicates=3)
    assert [note for note in found.notes if "of the first 2,000 votes" in note] == expected


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
