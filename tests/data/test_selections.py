import numpy as np
import polars as pl
import pytest
from amounts import examples
from data_paths import needs, real
from hypothesis import given
from hypothesis import strategies as st

from rankbench.data.tables.checks import validate
from rankbench.data.tables.impressions import reduce_clicks
from rankbench.data.tables.selections import load_selections, take_selections
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Dataset
from rankbench.plugin.manager import get


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
    assert log.sizes.sum() == len(log.items)


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
    table = pl.DataFrame(
        {
            "query_id": ["q", "p", "q"],
            "session_id": ["1", "2", "3"],
            "shown": [["a", "b"]] * 3,
            "clicked": [[1, 2], [1], [2]],
        }
    )
    table = validate("selections", table.lazy())
    assert load_selections(table).rows.tolist() == [1, 0, 2]
    assert load_selections(table, several="each").rows.tolist() == [1, 0, 0, 2]
    assert load_selections(table, several="drop").rows.tolist() == [1, 2]


def test_nothing_is_left():
    table = pl.DataFrame({"query_id": ["q"], "session_id": ["1"], "shown": [["a", "b"]], "clicked": [[1, 2]]})
    with pytest.raises(InputError, match="several='drop'"):
        load_selections(validate("selections", table.lazy()), several="drop")
    with pytest.raises(InputError, match="no rows"):
        load_selections(table.clear().lazy())


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
