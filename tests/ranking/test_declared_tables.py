"""Kinds of tables and readers are asked for what they declare: those of plugins do what the built-in ones do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from data_files import stored

from rankbench.aggregators.rates import Borda
from rankbench.data.readers.parquet import ParquetReader
from rankbench.data.tables.comparisons import ComparisonsCheck, ComparisonTable
from rankbench.data.tables.orders import OrderTable
from rankbench.data.tables.schemas import comparisons_schema
from rankbench.interfaces.dataset import Reader
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import RawTable, TableCheck
from rankbench.protocols import log_votes
from rankbench.ranking import log_dataset
from rankbench.ranking import open as log_source
from rankbench.ranking.lists import Ballots
from rankbench.ranking.load import load_log
from rankbench.ranking.open import LogSource, open_source
from rankbench.ranking.ranked_log import CountedVotes


class Duels(TableKind):
    """Votes with the place where they were cast."""

    name: ClassVar[str] = "duels"
    source: ClassVar[str] = "a test"
    columns: ClassVar[tuple[str, ...]] = ("query_id", "winner", "loser", "arena")
    marks: ClassVar[tuple[str, ...]] = ("arena",)
    judgments: ClassVar[tuple[Any, ...]] = ("comparisons",)
    words: ClassVar[str] = "duels"

    def check(self, raw: RawTable) -> Callable[[], TableCheck]:
        return partial(ComparisonsCheck, raw, comparisons_schema(raw.schema()), None)

    @classmethod
    def example(cls) -> Mapping[str, list[Any]]:
        return {**VOTES, "arena": ["rome"] * 3}


class Lists(OrderTable):
    """Ballots of another name, not of the built-in class's own."""

    name: ClassVar[str] = "lists"


VOTES = {"query_id": ["q", "q", "q"], "winner": ["a", "b", "a"], "loser": ["b", "c", "c"]}


def test_a_row_is_the_first_judgment() -> None:
    assert Duels().row == ComparisonTable().row == "comparisons"
    assert OrderTable().row == "orders"
    assert type("Plain", (Duels,), {"judgments": (), "__doc__": "None.", "__module__": __name__})().row is None


def test_votes_of_another_kind_are_counted_as_votes() -> None:
    source = LogSource("duels", None, Duels(), pl.DataFrame(Duels.example()).lazy())
    log, intervals = load_log(source, Borda(), "bootstrap")
    assert isinstance(log, CountedVotes)
    assert intervals == "bootstrap"
    plain, _ = load_log(LogSource("votes", None, ComparisonTable(), pl.DataFrame(VOTES).lazy()), Borda())
    assert log.scores(Borda()).tolist() == plain.scores(Borda()).tolist()


def test_ballots_of_another_kind_are_loaded_as_ballots() -> None:
    table = pl.DataFrame(OrderTable.example())
    assert isinstance(load_log(LogSource("lists", None, Lists(), table.lazy()), Borda())[0], Ballots)


class _Log:
    """A data set of duels."""

    table = "duels"

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def scan(self) -> pl.LazyFrame:
        return self.frame.lazy()

    def fingerprint(self) -> str:
        return "a" * 64


def test_a_run_loads_votes_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_votes, "table_kind", lambda name: Duels())
    votes = log_votes.votes_of(_Log(pl.DataFrame(Duels.example()))).votes
    assert votes.items == ["a", "b", "c"]
    assert len(votes) == 3


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


def test_only_what_counting_checks_is_counted_unchecked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stored(pl.DataFrame(VOTES), tmp_path / "votes.parquet")
    assert open_source(path).parquet is not None
    monkeypatch.setattr(log_source, "table_of", lambda schema, path=None: Duels())
    assert open_source(path).parquet is None
