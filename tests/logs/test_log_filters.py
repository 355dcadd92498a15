"""Filters: the rows, items and judges that are kept are those that an independent computation keeps."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import examples, part_of
from click.testing import CliRunner
from data_files import stored
from hypothesis import given
from hypothesis import strategies as st
from small_suites import OWN_LOG

import rankbench
from rankbench.cli import main
from rankbench.data.convert import convert
from rankbench.errors import InputError, SpecError, StoreError
from rankbench.logs.open import open_log, own_log
from rankbench.logs.question import Filter
from rankbench.runner.prepare import dataset_of


def log(rows: int = 300, seed: int = 0) -> pl.DataFrame:
    """Draw votes with columns of texts, numbers, truth values and gaps."""
    rng = np.random.default_rng(seed)
    left = rng.integers(6, size=rows)
    right = (left + rng.integers(1, 6, size=rows)) % 6
    return pl.DataFrame(
        {
            "model_a": [f"m{i}" for i in left],
            "model_b": [f"m{i}" for i in right],
            "winner": np.where(rng.random(rows) < 0.6, "model_a", "model_b"),
            "judge": [f"j{i}" for i in rng.integers(5, size=rows)],
            "lang": pl.Series(rng.choice(["en", "de", ""], rows)).replace("", None),
            "turn": rng.integers(1, 13, size=rows),
            "length": rng.normal(size=rows).round(3),
            "bold": rng.random(rows) < 0.5,
            "label": [f"0{i}" for i in rng.integers(3, size=rows)],
        }
    )


BESIDE = "ignore=turn|length|bold|label"
"""Numbers and truth values of `log` that say nothing of the result."""


CONDITIONS: dict[str, pl.Expr] = {
    "lang == 'en' and turn > 1": (pl.col("lang") == "en") & (pl.col("turn") > 1),
    "lang <> 'en' or turn in (10, 11, 12)": (pl.col("lang") != "en") | pl.col("turn").is_in([10, 11, 12]),
    "turn > 9 and turn <= 11": pl.col("turn").is_between(10, 11),
    "length < -0.5 or length >= 1": (pl.col("length") < -0.5) | (pl.col("length") >= 1),
    "bold and not turn = 1": pl.col("bold") & (pl.col("turn") != 1),
    "bold = false and lang is null": ~pl.col("bold") & pl.col("lang").is_null(),
    "label = '01'": pl.col("label") == "01",
    "label like '%2' and turn * 2 < 9": pl.col("label").str.ends_with("2") & (pl.col("turn") < 4.5),
}

WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "csv": lambda frame, path: stored(frame, path / "votes.csv"),
    "parquet": lambda frame, path: stored(frame, path / "votes.parquet"),
    "ndjson": lambda frame, path: stored(frame, path / "votes.ndjson"),
    "parts": lambda frame, path: (
        [stored(part, path / f"part-{at}.csv") for at, part in enumerate(frame.iter_slices(97))] and path
    ),
    "frame": lambda frame, path: frame,
}


FORMS = [(where, form) for where in CONDITIONS for form in ("csv", "parquet")]
FORMS += [(where, form) for where in list(CONDITIONS)[2:5] for form in ("ndjson", "parts", "frame")]


@pytest.mark.parametrize(("where", "form"), part_of(FORMS))
def test_rows_of_a_condition_are_those_that_polars_keeps(where: str, form: str, tmp_path: Path) -> None:
    frame = log()
    kept = frame.filter(CONDITIONS[where])
    source = open_log(WRITERS[form](frame, tmp_path), columns=BESIDE, keep=Filter(where))  # type: ignore[arg-type]
    assert source.frame.collect().equals(rankbench.scan(kept, columns=BESIDE).collect())
    assert f"{kept.height} of {frame.height} rows are left: where {where}" in source.notes[-1]


def test_a_missing_value_is_said(tmp_path: Path) -> None:
    frame = log()
    missing = frame["lang"].null_count()
    source = open_log(frame, columns=BESIDE, keep=Filter("lang != 'en'"))
    assert source.notes[-1].endswith(f"; {missing} rows without a value of it go, too")


@pytest.mark.parametrize("form", ["parquet", "shards"])
def test_columns_of_the_schema_filter_where_the_file_has_no_others(form: str, tmp_path: Path) -> None:
    votes = rankbench.scan(log(), columns=BESIDE).collect()
    path = stored(votes, tmp_path / "votes.parquet")
    if form == "shards":
        convert(path, tmp_path / "shards", shards=3)
        path = tmp_path / "shards"
    found = rankbench.aggregate(path, where="winner = 'm0' or judge = 'j1'")
    whole = rankbench.aggregate(votes.filter((pl.col("winner") == "m0") | (pl.col("judge") == "j1")))
    assert found.table.equals(whole.table)
    assert found.facts["filter"] == {"where": "winner = 'm0' or judge = 'j1'"}


@pytest.mark.parametrize(
    ("where", "column", "words"),
    [
        ("lang > 3", "lang", "holds text such as 'en', and is compared with a number"),
        ("turn = 'three' and bold", "turn", "holds numbers, and is compared with text"),
        ("bold = 'yes'", "bold", "holds true and false, and is compared with text"),
        ("tongue = 'en'", "tongue", "there is no column 'tongue'"),
        ('lang = "en"', "en", "a text stands between single quotes"),
        ("loser = 'm0' and lang = 'en'", "lang", "is a column of the file, and others of the condition"),
        ("turn > 99", None, "none of 300 rows is left"),
    ],
)
def test_a_condition_that_cannot_be_used_names_the_column(where: str, column: str | None, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        open_log(log(), columns=BESIDE, keep=Filter(where))
    assert caught.value.column == column
    if column == "tongue":
        of_file, of_schema = str(caught.value).split("; or of the schema alone: ")
        assert all(repr(name) in of_file for name in log().columns)
        assert "'loser'" not in of_file
        assert "'loser'" in of_schema


@pytest.mark.parametrize("where", ["turn >", "avg(turn) > 2", "turn > (select 1)", "row_number() over () > 2"])
def test_a_condition_is_an_expression_about_one_row(where: str) -> None:
    with pytest.raises(SpecError, match="where=: "):
        open_log(log(), keep=Filter(where))


def test_an_error_names_the_row_of_the_file(tmp_path: Path) -> None:
    frame = (
        log()
        .with_row_index()
        .with_columns(
            model_b=pl.when(pl.col("index") == 200).then("model_a").otherwise("model_b"), turn=pl.col("index") % 2
        )
    )
    told = f"{BESIDE}|index"
    source = open_log(stored(frame, tmp_path / "votes.csv"), columns=told, keep=Filter("turn = 0"))
    with pytest.raises(InputError, match="compared with itself") as caught:
        source.frame.collect()
    assert caught.value.row == 202  # of the header too
    open_log(tmp_path / "votes.csv", columns=told, keep=Filter("turn = 1")).frame.collect()


def test_files_of_a_folder_all_have_the_columns(tmp_path: Path) -> None:
    stored(log(), tmp_path / "a.csv")
    stored(log().drop("lang"), tmp_path / "b.csv")
    with pytest.raises(InputError, match=r"b\.csv.*lacks a column"):
        open_log(tmp_path, keep=Filter("lang = 'en'"))


PAIRS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 3)), min_size=1, max_size=25)


@examples(60)
@given(PAIRS, st.integers(1, 9), st.sets(st.integers(0, 7), max_size=2))
def test_no_item_that_is_left_has_fewer_votes(pairs: list[tuple[int, int, int]], least: int, gone: set[int]) -> None:
    votes = [(f"m{a}", f"m{b}", float(weight)) for a, b, weight in pairs if a != b]
    without = tuple(f"m{i}" for i in gone if any(f"m{i}" in vote for vote in votes))
    left = [vote for vote in votes if not {*vote[:2]} & {*without}]
    while True:
        count = Counter[str]()
        for a, b, weight in left:
            count.update({a: weight, b: weight})  # type: ignore[dict-item]
        kept = [vote for vote in left if min(count[vote[0]], count[vote[1]]) >= least]
        if len(kept) == len(left):
            break
        left = kept
    frame = pl.DataFrame(votes, {"winner": pl.String, "loser": pl.String, "weight": pl.Float64}, orient="row")
    keep = Filter(without=without, min_votes=least)
    if not left:
        if votes:
            with pytest.raises(InputError, match=f"0 of {frame['weight'].sum():g} votes are left"):
                open_log(frame, keep=keep)
        return
    source = open_log(frame, keep=keep)
    assert source.frame.select("winner", "loser", "weight").collect().rows() == left
    assert f"{sum(vote[2] for vote in left):g} of {frame['weight'].sum():g} votes are left" in source.notes[-1]


def test_judges_and_items_go_from_votes_and_ballots() -> None:
    votes = rankbench.scan(log(), columns=BESIDE).collect()
    found = rankbench.aggregate(votes, without="m1", without_judge=["j0", "j2"])
    kept = votes.filter(~pl.col("judge").is_in(["j0", "j2"]), pl.col("winner") != "m1", pl.col("loser") != "m1")
    assert found.table.equals(rankbench.aggregate(kept).table)
    assert f"{kept.height} of 300 votes are left: without item 'm1', without judge 'j0', 'j2'" in found.notes
    ballots = {
        "ranking": ['["a",["b","x"],"c"]', '["x"]', '["c","x","a"]', '["b","a","c"]'],
        "judge": ["one", "two", "three", "four"],
    }
    whole = {"ranking": ["a>b>c", "c>a"], "judge": ["one", "three"]}
    found = rankbench.aggregate(pl.DataFrame(ballots), without="x", without_judge="four")
    assert found.table.equals(rankbench.aggregate(pl.DataFrame(whole)).table)


@pytest.mark.parametrize(
    ("rankings", "options", "said"),
    [
        (["a>b>c"], {"without": "c"}, "1 of 1 ballots are left: without item 'c'"),
        (["a>b>c", "a>b", "c"], {"without": "c"}, "2 of 3 ballots are left: without item 'c'"),
        (["a>b>c", "c>b>a", "a>b"], {"without": "c"}, "3 of 3 ballots are left: "),
        (["a>b", "b>a", "a>b"], {"min_votes": 2}, "3 of 3 ballots are left: no item has fewer"),
    ],
)
def test_what_is_left_of_ballots_is_said(rankings: list[str], options: dict[str, object], said: str) -> None:
    found = rankbench.aggregate(pl.DataFrame({"ranking": rankings}), **options)
    assert any(note.startswith(said) for note in found.notes), found.notes


@pytest.mark.parametrize(
    ("keep", "error", "words"),
    [
        (Filter(without=("m9",)), InputError, "there is no item 'm9'; did you mean 'm"),
        (Filter(without_judge=("k",)), InputError, "there is no judge 'k'"),
        (Filter(without_judge=("k",), where="turn > 1"), InputError, "there is no judge 'k'"),
    ],
)
def test_names_that_the_log_does_not_have_are_refused(keep: Filter, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        open_log(log(), columns=BESIDE, keep=keep)
    with pytest.raises(SpecError, match="does not say who judged"):
        open_log(log().drop("judge"), columns=BESIDE, keep=Filter(without_judge=("k",)))
    clicks = {"query_id": ["q"], "session_id": ["s"], "shown": [["a", "b"]], "clicked": [[1]]}
    with pytest.raises(SpecError, match="these are selections"):
        open_log(clicks, keep=Filter(without=("a",)))


def test_rows_of_a_score_table_are_kept(tmp_path: Path) -> None:
    scores = pl.DataFrame({"system": list("abc"), "t1": [1, 2, 0], "t2": [2, 3, 1], "t3": [3, 5, 1]})
    path = stored(scores, tmp_path / "scores.csv")
    found = rankbench.rank(path, columns="scores=t?", where="system != 'c' and t1 < 9", replicates=20)
    assert found.table.equals(rankbench.rank(scores.head(2), columns="scores=t?", replicates=20).table)
    assert found.facts["filter"] == {"where": "system != 'c' and t1 < 9"}
    assert any("2 of 3 rows are left" in note for note in found.notes)


@pytest.mark.full
def test_a_run_belongs_to_its_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stored(log(), tmp_path / "votes.csv")
    Path("small.toml").write_text(OWN_LOG.replace("repetitions = 4", "repetitions = 1"))
    keep = Filter("lang = 'en' and turn > 1", ("m1",), min_votes=3)
    first = rankbench.run("small.toml", dataset=own_log("votes.csv", columns=BESIDE, keep=keep)).directory
    record = json.loads((first / "run.json").read_text())["sources"][0]
    assert (first.name, record["dataset"]) == (
        "small-votes.csv-filtered",
        f'filtered:log="votes.csv:columns=\\"{BESIDE}\\"",where="lang = \'en\' and turn > 1",without=[m1],min_votes=3',
    )
    again = dataset_of(record["dataset"])
    assert again.fingerprint() == record["dataset_sha256"] != own_log("votes.csv", columns=BESIDE).fingerprint()
    assert json.loads((rankbench.run("small.toml", dataset=again).directory / "run.json").read_text())["blocks"] == {
        "computed": 0,
        "reused": 1,
    }
    other = own_log("votes.csv", columns=BESIDE, keep=Filter("lang = 'de'"))
    with pytest.raises(StoreError, match="give another folder"):
        rankbench.run("small.toml", dataset=other, out=first)
    assert "rows are left: where lang" in (first / "leaderboard.md").read_text()


@pytest.mark.parametrize("command", part_of(["aggregate", "data describe", "aggregate --over time", "audit"], 3))
def test_commands_take_filters(command: str, tmp_path: Path) -> None:
    frame = log().with_columns(time=pl.int_range(pl.len()) // 60)
    path = stored(frame, tmp_path / "votes.csv")
    options = "--where 'turn > 1' --without m1 --without-judge j1 --min-votes 2 --json"
    verb, *more = command.split(" --")
    text = " ".join([verb, str(path), f"--columns '{BESIDE}'", *(f"--{one}" for one in more), options])
    done = CliRunner().invoke(main, shlex.split(text))
    notes = json.loads(done.stdout)["notes"]
    assert not any("not read" in note and "turn" in note for note in notes)
    assert any("rows are left: where turn > 1" in note for note in notes)
    assert any("votes are left: without item 'm1', without judge 'j1', no item has fewer" in note for note in notes)


def test_filters_of_a_run_need_a_log() -> None:
    done = CliRunner().invoke(main, ["run", "--dry-run", "--where", "turn > 1"])
    assert (done.exit_code, "says how to read a log: say --log FILE with it" in str(done.output)) == (2, True)
