"""Times of votes: one reading for a column, and one order however the log is stored."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import examples, part_of
from data_files import stored, written
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rankbench.data.convert import convert
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.csv import CsvReader
from rankbench.data.tables.checks import checked_table, validate
from rankbench.descriptions.describe_votes import describe_votes
from rankbench.errors import InputError, Unread
from rankbench.logs.votes import Votes, load_votes

EAST = timezone(timedelta(hours=5, minutes=30))


def csv(folder: Path, times: list[str]) -> Path:
    return written(
        folder / "votes.csv", "winner,loser,time\n" + "".join(f"a,{row},{time}\n" for row, time in enumerate(times))
    )


def rows(votes: Votes) -> NDArray[np.int64]:
    """Return the row that each vote was written in, which its loser is called by."""
    return np.array([int(votes.items[loser]) for loser in votes.losers])


def order(path: Path) -> list[int]:
    """Return each written row's place in time; votes come in that order, those of one time as written."""
    votes = load_votes(choose_reader(path).scan(path))
    assert votes.times is not None
    written = rows(votes)
    assert sorted(zip(votes.times, written, strict=True)) == list(zip(votes.times, written, strict=True))
    return votes.times[np.argsort(written)].tolist()


@pytest.mark.parametrize(
    ("times", "dtype", "values"),
    [
        (["10", "2", "+3", "-1"], pl.Int64(), [10, 2, 3, -1]),
        (["1700000000000000001", "1700000000000000000"], pl.Int64(), [1700000000000000001, 1700000000000000000]),
        (["10", "2.5", "1e1", ".5"], pl.Float64(), [10.0, 2.5, 10.0, 0.5]),
        (
            ["2024-01-10", "2023/12/31", "2023.01.03"],
            pl.Date(),
            [date(2024, 1, 10), date(2023, 12, 31), date(2023, 1, 3)],
        ),
        (["20240110", "", "20231231"], pl.Date(), [date(2024, 1, 10), None, date(2023, 12, 31)]),
        (["20240110", "20231301"], pl.Int64(), [20240110, 20231301]),
        (["20240110", "20230230"], pl.Int64(), [20240110, 20230230]),
        (["20240110", "12"], pl.Int64(), [20240110, 12]),
        (
            ["2024-01-10 09:30", "2024-01-10T09:05:07.25"],
            pl.Datetime("us"),
            [datetime(2024, 1, 10, 9, 30), datetime(2024, 1, 10, 9, 5, 7, 250_000)],
        ),
        (
            ["2024-01-10T09:30:00Z", "2024-01-10 10:00:00+05:30", "2024-01-10 04:00 UTC", "2024-01-10 01:00-0330"],
            pl.Datetime("us", "UTC"),
            [
                datetime(2024, 1, 10, 9, 30, tzinfo=UTC),
                datetime(2024, 1, 10, 10, tzinfo=EAST),
                datetime(2024, 1, 10, 4, tzinfo=UTC),
                datetime(2024, 1, 10, 4, 30, tzinfo=UTC),
            ],
        ),
        (["", "5", '""', "4"], pl.Int64(), [None, 5, None, 4]),
        # What is kept in full: the largest whole number, what a float is printed as, and zeros.
        (["9223372036854775807", "-9223372036854775808"], pl.Int64(), [2**63 - 1, -(2**63)]),
        (["1700000000.1234567", "1.7976931348623157e308"], pl.Float64(), [1700000000.1234567, 1.7976931348623157e308]),
        (["2024-01-10T09:05:07.250000000"], pl.Datetime("us"), [datetime(2024, 1, 10, 9, 5, 7, 250_000)]),
    ],
)
def test_what_texts_are_read_as(tmp_path: Path, times: list[str], dtype: pl.DataType, values: list[object]) -> None:
    frame = CsvReader().scan(csv(tmp_path, times)).collect()
    assert (frame["time"].dtype, frame["time"].to_list()) == (dtype, values)


@pytest.mark.parametrize(
    ("times", "row", "said"),
    [
        (["1", "2024-01-01"], 3, "'2024-01-01' is not one of numbers"),
        (["1", "2", "3.5", "noon"], 5, "'noon' is not one of numbers"),
        (["2024-01-01", "20240102"], 3, "'20240102' is not one of dates"),
        (["2024-01-01", "2024-01-01 10:00"], 3, "is not one of dates"),
        (["2024-01-01 10:00", "2024-01-01 10:00Z"], 3, "is not one of date-times without a zone"),
        (["2024-01-01 10:00Z", "2024-01-01 10:00"], 3, "is not one of date-times with a zone"),
        (["2024-01-01", "2024-02-30"], 3, "is not one of dates"),
        (["31/12/2023"], 2, "neither a number nor an ISO date"),
        (["nan"], 2, "neither a number nor an ISO date"),
        (["1", "inf"], 3, "is not one of numbers"),
        (["2024-01-31T10:00:00Z", "2024-01-31T10:00:00+99:99"], 3, "is not one of date-times with a zone"),
        (["2024-01-31T10:00:00+05:60"], 2, "neither a number nor an ISO date"),
        (
            ["2024-01-31T10:00:00.123456789", "2024-01-31T10:00:00.123456788"],
            2,
            "is not a time, or has too many digits",
        ),
        (["10000000000000000001", "10000000000000000000"], 2, "is not a time, or has too many digits"),
        (["1", "9223372036854775808"], 3, "is not a time, or has too many digits"),
        (["9007199254740993", "9007199254740992.0"], 2, "is not a time, or has too many digits"),
        (["1700000000.123456789", "1700000000.123456788"], 2, "is not a time, or has too many digits"),
    ],
)
def test_a_column_that_mixes_readings_is_refused(tmp_path: Path, times: list[str], row: int, said: str) -> None:
    path = csv(tmp_path, times)
    with pytest.raises(InputError, match=said) as caught:
        CsvReader().scan(path).collect()
    assert str(caught.value).startswith(f"{path}:{row} [time]: ")
    assert 'columns="time="' in str(caught.value)
    # What it says to do does it.
    assert "time" not in checked_table(CsvReader().raw(path), "time=").frame.collect().columns


