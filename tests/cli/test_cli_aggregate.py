"""What ``rankbench aggregate`` shows and writes: method, unit, counts, points, pairs, pictures."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from pathlib import Path

import pytest
from PIL import Image

from rankbench.ranking.aggregate import aggregate

VOTES = b"left,right,winner\n" + b"".join(
    [b"a,b,left\n" * 6, b"a,b,right\n" * 2, b"b,c,left\n" * 5, b"b,c,right\n" * 3, b"a,c,tie\n" * 2]
)


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "votes.csv"
    path.write_bytes(VOTES)
    return str(path)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_table_names_method_unit_and_counts(rankbench, log: str) -> None:
    shown = rankbench("aggregate", log).stdout.splitlines()
    assert shown[0].startswith(
        "bradley-terry:penalty=firth: 18 judgments; scores in log-odds; places by score: --intervals shows"
    )
    assert shown[1].split() == ["place", "item", "score", "votes", "wins"]
    assert shown[2].split()[:2] == ["1", "a"]
    assert shown[2].split()[-2:] == ["10", "7"]


def test_without_intervals_places_are_no_ranks(rankbench, log: str) -> None:
    plain = rankbench("aggregate", log, "--format", "csv").stdout
    known = rankbench("aggregate", log, "--format", "csv", "--intervals", "bootstrap").stdout
    assert plain.splitlines()[0] == "item,score,place_low,place_high,lower,upper,scale,votes,wins"
    assert known.splitlines()[0] == "item,score,rank_low,rank_high,lower,upper,scale,votes,wins"
    assert {(row["item"], row["votes"], row["wins"]) for row in rows(plain)} == {
        ("a", "10.0", "7.0"), ("b", "16.0", "7.0"), ("c", "10.0", "4.0"),
    }  # fmt: skip


def test_json_is_complete(rankbench, log: str) -> None:
    how = ("--intervals", "bootstrap", "--replicates", "200", "--seed", "7")
    done = rankbench("aggregate", log, "--format", "json", *how)
    found = json.loads(done.stdout)
    assert found["schema_version"] == 1
    assert found["method"].startswith("bradley-terry")
    assert found["data"] == {"sha256": hashlib.sha256(VOTES).hexdigest(), "n": 18}
    assert found["intervals"] == {
        "kind": "bootstrap", "level": 0.95, "scores": "each alone", "ranks": "all together", "resamples": 200,
        "seed": 7,
    }  # fmt: skip
    assert found["units"] == {"score": "log-odds", "votes": "votes", "wins": "wins"}
    assert found["seed"] == 7
    assert {"notes", "items"} <= set(found)
    plain = json.loads(rankbench("aggregate", log, "--format", "json").stdout)
    assert plain["intervals"] is None
    assert "rank_low" not in plain["items"][0]


def test_points_are_log_odds_with_an_anchor(rankbench, log: str) -> None:
    plain = {r["item"]: float(r["score"]) for r in rows(rankbench("aggregate", log, "--format", "csv").stdout)}
    done = rankbench("aggregate", log, "--format", "csv", "--scale", "elo:anchor=b@1000")
    points = {r["item"]: float(r["score"]) for r in rows(done.stdout)}
    assert points["b"] == pytest.approx(1000)
    for item, score in plain.items():
        # Four hundred points are a factor ten of the odds.
        assert 10 ** ((points[item] - 1000) / 400) == pytest.approx(math.exp(score - plain["b"]))
    done = rankbench("aggregate", log, "--format", "csv", "--scale", "elo")
    assert sum(float(row["score"]) for row in rows(done.stdout)) / 3 == pytest.approx(1500)
    assert "scores in Elo points, b at 1000" in rankbench("aggregate", log, "--scale", "elo:anchor=b@1000").stdout


def test_shares_of_wins_by_pair(rankbench, log: str, tmp_path: Path) -> None:
    done = rankbench("aggregate", log, "--matrix", "--format", "csv")
    found = {row["item"]: row for row in rows(done.stdout)}
    assert (found["a"]["b"], found["b"]["a"]) == ("0.75", "0.25")
    assert (found["b"]["c"], found["c"]["b"]) == ("0.625", "0.375")
    assert (found["a"]["c"], found["c"]["a"], found["a"]["a"]) == ("0.5", "0.5", "")
    shown = rankbench("aggregate", log, "--matrix", "--top", "2").stdout.splitlines()
    assert shown[0].endswith("share of wins of the row against the column")
    assert [line.split() for line in shown[1:]] == [["a", "b"], ["a", "—", "0.75"], ["b", "0.25", "—"]]
    out = tmp_path / "pairs.json"
    rankbench("aggregate", log, "--matrix", "--out", str(out))
    assert json.loads(out.read_text())["share_of_wins"]["a"] == {"a": None, "b": 0.75, "c": 0.5}


def test_top_leaves_places_among_all(rankbench, log: str) -> None:
    found = rows(rankbench("aggregate", log, "--top", "2", "--format", "csv").stdout)
    assert [(row["item"], row["place_low"], row["place_high"]) for row in found] == [("a", "1", "1"), ("b", "2", "2")]


def test_a_picture_fits_a_slide(rankbench, log: str, tmp_path: Path) -> None:
    out = tmp_path / "ranking.png"
    assert rankbench("aggregate", log, "--intervals", "bootstrap", "--out", str(out)).exit_code == 0
    width, height = Image.open(out).size
    assert width > height
    drawn = tmp_path / "ranking.svg"
    rankbench("aggregate", log, "--out", str(drawn))
    assert drawn.read_text().startswith("<?xml")


def test_letters_that_no_picture_has_are_one_note(rankbench, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    names = ["通义千问", "文心一言", "한국어 모델"]
    path.write_text("winner,loser\n" + "".join(f"{a},{b}\n" for a in names for b in names if a != b), encoding="utf-8")
    done = rankbench("aggregate", str(path), "--out", str(tmp_path / "ranking.png"))
    assert done.exit_code == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("note: letters that DejaVu Sans has not are boxes in the picture: ")
    assert line.endswith(" and 5 more")


def test_ballots_count_firsts(rankbench, tmp_path: Path) -> None:
    path = tmp_path / "poll.soc"
    path.write_text(
        "# FILE NAME: poll.soc\n# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n"
        "# ALTERNATIVE NAME 3: z\n3: 1,2,3\n2: 2,1,3\n"
    )
    done = rankbench("aggregate", str(path))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[-2:] == ["ballots", "firsts"]
    table = {line.split()[1]: line.split()[-2:] for line in done.stdout.splitlines()[2:]}
    assert table == {"x": ["5", "3"], "y": ["5", "2"], "z": ["5", "0"]}


def test_a_notebook_shows_the_table_with_its_method(log: str) -> None:
    shown = aggregate(log, "win-rate")._repr_html_()
    assert shown.startswith("<p>win-rate</p>")
    assert "<td>&quot;a&quot;</td>" in shown
    assert "wins" in shown


def test_the_column_that_rankings_are_by_heads_them(rankbench, tmp_path: Path) -> None:
    path = tmp_path / "turns.csv"
    path.write_text("winner,loser,turn|of\na,b,1\nb,a,1\na,b,2\n")
    done = rankbench("aggregate", str(path), "--by", "turn|of")
    assert done.stdout.splitlines()[1].split()[:3] == ["turn|of", "place", "item"]
    table = rankbench("aggregate", str(path), "--by", "turn|of", "--format", "md").stdout.splitlines()
    assert table[0].startswith(r"| turn\|of | place | item |")
    assert table[1].startswith("| :-- | --: | :-- |")
    assert rankbench("aggregate", str(path), "--by", "turn|of", "--format", "csv").stdout.startswith("query,item,")


def test_printed_in_python_a_ranking_shows_no_counts_of_pairs(log: str) -> None:
    found = aggregate(log)
    assert found.pairs is not None
    assert found.facts["by"] is None
    assert "PairCounts" not in repr(found)
