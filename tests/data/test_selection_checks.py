import polars as pl
import pytest
from data_files import stored, written

from rankbench.data.readers.choose import choose_reader
from rankbench.data.tables.checks import validate
from rankbench.errors import InputError

GOOD = {
    "query_id": ["q", "q", "p"],
    "session_id": ["1", "2", "3"],
    "shown": [["a", "b"], ["b", "a"], ["c"]],
    "clicked": [[2, 1, 2], [], [2]],
}


def frame(**changes):
    return pl.DataFrame(GOOD | changes).lazy()


def csv(tmp_path, text, name="log.csv"):
    return written(tmp_path / name, text)


def read(path):
    return choose_reader(path).scan(path).collect()


def test_a_table_comes_out_in_the_schema():
    found = validate("selections", frame(extra=[1, 2, 3])).collect()
    assert found.schema == {
        "query_id": pl.String(),
        "session_id": pl.String(),
        "shown": pl.List(pl.String),
        "clicked": pl.List(pl.UInt32),
    }
    assert found.to_dict(as_series=False) == GOOD


def test_the_part_is_kept_and_whole_numbers_are_names():
    assert validate("selections", frame(part=["x", "y", "x"])).collect()["part"].to_list() == ["x", "y", "x"]
    assert validate("selections", frame(shown=[[1, 2], [2, 1], [7]])).collect()["shown"][0].to_list() == ["1", "2"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "ndjson", "parquet"])
def test_every_format_gives_the_same_table(tmp_path, suffix):
    path = tmp_path / f"log.{suffix}"
    whole = pl.DataFrame(GOOD)
    if suffix in ("parquet", "ndjson"):
        stored(whole, path)
    else:
        text = whole.with_columns(
            pl.col("shown").list.join(" "), pl.col("clicked").cast(pl.List(pl.String)).list.join(" ")
        )
        text.write_csv(path, separator="\t" if suffix == "tsv" else ",")
    assert read(path).to_dict(as_series=False) == GOOD


def test_a_csv_without_an_ending_is_recognized(tmp_path):
    path = csv(tmp_path, "shown,query_id,session_id,clicked\na  b,q,1,2\n", name="log")
    assert read(path).row(0) == ("q", "1", ["a", "b"], [2])


def test_a_table_without_any_click(tmp_path):
    assert read(csv(tmp_path, "query_id,session_id,shown,clicked\nq,1,a b,\n"))["clicked"].to_list() == [[]]
    path = written(tmp_path / "log.ndjson", '{"query_id": "q", "session_id": "1", "shown": ["a"], "clicked": []}\n')
    assert read(path)["clicked"].to_list() == [[]]


@pytest.mark.parametrize(
    ("line", "row", "column", "words"),
    [
        ("q,3,a b a,1", 4, "shown", "'a' is shown twice"),
        ("q,3,,1", 4, "shown", "no item was shown"),
        ("q,3,a b,0", 4, "clicked", "positions count from 1"),
        ("q,3,a b,4", 4, "clicked", "position 4 was clicked, but 2 items were shown"),
        ("q,3,a b,1 x", 4, "clicked", "not 'x'"),
        ("q,3,a b,1.5", 4, "clicked", "not '1.5'"),
        ("q,3,a b,-1", 4, "clicked", "not '-1'"),
        (",3,a b,1", 4, "query_id", "missing"),
        ("q,,a b,1", 4, "session_id", "missing"),
    ],
)
def test_bad_rows_of_a_csv_are_named(tmp_path, line, row, column, words):
    path = csv(tmp_path, f"query_id,session_id,shown,clicked\nq,1,a b,1\nq,2,b a,\n{line}\n")
    with pytest.raises(InputError, match=words) as caught:
        read(path)
    assert (caught.value.path, caught.value.row, caught.value.column) == (path, row, column)


@pytest.mark.parametrize(
    ("changes", "row", "column", "words"),
    [
        ({"shown": [["a", "b"], None, ["c"]]}, 2, "shown", "the list is missing"),
        ({"clicked": [[1], None, []]}, 2, "clicked", "the list is missing"),
        ({"clicked": [[1], [None], []]}, 2, "clicked", "an entry that is missing"),
        ({"clicked": [[1.0], [1.5], []]}, 2, "clicked", "not 1.5"),
        ({"clicked": [[1], [1 << 40], []]}, 2, "clicked", "1099511627776"),
        ({"shown": [[0.5, 1.5], [1.0], [2.0]]}, 1, "shown", "0.5 is no name: names must be texts"),
        ({"clicked": [True, False, True]}, 1, "clicked", "not lists"),
        ({"clicked": [[[1]], [[1]], []]}, 1, "clicked", "not positions"),
    ],
)
def test_bad_lists_are_named(changes, row, column, words):
    with pytest.raises(InputError, match=words) as caught:
        validate("selections", frame(**changes))
    assert (caught.value.row, caught.value.column) == (row, column)


def test_missing_columns_are_named():
    with pytest.raises(InputError, match="'clicked' is missing, which selections must have; did you mean 'click'"):
        validate("selections", pl.DataFrame(GOOD).rename({"clicked": "click"}).lazy())


def test_other_tables_are_refused():
    with pytest.raises(InputError, match="a table of selections, not of comparisons"):
        validate("comparisons", frame())
    with pytest.raises(InputError, match="no rows"):
        validate("selections", pl.DataFrame(GOOD).clear().lazy())
