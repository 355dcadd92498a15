"""What ``rankbench aggregate`` shows and writes."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from data_files import written

import rankbench as rb
from rankbench.cli.rankings import MOST_ON_A_PAGE, across_table
from rankbench.errors import SpecError
from rankbench.ranking.aggregate import aggregate
from rankbench.ranking.pictures import categories_drawing
from rankbench.ranking.rankings_across import rankings_across

VOTES = b"left,right,winner\n" + b"".join(
    [b"a,b,left\n" * 6, b"a,b,right\n" * 2, b"b,c,left\n" * 5, b"b,c,right\n" * 3, b"a,c,tie\n" * 2]
)


@pytest.fixture
def log(tmp_path: Path) -> str:
    return str(written(tmp_path / "votes.csv", VOTES))


@pytest.mark.full
def test_every_form_of_json_holds_the_reading(rankbench, tmp_path: Path) -> None:
    games = [("ab", "bc", "ca", "ba")[at % 4] for at in range(60)]
    rows = "".join(f"{x},{y},{(x, y)[at % 3 == 0]},{at // 20},en\n" for at, (x, y) in enumerate(games))
    log = str(written(tmp_path / "games.csv", "home,away,winner,time,lang\n" + rows))
    told = ("--columns", "left=home,right=away,winner=winner,time=time", "--format", "json")
    forms = ([], ["--between", "a", "b"], ["--by", "lang", "--across", "ranks"], ["--matrix"], ["--over", "time"])
    for form in (*forms, ["--control", "side", "--effects"]):
        reading = json.loads(rankbench("aggregate", log, *told, *form).stdout)["reading"]
        assert (reading["columns"]["left"], reading["source"]) == (["home"], "told")


def test_the_table_names_method_unit_and_counts(rankbench, log: str) -> None:
    shown = rankbench("aggregate", log).stdout.splitlines()
    assert shown[:2] == ["a has the highest score of 3 items in 18 votes; --intervals shows how certain that is.", ""]
    assert shown[2].split() == ["place", "item", "score", "votes", "won"]
    assert shown[3].split()[:2] == ["1", "a"]
    assert shown[3].split()[-2:] == ["10", "70%"]
    assert shown[-1] == "Score: bradley-terry:penalty=firth, log-odds; a score higher by 1 wins 73%."


def test_the_next_pair_has_intervals(rankbench, tmp_path: Path) -> None:
    """An item of one vote is first, and no difference from it is known."""
    votes = str(written(tmp_path / "votes.csv", VOTES + b"a,d,right\n" + b"c,b,left\n" * 9))
    shown = rankbench("aggregate", votes, "--intervals")
    assert next(line for line in shown.stdout.splitlines() if " d " in line).split()[6] == "\u2014"
    assert " | --between a c | " in shown.stderr


def test_without_intervals_places_are_no_ranks(rows, log: str) -> None:
    plain, known = rows(log), rows(log, "--intervals", "bootstrap")
    assert {"rank_low", "rank_high", "may_be_first", "lower", "upper"} <= known[0].keys()
    assert [*plain[0]] == [name.replace("rank", "place") for name in known[0] if name != "may_be_first"]
    assert {(row["item"], row["votes"], row["wins"]) for row in plain} == {
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
        "kind": "bootstrap", "over": "votes", "level": 0.95, "scores": "each alone", "ranks": "all together",
        "resamples": 200, "seed": 7,
    }  # fmt: skip
    assert found["units"] == {"score": "log-odds", "votes": "votes", "wins": "wins"}
    assert found["seed"] == 7
    assert {"notes", "items"} <= set(found)
    plain = json.loads(rankbench("aggregate", log, "--format", "json").stdout)
    assert plain["intervals"] is None
    assert "rank_low" not in plain["items"][0]


def test_points_are_log_odds_with_an_anchor(rankbench, rows, log: str) -> None:
    plain = {r["item"]: float(r["score"]) for r in rows(log)}
    points = {r["item"]: float(r["score"]) for r in rows(log, "--scale", "elo:anchor=b@1000")}
    assert points["b"] == pytest.approx(1000)
    for item, score in plain.items():
        # Four hundred points are a factor ten of the odds.
        assert 10 ** ((points[item] - 1000) / 400) == pytest.approx(math.exp(score - plain["b"]))
    assert sum(float(row["score"]) for row in rows(log, "--scale", "elo")) / 3 == pytest.approx(1500)
    shown = rankbench("aggregate", log, "--scale", "elo:anchor=b@1000").stdout
    assert "Elo points, b at 1000" in shown
    for item, score in plain.items():
        people = next(line.split()[2] for line in shown.splitlines() if line.split()[1:2] == [item])
        assert people == f"{1000 + 400 * (score - plain['b']) / math.log(10):.0f}"


def test_shares_of_wins_by_pair(rankbench, rows, log: str, tmp_path: Path) -> None:
    found = {row["item"]: row for row in rows(log, "--matrix")}
    assert (found["a"]["b"], found["b"]["a"]) == ("0.75", "0.25")
    assert (found["b"]["c"], found["c"]["b"]) == ("0.625", "0.375")
    assert (found["a"]["c"], found["c"]["a"], found["a"]["a"]) == ("0.5", "0.5", "")
    shown = rankbench("aggregate", log, "--matrix", "--top", "2").stdout.splitlines()
    assert shown[0] == "a wins more often than it loses against 1 of 2 items that it met."
    assert [line.split() for line in shown[3:6]] == [["a", "b"], ["a", "—", "0.75"], ["b", "0.25", "—"]]
    out = tmp_path / "pairs.json"
    rankbench("aggregate", log, "--matrix", "--out", str(out))
    assert json.loads(out.read_text())["share_of_wins"]["a"] == {"a": None, "b": 0.75, "c": 0.5}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--matrix", "--intervals"), "leave --intervals out"),
        (("--by", "query", "--across", "scores", "--intervals"), "leave --intervals out"),
    ],
)
def test_options_that_show_nothing_are_rejected(rankbench, log: str, options: tuple[str, ...], said: str) -> None:
    done = rankbench("aggregate", log, *options)
    assert done.exit_code == 2
    assert said in done.stderr


def test_top_leaves_places_among_all(rows, log: str) -> None:
    found = rows(log, "--top", "2")
    assert [(row["item"], row["place_low"], row["place_high"]) for row in found] == [("a", "1", "1"), ("b", "2", "2")]


def test_a_picture_of_categories_has_a_plot_for_each_of_the_largest(tmp_path: Path) -> None:
    names = [(f"{x},{y},{x if at % 3 else y},{at % 5}") for at, (x, y) in enumerate(["ab", "bc", "ca"] * 40)]
    path = written(tmp_path / "kinds.csv", "left,right,winner,query\n" + "\n".join(names))
    found = aggregate(path, by="query", intervals="auto")
    across = rankings_across(found)
    figure = categories_drawing(found.table, found.method, found.facts, across.items, across.categories)
    (plots,) = figure.drawing.plots
    assert [plot.title for plot in plots] == [f"query {name}" for name in across.categories[:4]]
    for plot, name in zip(plots, across.categories, strict=False):
        of_query = {row["item"]: row for row in found.table.filter(query=name).iter_rows(named=True)}
        assert {dot.row: dot.value for dot in plot.dots} == {item: row["score"] for item, row in of_query.items()}
    assert figure.canvas().axes[0].get_title() == plots[0].title


def test_letters_that_no_picture_has_are_one_note(rankbench, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    names = ["通义千问", "文心一言", "한국어 모델"]
    path.write_text("winner,loser\n" + "".join(f"{a},{b}\n" for a in names for b in names if a != b), encoding="utf-8")
    done = rankbench("aggregate", str(path), "--out", str(tmp_path / "ranking.png"))
    assert done.exit_code == 0
    (line,) = done.stderr.splitlines()[1:]
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
    head, *lines = done.stdout.splitlines()[2:6]
    assert head.split()[-2:] == ["ballots", "firsts"]
    table = {line.split()[1]: line.split()[-2:] for line in lines}
    assert table == {"x": ["5", "60%"], "y": ["5", "40%"], "z": ["5", "0%"]}


def test_winners_are_named(rankbench, rows, tmp_path: Path) -> None:
    path = str(written(tmp_path / "elected.csv", b"ranking,count\n2>0>1,2\n1>2>0,2\n"))
    shown = rankbench("aggregate", path, "--method", "schulze", "--top", "1").stdout
    assert shown.splitlines()[0] == "schulze elects 2, 1 of 3 items."
    items = json.loads(rankbench("aggregate", path, "--method", "schulze", "--json").stdout)["items"]
    assert {item["item"]: item["winner"] for item in items} == {"2": True, "1": True, "0": False}
    assert [row["winner"] for row in rows(path, "--method", "schulze")] == ["true", "true", "false"]
    assert "elects" not in rankbench("aggregate", path, "--method", "borda").stdout


def test_the_column_that_rankings_are_by_heads_them(rankbench, tmp_path: Path) -> None:
    path = written(tmp_path / "turns.csv", "winner,loser,turn|of\na,b,1\nb,a,1\na,b,2\n")
    done = rankbench("aggregate", str(path), "--by", "turn|of")
    assert done.stdout.splitlines()[2].split()[:3] == ["turn|of", "place", "item"]
    table = rankbench("aggregate", str(path), "--by", "turn|of", "--format", "md").stdout.splitlines()[2:]
    assert table[0].startswith(r"| turn\|of | place | item |")
    assert table[1].startswith("| :-- | --: | :-- |")
    assert rankbench("aggregate", str(path), "--by", "turn|of", "--format", "csv").stdout.startswith("query,item,")


def test_printed_in_python_a_ranking_shows_no_counts_of_pairs(log: str) -> None:
    found = aggregate(log)
    assert found.pairs is not None
    assert found.facts["by"] is None
    assert "PairCounts" not in repr(found)


PAIRS = {"maths": ["ab"] * 9 + ["bc"] * 7 + ["ac"] * 6, "prose": ["ba"] * 5 + ["ca"] * 3, "=code": ["cb"] * 2}


@pytest.fixture
def by_category(tmp_path: Path) -> str:
    path = tmp_path / "votes.csv"
    lines = [f"{pair[0]},{pair[1]},{name}" for name, pairs in PAIRS.items() for pair in pairs]
    path.write_text("\n".join(["winner,loser,category", *lines]) + "\n")
    return str(path)


def test_a_row_is_an_item_and_a_column_a_category(rankbench, by_category: str) -> None:
    done = rankbench("aggregate", by_category, "--by", "category", "--across")
    header, *lines = [line.split() for line in done.stdout.splitlines()[2:-1]]
    # The category with the most judgments first.
    assert header == ["item", "maths", "prose", "=code"]
    assert {line[0]: line[1:] for line in lines}["a"] == ["1", "3", "—"]
    below = rb.aggregate(by_category, by="category").table
    for name in PAIRS:
        at = header.index(name)
        expected = dict(below.filter(pl.col("query") == name).select("item", "rank_low").iter_rows())
        assert {line[0]: line[at] for line in lines if line[at] != "—"} == {i: str(p) for i, p in expected.items()}


def test_scores_and_ranges_are_those_of_each_category(rankbench, rows, by_category: str, tmp_path: Path) -> None:
    how = ("--by", "category", "--intervals", "bootstrap", "--replicates", "50")
    below, ranks = rows(by_category, *how), rows(by_category, *how, "--across")
    by_item = {row["item"]: row for row in rows(by_category, *how[:2], "--across", "scores")}
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
    rankbench("aggregate", by_category, *how, "--across", "--out", str(out))
    said = json.loads(out.read_text())
    assert [one["name"] for one in said["categories"]] == ["maths", "prose", "=code"]
    (a,) = [one for one in said["items"] if one["item"] == "a"]
    assert set(a["categories"]) == {"maths", "prose"}
    assert set(a["categories"]["maths"]) == {"score", "rank_low", "rank_high"}
    rankbench("aggregate", by_category, *how[:2], "--across", "scores", "--out", str(tmp_path / "across.parquet"))
    assert pl.read_parquet(tmp_path / "across.parquet").columns == ["item", "maths", "prose", "=code"]


def test_without_intervals_places_of_categories_are_no_ranks(rankbench, by_category: str) -> None:
    header = rankbench("aggregate", by_category, "--by", "category", "--across", "--format", "csv").stdout.splitlines()[
        0
    ]
    assert header.startswith("item,maths place_low,maths place_high,prose place_low")


def test_top_leaves_the_first_items(rankbench, by_category: str) -> None:
    lines = rankbench(
        "aggregate", by_category, "--by", "category", "--across", "--top", "2", "--format", "md"
    ).stdout.splitlines()
    assert len([line for line in lines if line.startswith("|")]) == 4


def test_of_many_categories_people_see_the_largest(rankbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "votes.csv"
    rows = [f"{winner},{loser},category {at}" for at in range(40) for winner, loser in ["ab", "bc", "ca"] * (at + 1)]
    path.write_text("\n".join(["winner,loser,category", *rows]) + "\n")
    how = ("aggregate", str(path), "--by", "category", "--across")
    page = rankbench(*how, "--format", "md").stdout
    head = next(line for line in page.splitlines() if line.startswith("|"))
    assert head.count("category") == MOST_ON_A_PAGE
    assert head.startswith("| item | category 39 | category 38 |")
    assert "The table has 12 of 40 categories, the largest; --format csv has all" in page
    assert rankbench(*how, "--format", "csv").stdout.splitlines()[0].count("place_low") == 40
    # A terminal shows as many as it has room for.
    across = rankings_across(rb.aggregate(path, by="category"))
    monkeypatch.setenv("COLUMNS", "60")
    table = across_table(across, "ranks", fitted=True)
    assert len(table.columns) == 5
    assert len("  ".join(table.columns)) <= 60
    assert {len(row) for row in table.rows} == {5}


def test_items_with_wide_rank_ranges_have_their_place_by_score() -> None:
    """A rank range of 1 to 4 has the mean 2.5, behind an item that is the third for sure."""
    rows = [("q", "good", 2.0, 1, 4), ("q", "fair", 1.0, 2, 2), ("q", "poor", -1.0, 2, 3), ("q", "bad", -2.0, 3, 4)]
    table = pl.DataFrame(rows, ["query", "item", "score", "rank_low", "rank_high"], orient="row")
    found = rankings_across(rb.Aggregation(table.with_columns(votes=pl.lit(1.0), may_be_first=None), "m", ()), top=2)
    assert found.items == ["good", "fair"]


def test_one_ranking_has_nothing_beside_it(by_category: str) -> None:
    with pytest.raises(SpecError, match="side by side where there is one for each category"):
        rankings_across(rb.aggregate(by_category))


@pytest.fixture(scope="module")
def on_sides(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return votes of three items on which the left wins more."""
    path = tmp_path_factory.mktemp("control") / "votes.csv"
    rows = []
    for left, right, wins in zip("abbcac", "bacbca", (16, 9, 14, 11, 17, 8), strict=True):
        rows += [(left, right, "left" if k < wins else "right", k % 5, k % 3) for k in range(20)]
    pl.DataFrame(rows, schema=["left", "right", "winner", "words_left", "words_right"], orient="row").write_csv(path)
    return str(path)