@pytest.mark.parametrize("values", [[True, False], [[1], [2]], [b"1", b"2"], [timedelta(1), None]])
def test_types_that_are_no_times(values: list[object]) -> None:
    frame = pl.LazyFrame({"query_id": ["q", "q"], "winner": ["a", "a"], "loser": ["b", "b"], "when": values})
    known = frame.rename({"when": "time"})
    if isinstance(values[0], timedelta):
        assert validate("comparisons", known).collect()["time"].to_list() == values
    else:
        with pytest.raises(InputError, match=r"\[time\]: the column holds"):
            validate("comparisons", known)


def test_a_time_that_is_not_a_number_has_no_place_in_the_order() -> None:
    frame = {"query_id": ["q", "q"], "winner": ["a", "a"], "loser": ["b", "b"], "time": [1.0, float("nan")]}
    with pytest.raises(InputError, match=r"row 2 \[time\]: time nan"):
        validate("comparisons", pl.LazyFrame(frame))


STAMP = st.datetimes(datetime(1999, 1, 1), datetime(2030, 1, 1))
WRITTEN = {
    "whole numbers": (st.integers(-1000, 10**13), str),
    "numbers": (st.floats(-1e6, 1e12, allow_nan=False), repr),
    "dates": (st.dates(date(1900, 1, 1)), str),
    "date-times": (STAMP, lambda t: t.isoformat(sep=" ", timespec="microseconds")),
    "zones": (st.datetimes(datetime(1999, 1, 1), timezones=st.sampled_from([UTC, EAST])), lambda t: t.isoformat()),
}


@pytest.mark.parametrize("kind", part_of(WRITTEN))
@examples(15)
@given(data=st.data())
def test_the_order_is_that_of_what_was_written_in_every_format(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    values, write = WRITTEN[kind]
    times = data.draw(st.lists(values, min_size=2, max_size=12))
    expected = [sorted(set(times)).index(time) for time in times]
    folder = tmp_path_factory.mktemp("times")
    texts = [write(time) for time in times]
    path = csv(folder, texts)
    try:
        assert order(path) == expected
    except Unread as error:
        assume(error.code != "code")  # one of them is far from all others
        raise
    table = [{"winner": "a", "loser": str(row), "time": text} for row, text in enumerate(texts)]
    lines = written(folder / "votes.ndjson", "".join(json.dumps(row) + "\n" for row in table))
    assert order(lines) == expected
    assert order(stored(pl.DataFrame(table), folder / "votes.parquet")) == expected
    typed = pl.DataFrame(table).with_columns(time=pl.Series(times))
    assert order(stored(typed, folder / "typed.parquet")) == expected
    convert(path, folder / "shards", shards=2)
    # All votes are of one query, so that shards keep their order.
    assert order(folder / "shards") == expected


def test_times_as_texts_in_old_shards_are_read_too(tmp_path: Path) -> None:
    convert(csv(tmp_path, ["10", "9", "11"]), tmp_path / "old", shards=1)
    shard, manifest = tmp_path / "old" / "shard-00000.parquet", tmp_path / "old" / "manifest.json"
    pl.read_parquet(shard).with_columns(pl.col("time").cast(pl.String)).write_parquet(shard)
    manifest.write_text(manifest.read_text().replace('"time": "Int64"', '"time": "String"'))
    assert order(tmp_path / "old") == [1, 0, 2]


def test_describe_says_from_when_to_when(tmp_path: Path) -> None:
    found = describe_votes(CsvReader().scan(csv(tmp_path, ["10", "9", "11"])))
    assert (found.facts["time"], found.facts["untimed"]) == (("9", "11"), 0)
    assert dict(found.lines)["time"] == "9 to 11"
    found = describe_votes(CsvReader().scan(csv(tmp_path, ["2024-01-02", "", "2024-01-01"])))
    assert dict(found.lines)["time"].startswith("2024-01-01 to 2024-01-02; missing in 1 row, ")
    found = describe_votes(checked_table(CsvReader().raw(tmp_path / "votes.csv"), "time=").frame)
    assert dict(found.lines)["time"] == "not given"
