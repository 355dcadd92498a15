import json
import math
import os

import numpy as np
import polars as pl
import pytest
from data_files import rejected, stored, written

from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.csv import CsvReader
from rankbench.data.readers.json import NdjsonReader
from rankbench.data.readers.letor import LetorReader
from rankbench.data.readers.parquet import ParquetReader
from rankbench.data.tables.checks import table_of, validate
from rankbench.data.tables.schemas import items_schema
from rankbench.errors import InputError

READERS = [LetorReader, ParquetReader, CsvReader, NdjsonReader]

ITEMS = pl.DataFrame(
    {
        "query_id": ["a", "a", "b", "b", "b"],
        "label": [1, 0, None, 2, 2],
        "x": [[1.0, 2], [3, 4], [5, 6], [7, 8], [9, 1]],
    }
)
VOTES = pl.DataFrame({"query_id": ["a", "b", "a"], "winner": ["p", "q", "r"], "loser": ["q", "p", "p"]})


def spread(items):
    x = np.array(items["x"].to_list())
    return items.drop("x").with_columns(*(pl.Series(f"x_{j}", x[:, j]) for j in range(x.shape[1])))


def write(frame, path):
    return stored(spread(frame) if "x" in frame.columns and path.suffix == ".csv" else frame, path)


@pytest.mark.parametrize("ending", [".csv", ".ndjson", ".parquet"])
class TestFormats:
    def test_items(self, tmp_path, ending):
        path = write(ITEMS, tmp_path / f"t{ending}")
        frame = choose_reader(path, READERS).scan(path).collect()
        assert frame.schema == items_schema(2)
        assert frame["query_id"].to_list() == ["a", "a", "b", "b", "b"]
        assert frame["item"].to_list() == [0, 1, 0, 1, 2]
        assert frame["label"].to_list() == [1, 0, None, 2, 2]
        assert frame["x"].to_numpy().tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 1]]

    def test_comparisons(self, tmp_path, ending):
        votes = VOTES.with_columns(
            weight=pl.Series([1.0, 2, 0.5]), tie=pl.Series([True, False, False]), other=pl.lit(3)
        )
        path = write(votes, tmp_path / f"t{ending}")
        frame = choose_reader(path, READERS).scan(path).collect()
        assert frame.columns == ["query_id", "winner", "loser", "weight", "tie"]
        assert frame.dtypes == [pl.String, pl.String, pl.String, pl.Float64, pl.Boolean]
        assert frame.rows() == [("a", "p", "q", 1, True), ("b", "q", "p", 2, False), ("a", "r", "p", 0.5, False)]

    def test_rows_in_errors(self, tmp_path, ending):
        path = write(VOTES.with_columns(loser=pl.Series(["q", "p", "r"])), tmp_path / f"t{ending}")
        with pytest.raises(InputError, match="'r' is compared with itself") as caught:
            choose_reader(path, READERS).scan(path).collect()
        # The header of a CSV file is its row 1.
        assert (caught.value.path, caught.value.row, caught.value.column) == (path, 3 + (ending == ".csv"), "winner")

    def test_by_content(self, tmp_path, ending):
        path = write(VOTES, tmp_path / f"t{ending}").rename(tmp_path / "votes.log")
        assert choose_reader(path, READERS).name == ending[1:]


@pytest.mark.parametrize("ending", [".csv", ".ndjson", ".parquet"])
def test_a_path_is_never_a_pattern(tmp_path, ending):
    for name in ("votes[1]", "votes*", "votes["):
        path = write(VOTES, tmp_path / f"{name}{ending}")
        assert choose_reader(path, READERS).scan(path).collect().height == 3


def test_letor_by_content(tmp_path):
    path = written(tmp_path / "some.log", "# head\n1 qid:3 1:2 2:3\n")
    assert isinstance(choose_reader(path, READERS), LetorReader)


def test_an_unknown_format(tmp_path):
    (tmp_path / "a.log").write_text("hello\n")
    with pytest.raises(InputError, match="no reader knows this format; readers: csv, letor, ndjson, parquet"):
        choose_reader(tmp_path / "a.log", READERS)


