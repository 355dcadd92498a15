"""The kind of table in the docstring of TableKind, installed: files, errors, shards, a suite of its own."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from forked import installed, run_program
from installed import install_plugin
from small_suites import suite_text

from rankbench.data.readings.standard import by_standard_names
from rankbench.data.tables.kinds import applied
from rankbench.errors import Unread
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import RawTable
from rankbench.plugin.loading import load

EXAMPLES = inspect.getdoc(TableKind).partition("Examples\n")[2]
KIND, CHECK = (textwrap.dedent(part.removesuffix(".. ")) for part in EXAMPLES.split("code-block:: python\n")[1:])

HOOK = """
from pathlib import Path

# What `run --log` takes for such a file.
Ratings.suite, Ratings.words = "own-ratings", "ratings"


@rankbench.hookimpl
def rankbench_register():
    return [Ratings, Path(__file__).with_name("own-ratings.toml")]
"""

DISAGREEMENT = 'losses = ["disagreement"]'
METHODS = ('use = "win-rate"', 'use = "borda"')
SUITE = suite_text(*METHODS, name="own-ratings", protocol="own-log", dataset="", n="[1]", more=DISAGREEMENT)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on the path that holds the distribution as an installer leaves it behind."""
    folder = tmp_path_factory.mktemp("site")
    modules = {"ratings_kind": KIND + HOOK, "ratings_check": CHECK}
    install_plugin(folder, "some-ratings", "ratings = ratings_kind", **modules)
    (folder / "own-ratings.toml").write_text(SUITE)
    return folder


@pytest.fixture
def run(site: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    return installed(site, tmp_path)


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    stars = [
        (f"q{q}", f"u{u}", item, 1 + (3 * u + 2 * i + q) % 5)
        for q in range(3)
        for u in range(4)
        for i, item in enumerate("xyz")
    ]
    pl.DataFrame(stars, schema=["query_id", "user", "item", "stars"], orient="row").write_csv(tmp_path / "ratings.csv")
    return tmp_path / "ratings.csv"


def test_it_is_listed_told_and_checked_beside_ours(run) -> None:
    listed = json.loads(run("list", "tables", "--json").stdout)["table"]
    assert {"items", "comparisons", "ratings"} <= {kind["name"] for kind in listed}
    told = run("info", "ratings")
    assert told.returncode == 0, told.stderr
    assert "query_id, user, item, stars" in told.stdout
    assert "some-ratings 1.0" in told.stdout
    assert "table/ratings" in run("info", "--json").stdout
    checked = run("check", "some-ratings")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("ending", ["csv", "ndjson", "parquet"])
def test_a_file_of_it_is_read_and_described(run, ratings: Path, ending: str) -> None:
    frame = pl.read_csv(ratings)
    getattr(frame, f"write_{ending}")(ratings.with_suffix(f".{ending}"))
    found = run("data", "describe", f"ratings.{ending}", "--json")
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert (told["table"], told["rows"], told["queries"], told["users"]) == ("ratings", 36, 3, 4)
    assert told["rows_per_query"]["mean"] == 12
    lines = run("data", "describe", f"ratings.{ending}").stdout
    assert re.search(r"rows per query\W+12\b", lines)
    assert re.search(r"users\W+4\b", lines)


@pytest.mark.parametrize(
    ("row", "place", "complaint"),
    [
        ("q0,u9,x,7", "[stars]", "7 is not a number of stars from 1 to 5"),
        ("q0,u9,x,many", "[stars]", "many is not a number"),
        ("q0,,x,3", "[user]", "the value is missing"),
    ],
)
def test_a_wrong_row_is_named(run, ratings: Path, row: str, place: str, complaint: str) -> None:
    with ratings.open("a") as file:
        file.write(f"{row}\n")
    for command in (("data", "describe", "ratings.csv"), ("data", "convert", "ratings.csv", "shards")):
        found = run(*command)
        assert found.returncode == 2
        assert f"ratings.csv:38 {place}: " in found.stderr
        assert complaint in found.stderr.replace("'", "")
    assert not (ratings.parent / "shards").exists()


@pytest.mark.full
def test_it_becomes_shards_with_every_row_once(run, ratings: Path, tmp_path: Path) -> None:
    done = run("data", "convert", "ratings.csv", "shards", "--shards", "2")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "shards" / "manifest.json").read_text())
    assert (manifest["table"], manifest["rows"], manifest["queries"]) == ("ratings", 36, 3)
    rows = pl.concat([pl.read_parquet(file) for file in sorted((tmp_path / "shards").glob("*.parquet"))])
    assert rows.sort(rows.columns).equals(pl.read_csv(ratings, schema=rows.schema).sort(rows.columns))
    again = run("data", "describe", "shards", "--json")
    assert json.loads(again.stdout)["rows"] == 36
    # Without the plugin the shards are there, and nobody knows what they are.
    alone = run_program("data", "describe", "shards", folder=tmp_path)
    assert alone.returncode == 2
    assert "is missing, which" in alone.stderr