CONTROL = ("--control", "side, words")


def test_items_and_effects_are_two_tables(rankbench, rows, on_sides: str) -> None:
    result = rankbench("aggregate", on_sides, *CONTROL)
    assert result.exit_code == 0
    assert "unadjusted score" in result.stdout
    assert "between equals, the left wins" in result.stdout


def test_json_has_effects_beside_items(rankbench, rows, on_sides: str) -> None:
    record = json.loads(rankbench("aggregate", on_sides, *CONTROL, "--intervals", "--json").stdout)
    assert [effect["covariate"] for effect in record["effects"]] == ["side", "words"]
    assert set(record["effects"][0]) == {"covariate", "effect", "lower", "upper", "p", "unit", "words"}
    assert {"unadjusted_score", "unadjusted_rank_low", "unadjusted_lower"} <= set(record["items"][0])
    assert record["intervals"]["kind"] == "sandwich"


def test_without_intervals_places_are_called_places(rankbench, rows, on_sides: str) -> None:
    found = rows(on_sides, *CONTROL)
    assert {"place_low", "unadjusted_place_low"} <= set(found[0])


@pytest.mark.full
def test_effects_in_every_format(rankbench, rows, on_sides: str, tmp_path: Path) -> None:
    record = json.loads(rankbench("aggregate", on_sides, *CONTROL, "--effects", "--json").stdout)
    found = rows(on_sides, *CONTROL, "--effects")
    assert [float(row["effect"]) for row in found] == [effect["effect"] for effect in record["effects"]]
    assert (
        rankbench("aggregate", on_sides, *CONTROL, "--effects", "--out", str(tmp_path / "effects.parquet")).exit_code
        == 0
    )
    assert pl.read_parquet(tmp_path / "effects.parquet").to_dicts() == record["effects"]
    lines = rankbench("aggregate", on_sides, *CONTROL, "--effects", "--format", "md").stdout.splitlines()
    assert lines[2].startswith("| covariate | effect (log-odds) |")
    whole = rankbench("aggregate", on_sides, *CONTROL, "--format", "md").stdout
    assert "\n".join(lines[2:6]) in whole


