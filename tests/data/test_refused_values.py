"""Values that are refused: taken for something else once, too much, or in a bad row at the end of many."""

from __future__ import annotations

import itertools
import json
import re
import tracemalloc
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import examples, part_of
from click.testing import CliRunner
from counted_logs import count_log
from data_files import stored, written
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.cli import main
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.csv import CsvReader
from rankbench.data.tables.checks import checked, validate
from rankbench.data.tables.order_log import load_orders
from rankbench.errors import InputError
from rankbench.interfaces import queries as ballots
from rankbench.interfaces.queries import Orders, implied_comparisons
from rankbench.interfaces.table_check import LONGEST_NAME
from rankbench.logs.votes import load_votes
from rankbench.protocols.log_votes import votes_of_ballots
from rankbench.ranking.aggregate import aggregate

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
        with pytest.raises(InputError, match=r"the (name|cell) is empty") as caught:
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
    columns = "winner=winner,loser=loser,ignore=more.winner,alike=keep"
    found = rankbench.scan(path, columns=columns).collect().select("winner", "loser").rows()
    assert found == [row[:2] for row in rows]


LONG = "é" * (LONGEST_NAME + 1)


def orders(lengths: list[int]) -> Orders:
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    items = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
    return Orders(np.array([0, len(lengths)]), starts, items, items.copy(), np.ones(len(lengths)))


@pytest.mark.parametrize(
    ("frame", "column"),
    [
        ({"query_id": ["q"] * 2, "winner": ["a", LONG], "loser": ["b", "b"]}, "winner"),
        ({"query_id": ["q"] * 2, "ranking": [[["a"], ["b"]], [["a"], ["b", LONG]]]}, "ranking"),
        (
            {"query_id": ["q"] * 2, "session_id": ["s", "t"], "shown": [["a"], ["b", LONG]], "clicked": [[1], [1]]},
            "shown",
        ),
    ],
)
def test_a_name_is_not_longer_than_ten_thousand_characters(frame: dict[str, list[object]], column: str) -> None:
    with pytest.raises(InputError, match=r"is longer than 10,000 characters") as caught:
        checked(pl.DataFrame(frame).lazy()).collect()
    assert (caught.value.row, caught.value.column) == (2, column)
    assert len(str(caught.value)) < 200
    fitting = json.loads(json.dumps(frame, ensure_ascii=False).replace(LONG, LONG[:-1]))
    assert checked(pl.DataFrame(fitting).lazy()).collect().height == 2


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1e308, 1e308, 1e308], "add up to inf"),
        ([1e200, 1e200, 1e200], "add up to 3e\\+200"),
        ([1e-200, 1e-200, 1e-200], "add up to 3e-200"),
        ([1e16, 1.0, 1.0], "range from 1 to 1e\\+16"),
    ],
)
@pytest.mark.parametrize("method", part_of(["bradley-terry", "win-rate", "elo"]))
def test_weights_whose_sums_go_wrong_are_refused(weights: list[float], message: str, method: str) -> None:
    votes = pl.DataFrame(
        {"query_id": ["q"] * 3, "winner": ["a", "b", "a"], "loser": ["b", "c", "c"], "weight": weights}
    )
    with pytest.raises(InputError, match=message):
        rankbench.aggregate(votes, method, columns="time=")
    with pytest.raises(InputError, match=message):
        load_votes(votes.lazy())
    of_ballots = pl.DataFrame({"query_id": ["q"] * 3, "ranking": [[["a"], ["b"], ["c"]]] * 3, "weight": weights})
    with pytest.raises(InputError, match=message):
        load_orders(of_ballots.lazy())


def test_what_ballots_imply_is_counted_before_it_is_made() -> None:
    many = orders([100_000])
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="imply 4,999,950,000 comparisons"):
            implied_comparisons(many)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_ballots_that_are_fit_alone_may_be_too_many_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ballots, "MOST_IMPLIED", 5)
    table = pl.DataFrame({"query_id": ["q"] * 2, "ranking": [[["a"], ["b"], ["c"]]] * 2}).lazy()
    with pytest.raises(InputError, match="imply 6 comparisons"):
        votes_of_ballots(table)


ROWS, LISTED, LINES = 250_000, 110_000, 600_000
"""Of votes, of places of impressions, and of items: their reader takes 8 MB at a time."""


def votes() -> pl.DataFrame:
    at = np.arange(ROWS)
    frame = pl.DataFrame({"winner": at % 50, "loser": at * 7 % 49 + 50}).cast(pl.String)
    return pl.concat([frame[:-1], pl.DataFrame({"winner": ["x"], "loser": ["x"]})])


def impressions() -> pl.DataFrame:
    at = np.arange(LISTED)
    frame = pl.DataFrame(
        {
            "session_id": at // 10, "query_id": at // 10 % 500, "position": at % 10 + 1, "doc": at * 3 % 997,
            "clicked": (at * at % 7 == 0).astype(np.int8),
        }
    ).cast(pl.String)  # fmt: skip
    return pl.concat([frame[:-1], frame[-1:].with_columns(clicked=pl.lit("perhaps"))])


SAID = {votes: (ROWS, "itself"), impressions: (LISTED, "perhaps")}


def refused(path: Path, row: int, said: str, *, ranked: bool) -> None:
    """Expect an error with the row from all that reads a file, and nothing beside the file."""
    folder = path.parent
    commands = [["data", "convert", str(path), str(folder / "shards")], ["data", "describe", str(path)]]
    if ranked:
        commands.append(["aggregate", str(path), "--out", str(folder / "ranking.json")])
    for command in commands:
        found = CliRunner().invoke(main, command)
        assert found.exit_code == 2, found.output
        assert re.search(rf"{re.escape(str(path))}:{row}\b.*{said}", found.stderr), (command, found.stderr)
        assert [left.name for left in folder.iterdir()] == [path.name], command


@pytest.mark.parametrize(("made", "ending"), part_of(itertools.product(SAID, ["csv", "ndjson", "parquet"]), 9))
def test_of_judgments(tmp_path: Path, made: Callable[[], pl.DataFrame], ending: str) -> None:
    path = stored(made(), tmp_path / f"log.{ending}")
    rows, said = SAID[made]
    refused(path, rows + (ending == "csv"), said, ranked=True)


@pytest.mark.full
def test_of_items(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    lines = [f"{at % 3} qid:{at // 10} 1:{at % 7} 2:0.5" for at in range(LINES - 1)]
    path.write_text("\n".join([*lines, f"1 qid:{LINES // 10 - 1} 2:0.5 1:3"]) + "\n")
    assert path.stat().st_size > 8 << 20
    refused(path, LINES, "out of order", ranked=False)