JUDGED = '''
import polars as pl


def as_judgments(self, table):
    """Return a vote of each user for the item with more stars, of each two of a query."""
    pairs = table.join(table, on=["query_id", "user"], suffix="_other").filter(pl.col("stars") > pl.col("stars_other"))
    return pairs.select("query_id", winner="item", loser="item_other", judge="user")


Ratings.judgments, Ratings.as_judgments = ("comparisons",), as_judgments
'''


@pytest.mark.full
def test_ratings_that_stand_for_votes_are_ranked_and_judged_as_these_votes(site, ratings, tmp_path) -> None:
    judged = tmp_path / "judged"
    shutil.copytree(site, judged)
    with (judged / "ratings_kind.py").open("a") as file:
        file.write(JUDGED)
    frame = pl.read_csv(ratings, schema_overrides={"stars": pl.Float64})
    votes = [
        (query, better["item"], worse["item"], user)
        for (query, user), rows in frame.group_by("query_id", "user", maintain_order=True)
        for better in rows.iter_rows(named=True)
        for worse in rows.iter_rows(named=True)
        if better["stars"] > worse["stars"]
    ]
    columns = ["query_id", "winner", "loser", "judge"]
    pl.DataFrame(votes, schema=columns, orient="row").write_csv(tmp_path / "votes.csv")
    run = installed(judged, tmp_path)
    for options in ([], ["--method", "borda", "--by", "query"], ["--intervals", "judges"]):
        ours, theirs = (run("aggregate", log, *options, "--format", "csv") for log in ("votes.csv", "ratings.csv"))
        assert ours.returncode == theirs.returncode == 0, theirs.stderr
        got, expected = (pl.read_csv(shown.stdout.encode()) for shown in (theirs, ours))
        assert got.drop("lower", "upper").equals(expected.drop("lower", "upper"))
    checked = run("check", "table/ratings")
    assert checked.returncode == 0, checked.stdout
    done = run("run", "--log", "ratings.csv", "--out", "o", "--workers", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert pl.read_parquet(tmp_path / "o" / "results.parquet")["status"].unique().to_list() == ["done"]


def test_what_takes_no_ratings_says_so(run, ratings: Path) -> None:
    for command, complaint in (
        (("aggregate", "ratings.csv"), "ratings.csv holds ratings, not judgments: votes, clicks or ballots"),
        (
            ("run", "--suite", "own-clicks", "--log", "ratings.csv"),
            "takes selections, data set ratings.csv has ratings",
        ),
    ):
        found = run(*command)
        assert found.returncode == 2, found.stdout
        assert complaint in found.stderr


STARS = {"columns": ("query_id", "stars"), "optional": ("weight",)}


def made_kind(**facts: object) -> type[TableKind]:
    made = {"name": "made", "source": "a test", "example": classmethod(lambda cls: {}), "check": lambda self, raw: None}
    return type("Made", (TableKind,), {**made, **facts, "__module__": __name__})


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"columns": ("user", "query_id")}, "begins with 'query_id'"),
        ({"columns": "query_id"}, "begins with 'query_id'"),
        (STARS | {"shapes": ("query", "stars")}, "not a tuple of tuples of roles"),
        (STARS | {"shapes": ((),)}, "not a tuple of tuples of roles"),
        (STARS | {"__annotations__": {"best": int}}, "the parameter 'best' has no default"),
        (STARS, ""),
    ],
)
def test_what_no_table_can_declare_is_rejected(entry, facts: dict[str, object], complaint: str) -> None:
    causes = load([entry(brings=lambda: [made_kind(**facts)])]).statuses[0].causes
    assert (causes == ()) if not complaint else (len(causes) == 1 and complaint in causes[0])


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"query_id": ["q"], "stars": [3], "weight": [2.0]}, ""),
        ({"query": ["q"], "Stars": [3], "weight": [2.0]}, ""),
        ({"film": ["q"], "points": [3], "w": [2.0]}, "query=film,stars=points,weight=w"),
    ],
)
def test_columns_that_a_kind_declares_are_its_roles(columns: dict[str, list[object]], told: str) -> None:
    raw, kinds = RawTable(pl.LazyFrame(columns)), [made_kind(**STARS)()]
    found = applied(raw, Reading.told(told), kinds) if told else by_standard_names(raw, Reading(), kinds)
    assert found is not None
    read = found.table.frame.collect()
    assert read.select("query_id", "stars", "weight").rows() == [("q", 3, 2.0)]


def test_numbers_that_a_kind_does_not_read_are_asked_about() -> None:
    raw = RawTable(pl.LazyFrame({"query_id": ["q", "r"], "stars": [3, 4], "votes": [7, 9]}))
    with pytest.raises(Unread, match="votes"):
        by_standard_names(raw, Reading(), [made_kind(**STARS)()])