@pytest.mark.parametrize(
    ("change", "row", "column", "said"),
    [
        ({"query_id": ["a", "a", "b", "b", "a"]}, 5, "query_id", "comes back"),
        ({"query_id": ["a", "b", "b", "c", "c"]}, 1, "query_id", "one item"),
        ({"query_id": ["a", "a", "b", "b", "c"]}, 5, "query_id", "one item"),
        ({"query_id": ["a", "b", "a", "b", "a"]}, 3, "query_id", "comes back"),
        ({"query_id": ["a", "a", None, "b", "b"]}, 3, "query_id", "missing"),
        ({"query_id": [1.5, 1.5, 2.5, 2.5, 2.5]}, 1, "query_id", "1.5 is no name"),
        ({"item": [0, 1, 0, 2, 1]}, 4, "item", "position"),
        ({"label": [1, 0, math.nan, 2, 2]}, 3, "label", "not a finite"),
        ({"label": ["1", "0", "", "x", "2"]}, 3, "label", "not a number"),
        ({"x": [[1.0, 2], [3, 4], [5, math.nan], [7, 8], [9, 1]]}, 3, "x", "feature 1 (from 0) is nan"),
        ({"x": [[1.0, 2], [3, 4], [5, 6], [math.inf, 8], [9, 1]]}, 4, "x", "feature 0 (from 0) is inf"),
        ({"x": [[1.0, 2], [3, 4], [5, 6], [7, 1e39], [9, 1]]}, 4, "x", "feature 1 (from 0) is 1e+39"),
        ({"x": [[1.0, 2], [3, None], [5, 6], [7, 8], [9, 1]]}, 2, "x", "missing"),
        ({"x": [[1.0, 2], None, [5, 6], [7, 8], [9, 1]]}, 2, "x", "missing"),
        ({"x": [[1.0, 2], [3, 4], [5], [7, 8], [9, 1]]}, 3, "x", "2 features"),
        ({"x": [["1", "2"], ["3", "4"], ["5", "u"], ["7", "8"], ["9", "1"]]}, 3, "x", "'u'"),
    ],
)
def test_items_that_are_refused(change, row, column, said):
    with rejected(said=said, row=row, column=column):
        validate("items", ITEMS.with_columns(**{k: pl.Series(v, strict=False) for k, v in change.items()}).lazy())


def test_array_features_are_checked_as_lists_are():
    x = pl.Series("x", np.array([[1, 2], [3, np.nan], [5, 6], [7, 8], [9, 1]]))
    with pytest.raises(InputError, match=r"row 2 \[x\]"):
        validate("items", ITEMS.with_columns(x).lazy())


@pytest.mark.parametrize(
    ("change", "row", "column", "said"),
    [
        ({"winner": ["p", "p", "r"]}, 2, "winner", "itself"),
        ({"loser": ["q", None, "p"]}, 2, "loser", "missing"),
        ({"weight": [1.0, -1, 1]}, 2, "weight", "-1.0 is not positive"),
        ({"weight": [math.nan, 1, 1]}, 1, "weight", "nan"),
        ({"weight": [1.0, math.inf, 1]}, 2, "weight", "inf"),
        ({"weight": ["1", "2", "many"]}, 3, "weight", "'many' is not a number"),
        ({"tie": ["true", "maybe", "no"]}, 2, "tie", "'maybe' is not a truth value"),
    ],
)
def test_comparisons_that_are_refused(change, row, column, said):
    with rejected(said=said, row=row, column=column):
        validate("comparisons", VOTES.with_columns(**{k: pl.Series(v) for k, v in change.items()}).lazy())


def test_a_query_across_batches_is_one_query():
    n = 300_000
    items = pl.DataFrame({"query_id": ["q"] * n, "label": [0.0] * n, "x_1": [1.0] * n})
    assert validate("items", items.lazy()).select(pl.col("item").max()).collect().item() == n - 1


def test_other_types_are_converted_when_nothing_is_lost():
    votes = pl.DataFrame(
        {"query_id": [7, 7], "winner": [1, 2], "loser": [3, 4], "time": [0.5, 1.5], "judge": [9, None]}
    )
    frame = validate("comparisons", votes.lazy()).collect()
    assert frame.rows() == [("7", "1", "3", "9", 0.5), ("7", "2", "4", None, 1.5)]


@pytest.mark.parametrize("table", [ITEMS, VOTES])
def test_empty_tables(table):
    name = "items" if "x" in table.columns else "comparisons"
    with pytest.raises(InputError, match=r"no rows|missing"):
        validate(name, table.clear().lazy())


@pytest.mark.parametrize(
    ("columns", "said"), [(["x_0", "x_2"], "x_1"), (["x_2", "x_3"], "x_1"), ([], "'x' is missing")]
)
def test_features_in_columns_must_be_all_there(columns, said):
    table = ITEMS.drop("x").with_columns(*(pl.lit(1.0).alias(c) for c in columns))
    with pytest.raises(InputError, match=said):
        validate("items", table.lazy())


def test_wrong_kind_of_table():
    with pytest.raises(InputError, match="comparisons, not of items"):
        validate("items", VOTES.lazy())


class TestCsv:
    def read(self, tmp_path, content):
        path = written(tmp_path / "a.csv", content if isinstance(content, bytes) else content.encode())
        return CsvReader().scan(path).collect()

    def test_names_stay_as_they_are_written(self, tmp_path):
        frame = self.read(tmp_path, '\ufeffquery_id,winner,loser\r\n007,1.50,"a, b"\r\n')
        assert frame.rows() == [("007", "1.50", "a, b")]


