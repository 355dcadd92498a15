"""Tables of selections: what a table must be, how several clicks of a list are reduced, and the container."""

import numpy as np
import polars as pl
import pytest
from amounts import examples
from data_files import rejected, stored, written
from data_paths import needs, real
from hypothesis import given
from hypothesis import strategies as st

from rankbench.data.readers.choose import choose_reader
from rankbench.data.tables.checks import validate
from rankbench.data.tables.impressions import reduce_clicks
from rankbench.data.tables.schemas import selections_schema
from rankbench.data.tables.selections import load_selections, take_selections
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Dataset
from rankbench.plugin.manager import get

GOOD = {
    "query_id": ["q", "q", "p"],
    "session_id": ["1", "2", "3"],
    "shown": [["a", "b"], ["b", "a"], ["c"]],
    "clicked": [[2, 1, 2], [], [2]],
}


def frame(**changes):
    return pl.DataFrame(GOOD | changes).lazy()


def read(path):
    return choose_reader(path).scan(path).collect()


def test_a_table_comes_out_in_the_schema():
    found = validate("selections", frame(extra=[1, 2, 3])).collect()
    assert found.dtypes == [pl.String(), pl.String(), pl.List(pl.String), pl.List(pl.UInt32)]
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
    path = written(tmp_path / "log", "shown,query_id,session_id,clicked\na  b,q,1,2\n")
    assert read(path).row(0) == ("q", "1", ["a", "b"], [2])


def test_a_table_without_any_click(tmp_path):
    path = written(tmp_path / "log.csv", "query_id,session_id,shown,clicked\nq,1,a b,\n")
    assert read(path)["clicked"].to_list() == [[]]
    path = written(tmp_path / "log.ndjson", '{"query_id": "q", "session_id": "1", "shown": ["a"], "clicked": []}\n')
    assert read(path)["clicked"].to_list() == [[]]


@pytest.mark.parametrize(
    ("line", "row", "column", "words"),
    [
        ("q,3,a b a,1", 4, "shown", "'a' is shown twice"),
        ("q,3,,1", 4, "shown", "no item was shown"),
        ("q,3,\"['a', 'b']\",1", 4, "shown", "is no list with spaces between its entries"),
        ('q,3,"a, b",1', 4, "shown", "is no list with spaces between its entries"),
        ('q,3,"a,b",1', 4, "shown", "'a,b' is no list with spaces between its entries"),
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
    path = written(tmp_path / "log.csv", f"query_id,session_id,shown,clicked\nq,1,a b,1\nq,2,b a,\n{line}\n")
    with rejected(words, path=path, row=row, column=column):
        read(path)


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
    with rejected(words, row=row, column=column):
        validate("selections", frame(**changes))


def test_missing_columns_are_named():
    with pytest.raises(InputError, match="'clicked' is missing, which selections must have; did you mean 'click'"):
        validate("selections", pl.DataFrame(GOOD).rename({"clicked": "click"}).lazy())


def test_other_tables_are_refused():
    with pytest.raises(InputError, match="a table of selections, not of comparisons"):
        validate("comparisons", frame())
    with pytest.raises(InputError, match="no rows"):
        validate("selections", pl.DataFrame(GOOD).clear().lazy())


LIST = ["a", "b", "c"]
OFF = 4
SESSIONS = {
    "none": [],
    "one": [2],
    "again": [2, 2],
    "two": [3, 1, 3],
    "out": [OFF],
    "in-out": [2, OFF],
    "out-in": [OFF, 2],
}


def table(sessions=SESSIONS):
    rows = [("q", name, LIST, clicks) for name, clicks in sessions.items()]
    return pl.DataFrame(rows, schema=selections_schema(part=False), orient="row")


def reduced(several, off_list):
    return [
        (name, clicks)
        for _, name, shown, clicks in reduce_clicks(table(), several, off_list).iter_rows()
        if shown == LIST
    ]


@pytest.mark.parametrize(
    ("several", "off_list", "expected"),
    [
        ("all", "drop", [[], [2], [2], [3, 1], [], [2], [2]]),
        ("all", "no-click", [[], [2], [2], [3, 1], [], [2], [2]]),
        ("first", "drop", [[], [2], [2], [3], [], [2], [2]]),
        ("first", "no-click", [[], [2], [2], [3], [], [2], []]),
        # Clicks on the same position again are one click, made when it was made first.
        ("last", "drop", [[], [2], [2], [1], [], [2], [2]]),
        ("last", "no-click", [[], [2], [2], [1], [], [], [2]]),
    ],
)
def test_one_selection_a_session(several, off_list, expected):
    assert reduced(several, off_list) == list(zip(SESSIONS, expected, strict=True))


def test_each_click_becomes_a_selection():
    inside = [("none", []), ("one", [2]), ("again", [2]), ("two#1", [3]), ("two#2", [1]), ("out", [])]
    assert reduced("each", "drop") == [*inside, ("in-out", [2]), ("out-in", [2])]
    outside = [("in-out#1", [2]), ("in-out#2", []), ("out-in#1", []), ("out-in#2", [2])]
    assert reduced("each", "no-click") == [*inside, *outside]


def test_sessions_with_several_clicks_are_dropped():
    kept = [("none", []), ("one", [2]), ("again", [2]), ("out", [])]
    assert reduced("drop", "no-click") == kept
    # A dropped click does not count as one of several.
    assert reduced("drop", "drop") == [*kept, ("in-out", [2]), ("out-in", [2])]


@pytest.mark.parametrize("several", ["all", "first", "last", "each", "drop"])
def test_clicks_off_the_list_are_refused(several):
    with pytest.raises(InputError, match="session 'out' of query 'q' has a click outside"):
        reduce_clicks(table(), several, "error")
    fine = table({"one": [2], "none": []})
    assert reduce_clicks(fine, several, "error").equals(fine)


def test_other_columns_stay():
    whole = table().with_columns(part=pl.lit("x"))
    assert reduce_clicks(whole, "each", "no-click")["part"].unique().to_list() == ["x"]


@pytest.mark.parametrize("several", ["all", "first", "last", "each", "drop"])
def test_nothing_stays_nothing(several):
    assert reduce_clicks(table().clear(), several).height == 0


@st.composite
def tables(draw):
    """Draw a table of selections of up to three queries, rows of queries mixed."""
    rows = []
    for session in range(draw(st.integers(1, 12))):
        shown = draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True))
        clicked = draw(st.lists(st.integers(1, len(shown) + 1), max_size=4))
        rows.append((draw(st.sampled_from(["z", "q", "p"])), str(session), shown, clicked, draw(st.sampled_from("xy"))))
    schema = ["query_id", "session_id", "shown", "clicked", "part"]
    return validate("selections", pl.DataFrame(rows, schema=schema, orient="row").lazy())