KINDS = ("US, UK", "de", "fr")


@pytest.fixture(scope="module")
def by_kind(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a log of three kinds, one of which has a comma in its name."""
    rng, lines = np.random.default_rng(0), ["winner,loser,kind"]
    for kind in KINDS:
        for _ in range(60):
            a, b = rng.choice(4, 2, replace=False)
            first, second = (a, b) if rng.random() < 1 / (1 + np.exp(a - b)) else (b, a)
            lines.append(f'item {first},item {second},"{kind}"')
    return str(written(tmp_path_factory.mktemp("pooled") / "votes.csv", "\n".join(lines) + "\n"))


def test_a_pooled_table_and_what_is_said_of_it(rankbench, by_kind: str) -> None:
    done = rankbench("aggregate", by_kind, "--by", "kind", "--pool")
    assert done.exit_code == 0, done.stderr
    assert "kind shows no significant effect." in done.stdout.splitlines()[0]
    assert done.stdout.count(" item 0 ") == 3
    assert "note: kind shows no significant effect: chance may explain how scores differ " in done.stderr
    assert "999 random exchanges of the categories of votes" in done.stderr
    assert "standard deviation of " in done.stderr


@pytest.mark.full
def test_pooled_files(rankbench, rows, by_kind: str, tmp_path: Path) -> None:
    pooled = rows(by_kind, "--by", "kind", "--pool")
    assert list(pooled[0])[:5] == ["query", "item", "score", "rank_low", "rank_high"]
    assert {row["query"] for row in pooled} == set(KINDS)
    page = rankbench("aggregate", by_kind, "--by", "kind", "--pool", "--format", "md").stdout
    assert "| kind | rank | item | score | 95% interval | votes | won |" in page
    assert "log-odds (95% interval " in page
    assert " by REML). It shrinks scores of categories toward the common ones" in page
    out = tmp_path / "pooled.json"
    done = rankbench("aggregate", by_kind, "--by", "kind", "--pool", "--out", str(out))
    assert done.exit_code == 0, done.stderr
    found = json.loads(out.read_text())
    assert found["pool"]["lower"] <= found["pool"]["variance"]
    assert (found["pool"]["differences"], found["pool"]["trials"], found["pool"]["unit"]) == (6, 999, "log-odds")
    assert found["items"][0]["item"] == "item 0"


def test_pooled_categories_side_by_side(rows, by_kind: str) -> None:
    assert set(rows(by_kind, "--by", "kind", "--pool", "--across", "scores")[0]) == {"item", *KINDS}
