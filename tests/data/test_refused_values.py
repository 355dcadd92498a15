"""Values that readers once took for something else: days for weights, nothing for a name, one key for two."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from pathlib import Path

import polars as pl
import pytest
from amounts import examples
from data_files import stored, written
from hypothesis import given
from hypothesis import strategies as st

from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.csv import CsvReader
from rankbench.data.tables.checks import validate
from rankbench.errors import InputError
from rankbench.ranking.aggregate import aggregate
from rankbench.ranking.count_log import count_log

NO_NUMBERS = [date(2024, 1, 1), datetime(2024, 1, 1), timedelta(1), time(1), True]
VOTE = {"query_id": ["q", "q"], "winner": ["a", "b"], "loser": ["b", "a"]}


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_weights_are_numbers(tmp_path: Path, value: object) -> None:
    votes = pl.DataFrame(VOTE | {"weight": [value, value]})
    with pytest.raises(InputError, match=r"\[weight\]: the column holds .*, not numbers"):
        validate("comparisons", votes.lazy())
    votes.write_parquet(tmp_path / "votes.parquet")
    with pytest.raises(InputError, match=r"votes\.parquet:1 \[weight\]: the column holds .*, not numbers"):
        aggregate(tmp_path / "votes.parquet", "borda")
    with pytest.raises(InputError, match="weights must be numbers"):
        count_log(votes)
    ballots = pl.LazyFrame({"query_id": ["q"], "ranking": [["a", "b"]], "weight": [value]})
    with pytest.raises(InputError, match=r"\[weight\]: the column holds"):
        validate("orders", ballots)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_labels_features_and_positions_are_no_days_and_positions_no_truth_values(value: object) -> None:
    items = {"query_id": ["q", "q"], "label": [1.0, 2.0], "x_0": [0.0, 1.0]}
    for column in ("label", "x_0") if value is not True else ():
        with pytest.raises(InputError, match=rf"\[{column}\]: the column holds .*, not numbers"):
            validate("items", pl.LazyFrame(items | {column: [value, value]}))
    session = {"query_id": ["q"], "session_id": ["s"], "shown": [["a", "b"]], "clicked": [[1]]}
    for column in ("shown", "clicked"):
        with pytest.raises(InputError, match=rf"\[{column}\]: the lists hold"):
            validate("selections", pl.LazyFrame(session | {column: [[value]]}))


@pytest.mark.parametrize("column", ["query_id", "winner", "loser"])
def test_a_name_is_not_empty(tmp_path: Path, column: str) -> None:
    row = {"query_id": "q", "winner": "a", "loser": "b"}
    bad = row | {column: ""}
    path = written(
        tmp_path / "votes.csv",
        "query_id,winner,loser\n" + "".join(",".join(f'"{v}"' for v in r.values()) + "\n" for r in (row, bad)),
    )
    parquet = stored(pl.DataFrame([row, bad]), tmp_path / "votes.parquet")
    lines = written(tmp_path / "votes.ndjson", "".join(json.dumps(r) + "\n" for r in (row, bad)))
    for log, at in ((path, 3), (parquet, 2), (lines, 2)):
        with pytest.raises(InputError, match="the name is empty") as caught:
            aggregate(log, "borda")
        assert str(caught.value).startswith(f"{log}:{at} [{column}]")
    if column != "query_id":
        with pytest.raises(InputError, match=rf"row 2 \[{column}\]: the name is empty"):
            count_log(pl.DataFrame([row, bad]))


def test_a_query_is_not_missing_where_nobody_looks_at_it(tmp_path: Path) -> None:
    path = stored(pl.DataFrame(VOTE | {"query_id": ["q", None]}), tmp_path / "votes.parquet")
    with pytest.raises(InputError, match=r"votes\.parquet:2 \[query_id\]: the value is missing"):
        aggregate(path, "borda")


def test_an_empty_judge_is_a_missing_one(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", 'winner,loser,judge\na,b,"x"\na,b,""\n')
    assert CsvReader().scan(path).collect()["judge"].to_list() == ["x", None]
    frame = pl.DataFrame(VOTE | {"judge": ["x", ""]})
    with pytest.raises(InputError, match=r"row 2 \[judge\]: the name is empty"):
        count_log(frame, judge="judge")
    frame.write_parquet(tmp_path / "votes.parquet")
    with pytest.raises(InputError, match=r"the judge is missing"):
        aggregate(tmp_path / "votes.parquet", "borda", intervals="judges")


@pytest.mark.parametrize("column", ["query_id", "session_id", "shown"])
def test_clicks_and_items_have_names(column: str) -> None:
    session = {"query_id": ["q"], "session_id": ["s"], "shown": [["a", "b"]], "clicked": [[1]]}
    bad = [["a", ""]] if column == "shown" else [""]
    with pytest.raises(InputError, match=rf"row 1 \[{column}\]: (the name is empty|an item has no name)"):
        validate("selections", pl.LazyFrame(session | {column: bad}))
    items = {"query_id": ["q", "q"], "label": [1.0, 2.0], "x_0": [0.0, 1.0], "name": ["a", ""]}
    with pytest.raises(InputError, match=r"row 2 \[name\]: the name is empty"):
        validate("items", pl.LazyFrame(items))
    with pytest.raises(InputError, match=r"row 1 \[query_id\]: the name is empty"):
        validate("orders", pl.LazyFrame({"query_id": [""], "ranking": [["a", "b"]]}))


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('{"winner": "a", "loser": "b", "winner": "b"}', "winner"),
        ('{"winner": "a", "loser" : "b", "loser": "a"}', "loser"),
        ('{"winner": "a", "loser": "b", "w\\u0069nner": "b"}', "winner"),
        ('{"winner": "a", "loser": "b", "more": {"x": 1, "x": 2}}', "x"),
        ('{"winner": "a", "loser": "b", "a\\/b": 1, "a/b": 2}', "a/b"),
    ],
)
def test_a_key_that_is_there_twice_is_refused(tmp_path: Path, line: str, key: str) -> None:
    path = written(tmp_path / "votes.ndjson", '{"winner": "a", "loser": "b"}\n\n' + line + "\n")
    with pytest.raises(InputError, match=f"the key '{key}' is there twice") as caught:
        choose_reader(path).scan(path).collect()
    assert str(caught.value).startswith(f"{path}:3: ")


@pytest.mark.parametrize("number", ["1e400", "-1e999", "NaN", "Infinity"])
def test_a_number_that_is_not_finite_is_refused_with_its_row(tmp_path: Path, number: str) -> None:
    path = tmp_path / "votes.ndjson"
    rows = (f'{{"winner": "a", "loser": "b", "weight": {weight}}}\n' for weight in ("1", number))
    path.write_text("".join(rows))
    with pytest.raises(InputError, match=f"{number} is not a finite number") as caught:
        choose_reader(path).scan(path).collect()
    assert str(caught.value).startswith(f"{path}:2: ")


TEXT = st.sampled_from(["winner", "loser", 'say "winner":', "a: b", ": c", "\\", "é", '"', "x"])


@examples(40)
@given(
    st.lists(st.tuples(TEXT, TEXT, TEXT).filter(lambda row: row[0] != row[1]), min_size=1, max_size=4), st.booleans()
)
def test_texts_that_look_like_keys_are_no_keys(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], escaped: bool
) -> None:
    path = tmp_path_factory.mktemp("keys") / "votes.ndjson"
    made = [{"winner": w, "loser": v, "more": {"winner": more}} for w, v, more in rows]
    path.write_text("".join(json.dumps(row, ensure_ascii=escaped) + "\n" for row in made), encoding="utf-8")
    found = choose_reader(path).scan(path).collect().select("winner", "loser").rows()
    assert found == [row[:2] for row in rows]
