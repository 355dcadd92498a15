"""The shipped log of football matches: what its file holds is what its author publishes, and the script makes it."""

from __future__ import annotations

import csv
import hashlib
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
from data_paths import needs, real

import rankbench
from rankbench.data.cards import cards, cards_folder
from rankbench.ranking.votes import load_votes

RAW = "international-results/results.csv"
SCRIPT = Path(__file__).parents[2] / "scripts" / "football.py"
SHIPPED = cards_folder() / "international-results" / "results.parquet"


def test_the_log_keeps_times_sides_ties_and_what_else_is_known_of_a_match() -> None:
    rows = pl.read_parquet(SHIPPED)
    names = ("date", "home_team", "away_team", "home_score", "away_score", "tournament", "city", "country", "neutral")
    assert tuple(rows.columns) == names
    assert not rows.null_count().sum_horizontal().item()
    assert (rows.height, rows["neutral"].sum(), rows["tournament"].n_unique()) == (49520, 13156, 202)
    assert (rows["date"].min(), rows["date"].max()) == (date(1872, 11, 30), date(2026, 7, 19))
    votes = rankbench.scan("international-results").collect()
    assert votes["time"].equals(rows["date"].alias("time"))
    assert votes["tie"].sum() == (rows["home_score"] == rows["away_score"]).sum() == 11258
    home = pl.when(votes["first"]).then(votes["winner"]).otherwise(votes["loser"])
    assert (votes.select(home=home)["home"] == rows["home_team"]).all()
    loaded = load_votes(rankbench.scan("international-results"))
    assert len(loaded.items) == 337
    assert loaded.times is not None
    assert (np.diff(loaded.times) >= 0).all()
    assert loaded.times.max() + 1 == rows["date"].n_unique() == 16491


def made(source: Path, target: Path) -> bytes:
    subprocess.run([sys.executable, str(SCRIPT), str(source), str(target)], check=True)
    return target.read_bytes()


@needs(RAW)
def test_the_script_makes_the_shipped_file(tmp_path: Path) -> None:
    """The bytes are those of the card where Polars is the pinned one, and the rows in any case."""
    content = made(real(RAW), tmp_path / "one.parquet")
    assert content == made(real(RAW), tmp_path / "two.parquet")
    assert pl.read_parquet(tmp_path / "one.parquet").equals(pl.read_parquet(SHIPPED))
    pinned = (Path(__file__).parents[2] / "requirements" / "runtime.txt").read_text()
    if f"polars=={pl.__version__} " in pinned:
        assert hashlib.sha256(content).hexdigest() == cards()["international-results"].files[0].sha256


@needs(RAW)
def test_the_rows_are_those_of_the_csv() -> None:
    """Read by the csv module, field by field."""
    with real(RAW).open(newline="", encoding="utf-8") as file:
        raw = [row for row in csv.DictReader(file) if "NA" not in (row["home_score"], row["away_score"])]
    shipped = pl.read_parquet(SHIPPED).with_columns(pl.all().cast(pl.String)).to_dicts()
    assert [{**row, "neutral": row["neutral"].lower()} for row in raw] == shipped


def test_a_match_that_was_not_played_is_left_out(tmp_path: Path) -> None:
    head = "date,home_team,away_team,home_score,away_score,tournament,city,country,neutral\n"
    (tmp_path / "raw.csv").write_text(
        head + '2026-01-01,A,B,2,1,Friendly,"X, Y",Z,FALSE\n2026-01-02,B,A,NA,NA,Friendly,X,Z,TRUE\n'
    )
    made(tmp_path / "raw.csv", tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").rows() == [
        (date(2026, 1, 1), "A", "B", 2, 1, "Friendly", "X, Y", "Z", False)
    ]
