import polars as pl
import pytest

from rankbench.data.tables.impressions import reduce_clicks
from rankbench.data.tables.schemas import selections_schema
from rankbench.errors import InputError

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
    before, after = [("none", []), ("one", [2]), ("again", [2])], [("two#1", [3]), ("two#2", [1])]
    assert reduced("each", "drop") == [*before, *after, ("out", []), ("in-out", [2]), ("out-in", [2])]
    outside = [("out", []), ("in-out#1", [2]), ("in-out#2", []), ("out-in#1", []), ("out-in#2", [2])]
    assert reduced("each", "no-click") == [*before, *after, *outside]


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
