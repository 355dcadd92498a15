"""The public logs: what is shipped is what readings make of the original files, and has the counts of their sources."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from amounts import part_of
from data_paths import needs, real

import rankbench
from rankbench.data.cards import cards, cards_folder
from rankbench.data.convert import convert
from rankbench.interfaces.dataset import Dataset
from rankbench.plugin.manager import get

# Rows, ties and items, counted in the sources; ties of ballots are none.
SHIPPED = {
    "pandalm": (2997, 326, 5),
    "nfl": (16810, 316, 123),
    "nba": (69377, 0, 102),
    "premier-league": (5991 - 66, 1431, 41),
    "lichess": (19113 - 2, 888, 15635),
    "light-fields": (26580, 0, 37),
    "humour": (113638, 0, 4030),
    "minneapolis-2013": (79378, 0, 35),
    "eurovision": (2404, 0, 367),
    "f1": (1160 - 11, 0, 571),
}
OTHERS = {
    "ufc": (7340 - 77, 56, 2423),
    "scottish-councils": (60922, 0, 331),
    "wmt16-deu-eng": (20937, 4977, 10),
    "wmt16-eng-tur": (11184, 4111, 9),
    "wmt16-fin-eng": (30519, 9825, 9),
    "wmt16-ron-eng": (15822, 4003, 7),
    "wmt16-rus-eng": (27353, 8469, 10),
    "wmt16-tur-eng": (10188, 2589, 9),
}
SOURCES = {
    "pandalm": "testset-v1.json",
    "nfl": "nfl_games.csv",
    "nba": "derived/nba_elo.csv.gz",
    "premier-league": "*.json",
    "lichess": "chess_games.csv",
    "light-fields": "lf_quality_pwcmps.csv",
    "humour": "pairs.csv",
    "minneapolis-2013": "mn_2013_cast_vote_record.csv",
    "eurovision": "jurors.csv",
    "f1": "derived/race-results.csv.gz",
}


def counted(name: str) -> tuple[int, int, int]:
    table = get(Dataset, name).scan().collect()
    if "ranking" in table.columns:
        items = table["ranking"].explode().explode().n_unique()
        return table.height, int((table["ranking"].explode().list.len() > 1).sum()), items
    ties = int(table["tie"].sum()) if "tie" in table.columns else 0
    return table.height, ties, pl.concat([table["winner"], table["loser"]]).n_unique()


@pytest.mark.parametrize("name", part_of(SHIPPED, 3))
def test_what_is_shipped_has_the_counts_of_its_source(name):
    assert counted(name) == SHIPPED[name]
    assert cards()[name].expected.rows == SHIPPED[name][0]


@needs("logs/ufc/complete_ufc_data.csv", "logs/wmt16/wmt16.deu-eng.csv.gz")
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_shipped_has_the_counts_of_its_source(name):
    assert counted(name) == OTHERS[name]


@needs("logs/nfl/nfl_games.csv", "logs/humour/pairs.csv")
@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_shipped_is_what_its_reading_makes_of_the_original(name, tmp_path):
    original = real(f"logs/{name}/{SOURCES[name]}".replace("*", "2010-11.en.1"))
    source = tmp_path / "source" if "*" in SOURCES[name] else tmp_path / original.name
    if source.suffix:
        shutil.copy(original, source)
    else:
        source.mkdir()
        for file in original.parent.glob(SOURCES[name]):
            shutil.copy(file, source)
    (reading,) = (cards_folder() / name).glob("*reading.toml")
    shutil.copy(reading, source if source.is_dir() else tmp_path)
    convert(source, tmp_path / "made", shards=1)
    made = pl.read_parquet(tmp_path / "made" / "shard-00000.parquet")
    assert made.equals(pl.read_parquet(cards_folder() / name / f"{name}.parquet"))


def test_the_traps_of_the_sources_are_not_in_what_is_read():
    clubs = get(Dataset, "premier-league").scan().collect()
    assert "Aston Villa" not in set(clubs["winner"])
    july = clubs["time"].dt.strftime("%Y-%m")
    assert not july.is_in(["2019-06", "2019-07"]).any()
    races = get(Dataset, "f1").scan().collect()
    assert not races["query_id"].str.contains("indianapolis").filter(races["time"].dt.year() < 1961).any()
    names = races["ranking"].list.eval(pl.element().explode())
    assert (names.list.n_unique() == names.list.len()).all()


def test_once_and_same_are_read_and_said(tmp_path):
    table = tmp_path / "games.csv"
    table.write_text("id,home,guest,won\n1,Ants,Bees,home\n1,Ants,Bees,home\n2,The Bees,Ants,guest\n")
    Path(f"{table}.reading.toml").write_text(
        'once = ["id"]\n[columns]\nleft = "home"\nright = "guest"\nwinner = "won"\n[same]\nBees = "The Bees"\n'
    )
    assert rankbench.scan(table).collect().select("winner", "loser").rows() == [("Ants", "Bees"), ("Ants", "Bees")]
    assert any("leaves out 1 row that repeat" in note for note in rankbench.aggregate(table).notes)
