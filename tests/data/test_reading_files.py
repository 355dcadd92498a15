"""Reading files: written beside data, drafts where rankbench asks, and kept in shards."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rankbench
from rankbench.data.convert import READING, convert
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readings.draft import draft, kept_reading, reading_path, write_reading
from rankbench.data.readings.find import told
from rankbench.data.tables.column_texts import SAMPLED
from rankbench.errors import InputError, Unread
from rankbench.interfaces.reading import Reading
from rankbench.logs.open import open_log

ROWS = "home,visitor,result,month\nAnts,Bees,H,May\nBees,Cats,A,May\nCats,Ants,D,June\nAnts,Bees,H,June\n"
TOLD = {"columns": "left=home,right=visitor,winner=result", "words": "home=H,visitor=A,tie=D"}


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def wins(found: rankbench.Aggregation) -> dict[str, float]:
    return dict(found.table.select("item", "wins").iter_rows())


RIGHT = {"Ants": 2.5, "Cats": 1.5, "Bees": 0.0}


def test_a_reading_that_was_written_is_read_from_then_on(games: Path) -> None:
    first = open_log(games, columns=told(**TOLD))
    assert first.reading is not None
    file = write_reading(games, kept_reading(first.reading, ["home", "visitor", "result", "month"]))
    assert file == games.with_name("games.csv.reading.toml")
    again = rankbench.aggregate(games)
    assert wins(again) == RIGHT
    assert again.reading["source"] == file.name
    assert len(again.reading["sha256"]) == 64
    with pytest.raises(InputError, match="there already"):
        write_reading(games, "")


def test_a_column_that_a_reading_file_does_not_name_is_asked_about(games: Path) -> None:
    first = open_log(games, columns=told(**TOLD))
    assert first.reading is not None
    write_reading(games, kept_reading(first.reading, ["home", "visitor", "result", "month"]))
    games.write_text("\n".join(f"{row},{k}" for k, row in enumerate(ROWS.splitlines())), encoding="utf-8")
    with pytest.raises(Unread) as caught:
        rankbench.aggregate(games)
    assert caught.value.code == "unread"
    assert wins(rankbench.aggregate(games, columns='ignore="0"')) == RIGHT


def test_a_column_that_loses_its_role_is_not_asked_about(games: Path) -> None:
    reading = Reading.told(f"{TOLD['columns']},judge=month", TOLD["words"])
    write_reading(games, kept_reading(reading, []))
    assert "judge" in open_log(games).frame.collect_schema()
    assert "judge" not in open_log(games, columns="judge=").frame.collect_schema()


def test_a_draft_has_every_column_and_is_no_reading(games: Path) -> None:
    write_reading(games, draft(choose_reader(games).raw(games)))
    text = reading_path(games).read_text(encoding="utf-8")
    assert all(f'"{name}",' in text for name in ("home", "visitor", "result", "month"))
    with pytest.raises(Unread) as caught:
        rankbench.aggregate(games)
    assert caught.value.code == "roles"
    moved = text.replace('# ROLE = "COLUMN"', 'left = "home"\nright = "visitor"\nwinner = "result"')
    moved = moved.replace("# [words]", "[words]").replace('# COLUMN = "WORD"', 'home = "H"\nvisitor = "A"')
    reading_path(games).write_text(moved.replace('# tie = "WORD"', 'tie = "D"'), encoding="utf-8")
    assert wins(rankbench.aggregate(games)) == RIGHT


def test_a_folder_has_one_reading(games: Path) -> None:
    games.with_name("more.csv").write_text("home,visitor,result,month\nCats,Bees,A,July\n", encoding="utf-8")
    reading = Reading.told(**TOLD).with_({"ignore": ("month",)})
    write_reading(games.parent, reading.to_toml())
    assert wins(rankbench.aggregate(games.parent)) == {"Ants": 2.5, "Cats": 1.5, "Bees": 1.0}


def test_shards_hold_the_reading_of_their_source(games: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    convert(games, folder, shards=1, told=told(**TOLD))
    metadata = pl.read_parquet_metadata(folder / "shard-00000.parquet")
    assert 'winner = "result"' in metadata[READING]
    found = rankbench.aggregate(folder)
    assert wins(found) == RIGHT
    assert found.notes[0].startswith("read as votes: home against visitor; result: H = home 2")


@pytest.mark.parametrize("reading", [Reading.told(**TOLD), "path"])
def test_python_takes_a_whole_reading(games: Path, tmp_path: Path, reading: Reading | str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(Reading.told(**TOLD).to_toml(), encoding="utf-8")
    assert wins(rankbench.aggregate(games, reading=own if reading == "path" else reading)) == RIGHT
    fewer = rankbench.aggregate(games, reading=own, words="missing=D")
    assert wins(fewer) == {"Ants": 2.0, "Cats": 1.0, "Bees": 0.0}


def test_a_reading_file_that_is_none_names_itself(games: Path) -> None:
    reading_path(games).write_text("[columns]\nleft = 3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"games\.csv\.reading\.toml"):
        rankbench.aggregate(games)
    reading_path(games).write_text("[colums]\n", encoding="utf-8")
    with pytest.raises(InputError, match="did you mean 'columns'"):
        rankbench.aggregate(games)


def test_what_stands_in_the_first_rows_of_a_long_table_says_so() -> None:
    rows = SAMPLED + 5
    frame = pl.DataFrame({"a": ["x", "y"] * (rows // 2) + ["x"], "b": ["y", "x"] * (rows // 2) + ["y"], "lang": "en"})
    notes = rankbench.aggregate(frame, columns="winner=a,loser=b").notes
    assert notes[0].endswith("not read: lang (en 10,000 in the first 10,000 rows)  (told)")
    notes = rankbench.aggregate(frame.head(50), columns="winner=a,loser=b").notes
    assert notes[0].endswith("not read: lang (en 50)  (told)")


def test_conditions_of_a_reading_file_hold_beside_told_columns(games: Path) -> None:
    reading = Reading.told(**TOLD).with_({"ignore": ("month",)}, unless={"month": ("June",)})
    write_reading(games, reading.to_toml())
    expected = {"Ants": 1.0, "Cats": 1.0, "Bees": 0.0}
    assert wins(rankbench.aggregate(games)) == expected
    found = rankbench.aggregate(games, **TOLD)
    assert wins(found) == expected
    assert found.reading["source"] == "games.csv.reading.toml, told"


def test_words_of_a_condition_that_no_row_has_are_said(games: Path) -> None:
    reading = Reading.told(**TOLD).with_({"ignore": ("month",)}, unless={"month": ("Juni",)})
    write_reading(games, reading.to_toml())
    assert "no row has 'Juni' in 'month', which the reading names" in rankbench.aggregate(games).notes


def test_a_column_of_a_filter_needs_no_role(games: Path) -> None:
    write_reading(games, Reading.told(**TOLD).to_toml())
    with pytest.raises(Unread, match="month"):
        rankbench.aggregate(games)
    assert wins(rankbench.aggregate(games, where="month = 'May'")) == {"Ants": 1.0, "Cats": 1.0, "Bees": 0.0}