class TestNdjson:
    def read(self, tmp_path, *lines):
        path = written(
            tmp_path / "a.ndjson",
            "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n",
        )
        return NdjsonReader().scan(path).collect()

    VOTE = {"query_id": "q", "winner": "a", "loser": "b"}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("line", "said"), [("hello", "not JSON"), ('{"a":1', "not JSON"), ('{"query_id":NaN}', "NaN"), ("[1]", "list")]
    )
    def test_malformed_lines(self, tmp_path, line, said):
        with rejected(said, row=2):
            self.read(tmp_path, self.VOTE, line, self.VOTE)


def test_sources_can_be_projected_filtered_and_cut(tmp_path):
    path = write(ITEMS, tmp_path / "a.csv")
    table = CsvReader().scan(path)
    assert table.filter(pl.col("item") == 1).select("query_id").collect()["query_id"].to_list() == ["a", "b"]
    assert table.head(3).select("label", "item").collect().rows() == [(1, 0), (0, 1), (None, 0)]
    assert table.select(pl.len()).collect().item() == 5


class TestHostile:
    @pytest.mark.parametrize(
        ("ending", "content", "message"),
        [
            *(
                ("csv", f"{line}\na,1,1,2\na,0,3,4\n", ":1: the header names columns twice: 'x_0'")
                for line in ("query_id,label,x_0,x_0", '"query_id",label,"x_0",x_0\r')
            ),
            *(
                ("csv", f"query_id,label,{names}\na,1,1,2\na,0,3,4\n", "are the same feature")
                for names in ("x_0,x0", "x_1,x_01")
            ),
            *(
                ("csv", f"query_id,label,{name}\na,1,1\na,0,3\n", "column 'x' is missing")
                for name in ("x_" + "9" * 5000, "x_٣")
            ),
            ("csv", f"query_id,label,x_0\na,{'z' * 200_000},1\na,0,3\n", r"zzz\.\.\.' is not a"),
            ("csv", f"query_id,{','.join(map(str, range(5000)))}\na{',u' * 5000}\n", "and 4,987 more columns"),
            ("ndjson", '{"query_id":' + "[" * 100_000 + "\n", "nested too deeply"),
        ],
        ids=range(9),
    )
    def test_what_is_wrong_is_said_in_few_words(self, tmp_path, ending, content, message):
        path = written(tmp_path / f"t.{ending}", content)
        with pytest.raises(InputError, match=message) as caught:
            choose_reader(path, READERS).scan(path).collect()
        assert len(str(caught.value)) < 1500 + len(str(tmp_path))

    def test_a_label_that_is_a_record(self, tmp_path):
        frame = ITEMS.with_columns(label=pl.struct(a=pl.lit(1)))
        frame.write_parquet(tmp_path / "t.parquet")
        with rejected("label.a"):
            ParquetReader().scan(tmp_path / "t.parquet").collect()

    @pytest.mark.parametrize("x", [[[[1.0]], [[2.0]]], [[{"a": 1}], [{"a": 2}]]])
    def test_features_that_are_no_numbers(self, tmp_path, x):
        pl.DataFrame({"query_id": "a", "label": [1, 0], "x": x}).write_parquet(tmp_path / "t.parquet")
        with pytest.raises(InputError, match="features must be numbers"):
            ParquetReader().scan(tmp_path / "t.parquet").collect()

    def test_a_pipe(self, tmp_path):
        os.mkfifo(tmp_path / "t.txt")
        with pytest.raises(InputError, match="neither a regular file nor a folder"):
            choose_reader(tmp_path / "t.txt", READERS)
        with pytest.raises(InputError, match="neither"):
            LetorReader().scan(tmp_path / "t.txt")


@pytest.mark.parametrize("ending", [".csv", ".ndjson", ".parquet"])
def test_items_keep_their_names(tmp_path, ending):
    named = ITEMS.with_columns(name=pl.Series(["p", "q", "q", "r", "p"]))
    path = write(named, tmp_path / f"t{ending}")
    frame = choose_reader(path, READERS).scan(path).collect()
    assert frame.schema == items_schema(2, named=True)
    assert frame["name"].to_list() == ["p", "q", "q", "r", "p"]
    gap = named.with_columns(name=pl.Series(["p", None, "q", "r", "p"]))
    with pytest.raises(InputError, match=r"row 2 \[name\]: the value is missing"):
        validate("items", gap.lazy())


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        (["query_id", "label", "x"], "items"),
        (["query_id", "label", "system", "x"], "items"),
        (["query_id", "winner", "loser", "system"], "comparisons"),
        (["query_id", "winner", "loser", "score"], "comparisons"),
        (["query_id", "ranking", "score"], "orders"),
        (["query_id", "system", "score"], "measurements"),
    ],
)
def test_kinds_of_tables_are_told_by_their_columns(columns, kind):
    assert table_of(pl.Schema(dict.fromkeys(columns, pl.String))).name == kind
