"""Tables in memory are logs as files are: of pandas, Arrow, lists and dicts; and rankings by a column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankbench
from rankbench.errors import InputError, SpecError

ROWS = [
    {"model_a": "x", "model_b": "y", "winner": "model_a", "turn": 1, "language": "en"},
    {"model_a": "y", "model_b": "z", "winner": "model_b", "turn": 1, "language": "en"},
    {"model_a": "x", "model_b": "z", "winner": "tie", "turn": 2, "language": "de"},
    {"model_a": "z", "model_b": "x", "winner": "model_b", "turn": 2, "language": "de"},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}


class Arrow:
    """A table that says what it holds by Arrow's interface alone, as those of PyArrow and DuckDB do."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


TABLES = {
    "a list of dicts": lambda: ROWS,
    "a dict of lists": lambda: COLUMNS,
    "Arrow": lambda: Arrow(pl.DataFrame(ROWS)),
    "polars": lambda: pl.DataFrame(ROWS),
}


@pytest.mark.parametrize("kind", TABLES)
def test_they_are_ranked_as_their_file_is(tmp_path: Path, kind: str) -> None:
    table = TABLES[kind]()
    pl.DataFrame(ROWS).write_csv(tmp_path / "votes.csv")
    expected = rankbench.aggregate(tmp_path / "votes.csv").table
    assert rankbench.aggregate(table).table.equals(expected)
    assert rankbench.scan(table).collect()["winner"].to_list() == ["x", "z", "x", "x"]


def test_score_tables_in_memory_are_ranked() -> None:
    rows = [{"system": s, "task": f"t{t}", "score": 10 * t + len(s)} for s in ("a", "bb", "ccc") for t in range(12)]
    table = rankbench.rank(rows, replicates=50).table
    assert table.filter(pl.col("method") == "mean-score")["system"].to_list() == ["ccc", "bb", "a"]


@pytest.mark.parametrize(
    ("table", "error", "said"),
    [
        ([{"winner": "a", "loser": "b"}, {"winner": "a"}], InputError, r"row 2 \[loser\]: the value is missing"),
        ({"winner": ["a"], "loser": ["b", "c"]}, InputError, "the table cannot be read"),
        ([("a", "b")], SpecError, "a list is a log if its entries are dicts"),
        (3, SpecError, "a int is no log"),
        ([], InputError, "there are no columns: the table is empty"),
    ],
)
def test_what_is_no_log_is_said(table: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        rankbench.aggregate(table)


def test_rankings_are_made_by_any_column() -> None:
    found = rankbench.aggregate(ROWS, "win-rate", by="language").table
    for language in ("en", "de"):
        alone = rankbench.aggregate([row for row in ROWS if row["language"] == language], "win-rate").table
        part = found.filter(pl.col("query") == language).drop("query")
        assert part.equals(alone)
    assert found["query"].unique().sort().to_list() == ["de", "en"]
    with pytest.raises(InputError, match="there is no column 'lang' for the query; did you mean 'language'"):
        rankbench.aggregate(ROWS, by="lang")


def test_clicks_are_ranked_by_any_column_too() -> None:
    clicks = [
        {"session": f"s{i}", "position": at, "doc": doc, "clicked": int(at == 1 + i % 2), "device": "ab"[i % 2]}
        for i in range(8)
        for at, doc in enumerate("xy", 1)
    ]
    found = rankbench.aggregate(clicks, by="device").table
    for device in "ab":
        alone = rankbench.aggregate([row for row in clicks if row["device"] == device]).table
        assert found.filter(pl.col("query") == device).drop("query").equals(alone)
