"""Rankings of categories side by side: ``rankbench aggregate --by COLUMN --across``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest

import rankbench as rb
from rankbench.cli.rankings import MOST_ON_A_PAGE, across_table
from rankbench.errors import SpecError
from rankbench.ranking.rankings_across import rankings_across

PAIRS = {"maths": ["ab"] * 9 + ["bc"] * 7 + ["ac"] * 6, "prose": ["ba"] * 5 + ["ca"] * 3, "=code": ["cb"] * 2}


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "votes.csv"
    rows = [f"{pair[0]},{pair[1]},{name}" for name, pairs in PAIRS.items() for pair in pairs]
    path.write_text("\n".join(["winner,loser,category", *rows]) + "\n")
    return str(path)


def test_a_row_is_an_item_and_a_column_a_category(rankbench, log: str) -> None:
    done = rankbench("aggregate", log, "--by", "category", "--across")
    header, *lines = [line.split() for line in done.stdout.splitlines()[1:]]
    # The category with the most judgments first.
    assert header == ["item", "maths", "prose", "=code"]
    assert {line[0]: line[1:] for line in lines}["a"] == ["1", "3", "—"]
    below = rb.aggregate(log, by="category").table
    for name in PAIRS:
        at = header.index(name)
        expected = dict(below.filter(pl.col("query") == name).select("item", "rank_low").iter_rows())
        assert {line[0]: line[at] for line in lines if line[at] != "—"} == {i: str(p) for i, p in expected.items()}


def test_scores_and_ranges_are_those_of_each_category(rankbench, log: str, tmp_path: Path) -> None:
    how = ("--by", "category", "--intervals", "bootstrap", "--replicates", "50")
    below = list(csv.DictReader(io.StringIO(rankbench("aggregate", log, *how, "--format", "csv").stdout)))
    ranks = list(csv.DictReader(io.StringIO(rankbench("aggregate", log, *how, "--across", "--format", "csv").stdout)))
    scores = rankbench("aggregate", log, *how, "--across", "scores", "--format", "csv").stdout
    by_item = {row["item"]: row for row in csv.DictReader(io.StringIO(scores))}
    # A spreadsheet must not take a name for a formula.
    assert set(by_item["a"]) == {"item", "maths", "prose", "'=code"}
    assert len(below) == 8
    for row in below:
        (found,) = [one for one in ranks if one["item"] == row["item"]]
        ends = [f"{row['query']} rank_low", f"{row['query']} rank_high"]
        assert [found[end] for end in ends] == [row["rank_low"], row["rank_high"]]
        assert float(by_item[row["item"]][row["query"]]) == float(row["score"])
    assert by_item["a"]["'=code"] == ""
    out = tmp_path / "across.json"
    rankbench("aggregate", log, *how, "--across", "--out", str(out))
    said = json.loads(out.read_text())
    assert [one["name"] for one in said["categories"]] == ["maths", "prose", "=code"]
    (a,) = [one for one in said["items"] if one["item"] == "a"]
    assert set(a["categories"]) == {"maths", "prose"}
    assert set(a["categories"]["maths"]) == {"score", "rank_low", "rank_high"}
    rankbench("aggregate", log, *how, "--across", "scores", "--out", str(tmp_path / "across.parquet"))
    assert pl.read_parquet(tmp_path / "across.parquet").columns == ["item", "maths", "prose", "=code"]


def test_without_intervals_places_are_no_ranks(rankbench, log: str) -> None:
    header = rankbench("aggregate", log, "--by", "category", "--across", "--format", "csv").stdout.splitlines()[0]
    assert header.startswith("item,maths place_low,maths place_high,prose place_low")


def test_top_leaves_the_first_items(rankbench, log: str) -> None:
    lines = rankbench(
        "aggregate", log, "--by", "category", "--across", "--top", "2", "--format", "md"
    ).stdout.splitlines()
    assert len([line for line in lines if line.startswith("|")]) == 4


def test_of_many_categories_people_see_the_largest(rankbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "votes.csv"
    rows = [f"{winner},{loser},category {at}" for at in range(40) for winner, loser in ["ab", "bc", "ca"] * (at + 1)]
    path.write_text("\n".join(["winner,loser,category", *rows]) + "\n")
    how = ("aggregate", str(path), "--by", "category", "--across")
    page = rankbench(*how, "--format", "md").stdout
    assert page.splitlines()[0].count("category") == MOST_ON_A_PAGE
    assert page.startswith("| item | category 39 | category 38 |")
    assert "12 of 40 categories are shown, those with the most judgments; --format csv has all" in page
    assert rankbench(*how, "--format", "csv").stdout.splitlines()[0].count("place_low") == 40
    # A terminal shows as many as it has room for.
    across = rankings_across(rb.aggregate(path, by="category"))
    monkeypatch.setenv("COLUMNS", "60")
    table = across_table(across, "ranks", "", fitted=True)
    assert len(table.columns) == 5
    assert len("  ".join(table.columns)) <= 60
    assert {len(row) for row in table.rows} == {5}


def test_one_ranking_has_nothing_beside_it(log: str) -> None:
    with pytest.raises(SpecError, match="side by side where there is one for each category"):
        rankings_across(rb.aggregate(log))