def unloaded(log):
    """Return the rows of a log again: query, items shown, set of items clicked, part."""
    rows, s = [], log.selections
    for q, query in enumerate(log.ids):
        names = log.items[log.item_offsets[q] : log.item_offsets[q + 1]]
        for session in range(s.offsets[q], s.offsets[q + 1]):
            place = slice(s.starts[session], s.starts[session + 1])
            shown = [names[item] for item in s.items[place]]
            part = log.parts[log.part[session]]
            rows.append((query, shown, {n for n, c in zip(shown, s.clicked[place], strict=True) if c}, part))
    return rows


@given(tables(), st.sampled_from(["all", "first", "each"]))
@examples(50)
def test_the_container_holds_what_the_table_says(table, several):
    log = load_selections(table, several=several)
    frame = reduce_clicks(table.collect(), several)
    expected = [
        (query, shown, {shown[c - 1] for c in clicked}, part)
        for query, _, shown, clicked, part in sorted(frame.iter_rows(), key=lambda row: row[0])
    ]
    assert unloaded(log) == expected
    assert log.ids == sorted(set(frame["query_id"]))
    for q in range(len(log)):
        names = log.items[log.item_offsets[q] : log.item_offsets[q + 1]]
        assert names == sorted(set(names))
    assert log.item_offsets[-1] == len(log.items)


@given(tables(), st.data())
@examples(50)
def test_taking_some_of_the_selections(table, data):
    log = load_selections(table)
    n = len(log.selections)
    chosen = data.draw(st.lists(st.integers(0, n - 1), unique=True))
    part = take_selections(log.selections, np.array(chosen, np.int64))
    assert len(part) == len(chosen)
    assert len(part.offsets) == len(log) + 1
    rows = unloaded(log)
    kept = sorted(chosen)
    smaller = type(log)(log.ids, log.items, log.item_offsets, part, log.parts, log.part[kept], log.rows[kept])
    assert unloaded(smaller) == [rows[i] for i in sorted(chosen)]


def test_rows_say_where_selections_come_from():
    table = validate("selections", frame(query_id=["q", "p", "q"], shown=[["a", "b"]] * 3, clicked=[[1, 2], [1], [2]]))
    assert load_selections(table).rows.tolist() == [1, 0, 2]
    assert load_selections(table, several="each").rows.tolist() == [1, 0, 0, 2]
    assert load_selections(table, several="drop").rows.tolist() == [1, 2]


def test_nothing_is_left():
    table = pl.DataFrame({"query_id": ["q"], "session_id": ["1"], "shown": [["a", "b"]], "clicked": [[1, 2]]})
    with pytest.raises(InputError, match="several='drop'"):
        load_selections(validate("selections", table.lazy()), several="drop")
    with pytest.raises(InputError, match="no rows"):
        load_selections(table.clear().lazy())


@pytest.mark.full
@needs("yandex-clicks/trainSample", "yandex-clicks/testSample")
def test_the_real_sessions():
    log = load_selections(get(Dataset, "yandex-clicks").scan(), several="first")
    assert (len(log), len(log.selections), log.parts) == (20, 56477, ("test", "train"))
    assert np.bincount(log.part).tolist() == [21413, 35064]
    assert set(np.diff(log.selections.starts)) == {10}
    # Counted in the bytes: records with something of their list after the colon.
    clicked = 0
    for file in ("trainSample", "testSample"):
        for record in real(f"yandex-clicks/{file}").read_text().replace("\n", ";").split(";"):
            if record.strip():
                shown, clicks = record.split("\t")[1].split(":")
                clicked += bool(set(shown.strip().split(",")) & {c.strip() for c in clicks.split(",")})
    assert log.selections.clicked.sum() == clicked
