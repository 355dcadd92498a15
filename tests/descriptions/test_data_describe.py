"""What `rankbench data describe` says of tables, against counts by hand."""

from __future__ import annotations

import re
from datetime import date

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from data_files import stored
from data_paths import needs

import rankbench
from rankbench.data.convert import convert
from rankbench.data.readers.choose import choose_reader
from rankbench.data.tables.checks import validate
from rankbench.descriptions.describe import describe
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Dataset
from rankbench.logs.open import open_log
from rankbench.logs.votes import load_votes
from rankbench.plugin.manager import get


def facts(found, *names):
    return [found.facts[name] for name in names]


def test_items():
    table = pl.DataFrame(
        {
            "query_id": ["a"] * 4 + ["b"] * 2 + ["c"] * 3,
            "label": [0, 0, 2, 1, 1, 1, None, 0, 1],
            "x_0": [1.0] * 9,
            "x_1": [0.0, 0, 0, 4, 5, 6, 7, 8, -9.5],
        }
    )
    found = describe(validate("items", table.lazy()))
    assert facts(found, "rows", "queries", "usable", "unlabelled") == [9, 3, 1, 1]
    assert found.facts["labels"] == {"0": 3, "1": 4, "2": 1}
    sizes = found.facts["items_per_query"]
    assert (sizes.smallest, sizes.median, sizes.mean, sizes.largest) == (2, 3, 3, 4)
    assert (found.facts["features"], found.facts["constant"], found.facts["feature_range"]) == (2, [0], (-9.5, 8))
    assert found.facts["zeros"] == pytest.approx(3 / 18)


def test_sizes_of_one_query_are_not_said_twice():
    votes = {"winner": ["a", "b", "c"], "loser": ["b", "c", "a"]}
    for queries, said in ((["q"] * 3, None), (["q", "q", "r"], "1 to 2 (median 2, mean 1.5)"), (list("qrs"), "1")):
        found = describe(validate("comparisons", pl.LazyFrame({"query_id": queries, **votes})))
        assert dict(found.lines).get("rows per query") == said
        assert found.as_dict()["rows_per_query"]["largest"] == max(map(queries.count, queries))
    for queries in (["q"] * 3, ["q", "q", "r"]):
        ballots = pl.LazyFrame({"query_id": queries, "ranking": [[["a"], ["b"]]] * 3})
        assert ("ballots per query" in dict(describe(ballots).lines)) == (len(set(queries)) > 1)


def test_what_a_reader_would_have_refused_is_counted():
    x = np.array([[1, np.nan], [np.inf, 2]], np.float32)
    table = pl.DataFrame({"query_id": ["a", "a"], "item": [0, 1], "label": [0.0, 1], "x": x})
    found = describe(table.lazy())
    assert (found.facts["not_finite"], found.facts["feature_range"]) == (2, (1, 2))


def test_many_label_values_become_a_range():
    table = pl.DataFrame({"query_id": ["a"] * 30, "label": [i / 7 for i in range(30)], "x_0": [1.0] * 30})
    found = describe(validate("items", table.lazy()))
    assert found.facts["labels"] == {}
    assert found.facts["label_range"] == (0, pytest.approx(29 / 7))


def test_comparisons():
    table = pl.DataFrame(
        {
            "query_id": ["a", "b", "a", "a"],
            "winner": ["p", "q", "r", "p"],
            "loser": ["q", "s", "p", "q"],
            "tie": [True, False, False, True],
            "judge": ["u", "u", "v", "w"],
            "weight": [1.0, 2, 0.5, 1],
        }
    )
    found = describe(validate("comparisons", table.lazy()))
    assert facts(found, "rows", "queries", "items", "ties", "judges") == [4, 2, 4, 2, 3]
    assert found.facts["weight"] == (0.5, 2)
    assert (found.facts["rows_per_query"].smallest, found.facts["rows_per_query"].largest) == (1, 3)
    plain = describe(validate("comparisons", table.select("query_id", "winner", "loser").lazy()))
    assert (plain.facts["ties"], plain.facts["judges"], plain.facts["weight"]) == (0, None, None)


def judged(tmp_path, judges):
    """Write votes in Parquet, one of each judge on the same pair."""
    return stored(
        pl.DataFrame({"winner": ["p"] * len(judges), "loser": ["q"] * len(judges), "judge": judges}),
        tmp_path / "votes.parquet",
    )


@pytest.mark.parametrize(
    ("judges", "said"),
    [
        (pl.Series([[1], [2]]), "the column holds List(Int64)"),
        (pl.Series([b"\xff", b"a"]), "the column holds Binary"),
    ],
)
def test_judges_that_are_no_names_are_refused_by_all_that_read_a_log(tmp_path, judges, said):
    path = judged(tmp_path, judges)
    errors = []
    for use in (
        lambda: open_log(path).counted(describe),
        lambda: rankbench.aggregate(path, intervals="judges"),
        lambda: rankbench.aggregate(path),
        lambda: load_votes(open_log(path).frame),
    ):
        with pytest.raises(InputError, match=re.escape(said)) as error:
            use()
        errors.append(str(error.value))
    assert len(set(errors)) == 1
    assert errors[0].startswith(f"{path}:1 [judge]: {said}")


