import polars as pl
import pytest
from data_paths import needs

from rankbench.data.convert import convert
from rankbench.data.readers.choose import choose_reader
from rankbench.data.tables.checks import validate
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Dataset
from rankbench.plugin.manager import get
from rankbench.ranking.describe import describe

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
    assert text["clicks off the list"] == "2 in 1 sessions"
    assert found.as_dict()["table"] == "selections"


def test_an_empty_table_is_refused():
    with pytest.raises(InputError, match="no rows"):
        describe(validate("selections", table().lazy()).filter(pl.lit(False)))


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


@needs("yandex-clicks/trainSample", "yandex-clicks/testSample")
def test_the_real_sessions():
    dataset = get(Dataset, "yandex-clicks")
    found = describe(dataset.scan())
    assert (found.facts["sessions"], found.facts["queries"]) == (
        dataset.card.expected.rows,
        dataset.card.expected.queries,
    )
    assert found.facts["parts"] == {"test": 21413, "train": 35064}
    assert (found.facts["clicks_off_list"], found.facts["sessions_off_list"]) == (693, 324)
    # About a third of the sessions that click at all, and more, click several results.
    assert sum(count for clicks, count in found.facts["clicks"].items() if clicks > 1) == 15742
    assert (
        found.facts["click_rate"] == sorted(found.facts["click_rate"][:8], reverse=True) + found.facts["click_rate"][8:]
    )