@pytest.mark.parametrize(
    "judges",
    part_of(
        [
            pl.Series([date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 2)]),
            pl.Series([False, True, True]),
            pl.Series(["1.50", "2.50", "2.50"]).cast(pl.Decimal(10, 2)),
            pl.Series([-7, 2**40, 2**40]),
            pl.Series(["u", "v", "v"], dtype=pl.Categorical),
        ]
    ),
)
def test_judges_that_convert_to_names_are_taken_by_all_that_read_a_log(tmp_path, judges):
    path = judged(tmp_path, judges)
    source = open_log(path)
    found = source.counted(describe)
    assert (found.facts["judges"], found.facts["repeats"].votes) == (2, 1)
    votes = load_votes(source.frame)
    assert votes.judges.tolist() == [0, 1, 1]
    text = judged(tmp_path, judges.cast(pl.String))
    expected = rankbench.aggregate(text, intervals="judges", replicates=20).table
    path = judged(tmp_path, judges)
    assert rankbench.aggregate(path, intervals="judges", replicates=20).table.equals(expected)


ROWS = [
    ("q", "1", ["a", "b", "c"], [1, 3, 1]),
    ("q", "2", ["b", "a", "c"], [3, 1, 4, 4]),
    ("q", "3", ["d", "a"], []),
    ("p", "4", ["a"], [1]),
]


def table(rows=ROWS):
    schema = ["query_id", "session_id", "shown", "clicked"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_facts():
    found = describe(validate("selections", table().lazy()))
    assert (found.facts["sessions"], found.facts["queries"], found.facts["items"]) == (4, 2, 5)
    assert (found.facts["sessions_per_query"].smallest, found.facts["sessions_per_query"].largest) == (1, 3)
    assert (found.facts["shown"].smallest, found.facts["shown"].mean, found.facts["shown"].largest) == (1, 2.25, 3)
    assert found.facts["clicks"] == {0: 1, 1: 1, 2: 2}
    assert found.facts["click_rate"] == [3 / 4, 0, 1]
    assert (found.facts["clicks_off_list"], found.facts["sessions_off_list"]) == (2, 1)
    assert (found.facts["repeated"], found.facts["upwards"], found.facts["parts"]) == (1, 2, {})
    text = dict(found.lines)
    assert text["positions clicked"] == "0: 1 (25.0%), 1: 1 (25.0%), 2: 2 (50.0%)"
    assert text["clicks off the list"] == "2 in 1 session"
    assert found.as_dict()["table"] == "selections"


BALLOTS = pl.DataFrame(
    {
        "query_id": ["p", "q", "p", "p"],
        "ranking": [[["a"], ["b", "c"]], [["x"]], [["b"]], [["c"], ["a"]]],
        "candidates": [["a", "b", "c", "d"], ["x", "y"], ["a", "b", "c", "d"], ["a", "b", "c", "d"]],
        "weight": [2.0, 1.0, 2.0, 0.5],
        "judge": ["m", "n", "m", None],
    }
)
GRADED = pl.DataFrame(
    {
        "query_id": ["p", "q", "p", "q", "p"],
        "label": pl.Series([0, 1, 2, None, 0], dtype=pl.Float32),
        "x": pl.Series([[0, 1], [2, 1], [0, 1], [5, 1], [3, 1]], dtype=pl.Array(pl.Float32, 2)),
    }
)


VOTES = pl.DataFrame({"query_id": ["q"], "winner": ["a"], "loser": ["b"]})


@pytest.mark.parametrize("rows", [table(), BALLOTS, GRADED, VOTES], ids=["selections", "orders", "items", "votes"])
def test_an_empty_table_is_refused(rows):
    with pytest.raises(InputError, match="no rows"):
        describe(rows.clear().lazy())


@pytest.mark.parametrize("rows", [table(), BALLOTS, GRADED], ids=["selections", "orders", "items"])
def test_a_table_that_comes_row_by_row_holds_the_same(rows):
    pieces = pl.concat([rows.slice(at, 1).lazy() for at in range(rows.height)], rechunk=False)
    assert len(list(pieces.collect_batches(maintain_order=True, engine="streaming"))) == rows.height
    assert describe(pieces) == describe(rows.lazy())


def test_shards_hold_the_same(tmp_path):
    table().write_ndjson(tmp_path / "log.ndjson")
    made = convert(tmp_path / "log.ndjson", tmp_path / "shards", shards=2)
    assert (made.table, made.rows, made.queries) == ("selections", 4, 2)
    again = choose_reader(tmp_path / "shards").scan(tmp_path / "shards")
    assert sorted(again.collect().iter_rows()) == sorted(ROWS)
    assert describe(again) == describe(validate("selections", table().lazy()))


@pytest.mark.full
@needs("yandex-clicks/trainSample", "yandex-clicks/testSample")
def test_the_real_sessions():
    dataset = get(Dataset, "yandex-clicks")
    found = describe(dataset.scan())
    assert facts(found, "sessions", "queries") == [dataset.card.expected.rows, dataset.card.expected.queries]
    assert found.facts["parts"] == {"test": 21413, "train": 35064}
    assert (found.facts["clicks_off_list"], found.facts["sessions_off_list"]) == (693, 324)
    # About a third of the sessions that click at all, and more, click several results.
    assert sum(count for clicks, count in found.facts["clicks"].items() if clicks > 1) == 15742
    rates = found.facts["click_rate"]
    assert rates == sorted(rates[:8], reverse=True) + rates[8:]
