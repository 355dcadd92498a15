"""Logs as people have them: an answer, or exit code 2 with the place and words that say why."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import shlex
from pathlib import Path

import polars as pl
import pytest
from amounts import part_of
from data_files import written

VOTES = b"query_id,winner,loser\n"
SIDES = b"left,right,winner\n"
WEIGHTED = b"winner,loser,weight\n"

BAD: dict[str, tuple[str, bytes, str]] = {
    "a quote that is never closed": ("a.csv", VOTES + b'q,a,b\nq,"a,b\nq,b,c\n', "a.csv:3: a quote is opened here"),
    "a stray quote": ("a.csv", VOTES + b'q,a,b\nq,a"x,b\nq,b,c\n', "a.csv:3: a stray quote"),
    "a quote that is closed too early": ("a.csv", VOTES + b'q,a,b\nq,"a"x,b\n', "a.csv:3: a stray quote"),
    "too many fields": ("a.csv", VOTES + b"q,a,b\nq,a,b,c\n", "a.csv:3: the row has 4 fields, the header 3"),
    "too few fields": ("a.csv", VOTES + b"q,a,b\nq,a\n", "a.csv:3 [loser]: the cell is empty"),
    "mixed encodings": ("a.csv", VOTES + "q,café,b\n".encode() + b"q,caf\xe9,b\n", "a.csv:3:6: byte 0xe9 is not UTF-8"),
    "mixed encodings, NDJSON": ("a.ndjson", b'{"winner": "caf\xe9", "loser": "b"}\n', "byte 0xe9 is not UTF-8"),
    "a line cut off": ("a.ndjson", b'{"winner": "a", "loser": "b"}\n{"winner": "a"', "a.ndjson:2"),
    "one endless line": ("a.csv", VOTES + b"a" * (65 << 20), "a.csv:2: the line is longer than 64 MB"),
    "one endless line, NDJSON": ("a.ndjson", b'{"winner": "' + b"a" * (65 << 20), "a.ndjson:1: the line is longer"),
    "a negative weight": ("a.csv", WEIGHTED + b"a,b,1\nb,a,-2\n", "a.csv:3 [weight]: '-2' is no positive"),
    "a weight that is NaN": ("a.csv", WEIGHTED + b"a,b,1\nb,a,nan\n", "a.csv:3 [weight]: 'nan' is no positive"),
    "a weight that is infinite": ("a.csv", WEIGHTED + b"a,b,1\nb,a,inf\n", "a.csv:3 [weight]: 'inf' is no positive"),
    "a weight that is a word": ("a.csv", WEIGHTED + b"a,b,1\nb,a,much\n", "a.csv:3 [weight]: 'much' is no positive"),
    "a winner that is neither": (
        "a.csv",
        SIDES + b"x,y,x\nx,y,z\n",
        "a.csv:3 [winner]: beside names of items the column says 'z' 1",
    ),
    "no winner": ("a.csv", SIDES + b"x,y,x\nx,y,\n", "a.csv:3 [winner]"),
    "no bytes": ("a.csv", b"", "a.csv: the file is empty"),
    "no rows": ("a.csv", VOTES, "a.csv: the table has no rows"),
    "only a byte-order mark": ("a.csv", b"\xef\xbb\xbf", "a.csv: the file is empty"),
    "one item": ("a.csv", VOTES + b"q,a,b\nq,a,a\n", "a.csv:3 [winner]: item 'a' is compared with itself"),
    "no columns of votes": ("a.csv", b"x,y\n1,2\n", "a.csv: "),
    "a binary file": ("a.csv", bytes(range(256)), "a.csv:"),
    "a damaged Parquet file": ("a.parquet", b"PAR1" + bytes(100), "a.parquet: "),
}

VERBS: dict[str, list[str]] = {
    "describe": ["data", "describe"],
    "aggregate": ["aggregate", "--intervals", "bootstrap", "--format", "csv"],
    "run": ["run", "--workers", "1", "--reps", "1", "--log"],
}


@pytest.mark.parametrize(("case", "verb"), part_of(itertools.product(BAD, VERBS)))
def test_bad_logs_are_errors_with_their_place(rankbench, tmp_path: Path, case: str, verb: str) -> None:
    name, content, message = BAD[case]
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out"
    more = {"describe": [], "aggregate": ["--out", str(out)], "run": ["--out", str(out)]}[verb]
    done = rankbench(*VERBS[verb], str(tmp_path / name), *more)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert len(done.stderr) < 1000
    assert not done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


def parsed(output: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(output)))


def write(folder: Path, content: bytes) -> str:
    return str(written(folder / "votes.csv", content))


HOSTILE = b'q,=cmd(),b\nq,b,"\x1b[2J\xe2\x80\xaex"\nq,"| # *y*\nz",b\n'


@pytest.mark.parametrize("form", ["table", "csv", "md", "json"])
def test_what_is_printed_neither_steers_a_terminal_nor_starts_a_formula(rankbench, tmp_path: Path, form: str) -> None:
    path = write(tmp_path, VOTES + HOSTILE)
    printed = rankbench("aggregate", path, "--format", form, "--intervals", "bootstrap", "--replicates", "20")
    assert printed.exit_code == 0
    if form != "csv":
        assert "\x1b" not in printed.stdout
        assert "\u202e" not in printed.stdout
    lines = printed.stdout.splitlines()
    if form == "csv":  # which is data, and joined with other data by name
        names = ["\x1b[2J\u202ex", "'=cmd()", "b", "| # *y*\nz"]
        assert sorted(row["item"] for row in parsed(printed.stdout)) == names
    elif form == "json":
        assert "=cmd()" in {row["item"] for row in json.loads(printed.stdout)["items"]}
    elif form == "md":
        rows = [line for line in lines if line.startswith("|")]
        assert len(rows) == 6
        # Four items of a few votes: no intervals, and a line below the table that says so.
        assert all(line.replace("\\|", "").count("|") == 6 for line in rows)
        assert "fewer than 10 votes" in printed.stdout
    else:
        assert len(lines) == 9
        assert "\\x1b[2J\\u202ex" in printed.stdout


@pytest.mark.parametrize("form", ["csv", "md"])
def test_items_that_would_look_the_same_are_told_apart(rankbench, tmp_path: Path, form: str) -> None:
    names = ["a", "a\u200b", "a\\u200b", "b c", "b  c", "=d", "'=d", "\u200b", "e"]
    rows = "".join(f'q,"{x}","{y}"\n' for x, y in zip(names, names[1:] + names[:1], strict=True))
    path = write(tmp_path, VOTES + rows.encode())
    printed = rankbench("aggregate", path, "--columns", "alike=keep", "--format", form)
    assert printed.exit_code == 0
    if form == "csv":
        found = [row["item"] for row in parsed(printed.stdout)]
        assert {*found} == {*names} - {"=d", "'=d"} | {"'=d", "''=d"}
    else:
        found = [line.split(" | ")[1] for line in printed.stdout.splitlines()[2 : 2 + len(names)]]
        assert "\u200b" not in printed.stdout
    assert len(set(found)) == len(names)
    assert "note: rankbench takes items called alike for different ones: " in printed.stderr
    assert "'a' = 'a\\u200b'" in printed.stderr


ODD = ["a\u200db", "a\tb", "a\nb", "a, b", 'a "b"', "a\rb", "\u2028", "-1", "=\tx", "\x07"]
"""Names that CSV quotes, or writes as they are; the last but two would be formulas."""


def test_names_of_csv_are_those_of_the_log(rankbench, tmp_path: Path) -> None:
    names = [name for name in ODD if name != "\u2028"]
    pl.DataFrame({"winner": names, "loser": names[1:] + names[:1], "by": ["x"] * len(names)}).write_parquet(
        tmp_path / "log.parquet"
    )
    for more in ((), ("--by", "by", "--across"), ("--matrix",)):
        out = tmp_path / "x.csv"
        path = str(tmp_path / "log.parquet")
        done = rankbench("aggregate", path, "--columns", "alike=keep", *more, "--out", str(out))
        assert done.exit_code == 0, done.output
        with out.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        marked = {f"'{name}" if name.lstrip()[0] in "=+-@" else name for name in names}
        assert {row[next(iter(row))] if more == ("--matrix",) else row["item"] for row in rows} == marked
        if more == ("--matrix",):
            assert marked < set(rows[0])


COMMANDS = ["::error file=a::x", "  ::warning::y", "##[error]z", "b\n::error::w"]


@pytest.mark.parametrize(
    "options",
    [(), ("--by", "lang"), ("--by", "lang", "--across"), ("--matrix",), ("--between", COMMANDS[0], "b"),
     ("--by", "lang", "--format", "md"), ("--intervals", "bootstrap", "--replicates", "20")],
    ids=" ".join,
)  # fmt: skip
def test_no_name_is_a_command_to_those_who_read_the_log(
    rankbench, tmp_path: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(name, other) for name in COMMANDS for other in ("b", "c")] + [("b", "c"), ("c", COMMANDS[0])]
    winners, losers = zip(*rows, strict=True)
    log = {"winner": winners, "loser": losers, "lang": (COMMANDS * 3)[: len(rows)]}
    pl.DataFrame(log).write_parquet(tmp_path / "log.parquet")
    monkeypatch.setenv("COLUMNS", "60")
    for command in ("aggregate", "audit", "describe"):
        if command != "aggregate" and options:
            continue
        verb = ("data", "describe") if command == "describe" else (command,)
        done = rankbench(*verb, str(tmp_path / "log.parquet"), *options)
        assert done.exit_code in (0, 2), done.output
        for line in (*done.stdout.splitlines(), *done.stderr.splitlines()):
            assert not line.lstrip().startswith("::"), line
            assert "##[" not in line, line
        assert "\n::error" not in done.stdout + done.stderr


def test_an_error_that_names_a_command_is_none(rankbench, tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", 'winner,loser,weight\na,b,"x\n::error::y"\n')
    done = rankbench("aggregate", str(path))
    assert done.exit_code == 2
    assert not any(line.startswith("::") for line in done.stderr.splitlines())
    done = rankbench("aggregate", str(tmp_path / "\n::error::y"))
    assert done.exit_code == 2
    assert not any(line.startswith("::") for line in done.stderr.splitlines())


@pytest.mark.full
def test_what_a_run_prints_and_writes_is_as_safe(rankbench, tmp_path: Path) -> None:
    path = write(tmp_path, VOTES + HOSTILE * 3)
    done = rankbench("run", "--log", path, "--workers", "1", "--reps", "1", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0
    texts = [done.stdout, *(file.read_text() for file in (tmp_path / "out").rglob("*.[cm][sd]*") if file.is_file())]
    assert len(texts) > 2
    for text in texts:
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert not any(cell.startswith("=") for line in text.splitlines() for cell in line.split(","))


def test_odd_names_and_lookalikes_are_reported(rankbench, tmp_path: Path) -> None:
    # The second letter of the third name is Cyrillic.
    path = write(tmp_path, VOTES + "q,cat,dog\nq,Cat,dog\nq,c\u0430t,dog\nq,=1+1,dog\n".encode())
    keep = "--columns", "alike=keep"
    found = json.loads(rankbench("data", "describe", path, *keep, "--json").stdout)
    assert found["lookalikes"] == [["Cat", "cat", "c\u0430t"]]
    assert found["odd_names"] == ["=1+1"]
    text = rankbench("data", "describe", path, *keep).stdout
    assert "'Cat' = 'cat' = 'c\u0430t'" in text


def test_all_ties_put_everybody_on_one_place(rankbench, rows, tmp_path: Path) -> None:
    path = write(tmp_path, SIDES + b"x,y,tie\ny,z,tie\nx,z,draw\n")
    found = rows(path, "--intervals", "bootstrap")
    assert {(row["score"], row["rank_low"], row["rank_high"]) for row in found} == {("0.0", "1", "3")}
    described = json.loads(rankbench("data", "describe", path, "--json").stdout)
    assert (described["ties"], described["majority"]["decided"], described["position"]) == (3, 0, None)
    out = tmp_path / "out"
    done = rankbench("run", "--log", path, "--workers", "1", "--reps", "1", "--out", str(out))
    assert done.exit_code == 2
    assert "decisive" in done.stderr
    assert not (out / "leaderboard.md").exists()


NEVER = VOTES + b"q,a,b\nq,b,a\nq,a,c\nq,b,c\n"


@pytest.mark.parametrize(("ridge", "scale"), [(1, "1"), (0, "2")])
def test_an_item_that_never_wins_is_infinitely_far_away_without_a_ridge(rankbench, tmp_path, ridge, scale) -> None:
    done = rankbench("aggregate", write(tmp_path, NEVER), "--method", f"bradley-terry:ridge={ridge}", "--format", "csv")
    assert [(row["item"], row["scale"]) for row in parsed(done.stdout)] == [("a", "1"), ("b", "1"), ("c", scale)]
    assert ("no finite distance separates some compared items" in done.stderr) == (ridge == 0)


@pytest.mark.parametrize("form", ["table", "csv", "md", "json"])
def test_items_never_compared_are_kept_apart(rankbench, tmp_path: Path, form: str) -> None:
    path = write(tmp_path, VOTES + b"q,a,b\nq,b,c\nq,a,c\nq,x,y\n")
    done = rankbench("aggregate", path, "--format", form)
    assert "2 groups of items cannot be compared" in done.stderr
    assert "scale" in done.stdout
    if form == "csv":
        found = [(row["item"], row["scale"], row["place_low"], row["place_high"]) for row in parsed(done.stdout)]
        # Nothing is known of the two others: a is first to third, x first to fourth.
        assert found == [("a", "1", "1", "3"), ("b", "1", "2", "4"), ("c", "1", "3", "5"), ("x", "2", "1", "4"),
                         ("y", "2", "2", "5")]  # fmt: skip


def test_an_unwritable_file_is_an_error_and_nothing_is_left(rankbench, tmp_path: Path) -> None:
    path = write(tmp_path, NEVER)
    (tmp_path / "file").write_text("here")
    done = rankbench("aggregate", path, "--format", "csv", "--out", str(tmp_path / "file" / "x.csv"))
    assert done.exit_code in (1, 2)
    assert "error" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "votes.csv"]


def test_the_log_is_not_written_over(rankbench, tmp_path: Path) -> None:
    log, link = tmp_path / "n.csv", tmp_path / "link.csv"
    log.write_bytes(VOTES + b"q,a,b\nq,b,c\nq,c,a\n")
    os.link(log, link)
    for out in (log, link):
        shown = rankbench("aggregate", str(log), "--out", str(out))
        assert shown.exit_code == 2
        assert "would replace the file that is ranked" in shown.stderr
    assert log.read_bytes().startswith(VOTES)


def test_out_takes_its_format_from_the_ending(rankbench, tmp_path: Path) -> None:
    path = write(tmp_path, NEVER)
    for ending in ("csv", "parquet", "json", "md"):
        assert rankbench("aggregate", path, "--out", str(tmp_path / f"x.{ending}")).exit_code == 0
    frame = pl.read_parquet(tmp_path / "x.parquet")
    assert frame.equals(pl.read_csv(tmp_path / "x.csv", schema_overrides=frame.schema))
    assert json.loads((tmp_path / "x.json").read_text())["items"] == frame.to_dicts()
    assert rankbench("aggregate", path, "--out", str(tmp_path / "x.unknown")).exit_code == 2


OF_KINDS = "left,right,winner,kind\n" + "a,b,left,x\nb,a,left,y\nb,c,left,x\nc,a,right,y\na,c,tie,x\n" * 3
SCORES = "model,t1,latency\n" + "m0,1,9\nm1,2,7\nm2,3,8\n"

REFUSED = {
    "aggregate votes.csv --across": "say --by COLUMN with it",
    "aggregate votes.csv --across --by kind --matrix": "leave --matrix out",
    "aggregate votes.csv --matrix --out x.png": "there is no format .png",
    "aggregate votes.csv --control side --effects --out x.png": "there is no format .png",
    "aggregate votes.csv --out x.xyz": "there is no format .xyz; endings: .csv, .parquet, .pq, .json, .md, .html, .png",
    "aggregate votes.csv --out votes.csv": "would replace the file that is ranked",
    "aggregate votes.csv --scale elo:anchor=B@1000": "no item is called 'B'",
    "aggregate votes.csv --scale elo:anchor=b": "after the anchor's name comes @ and its points",
    "aggregate votes.csv --scale points": "write elo, or elo:anchor=NAME@1000",
    "aggregate votes.csv --scale elo --method win-rate": "are no log-odds",
    "aggregate votes.csv --effects": "--effects shows effects of covariates",
    "aggregate votes.csv --control wrds": "there is no column 'wrds'",
    "aggregate votes.csv --since 3": "--since is of scores over time: say --over time with it",
    "aggregate votes.csv --over time --by kind": "leave --by out",
    "aggregate votes.csv --pool": "say --by COLUMN with it",
    "aggregate votes.csv --by kind --pool --method elo": "'elo' has no formula",
    "aggregate votes.csv --by kind --pool --intervals judges": "by formula, not by judges",
    "aggregate votes.csv --json --format csv": "--json is short for --format json, and --format csv was given too",
    "aggregate votes.csv --method bradly-terry": "did you mean 'bradley-terry'",
    "aggregate votes.csv --method cascade": "'cascade' aggregates selections; votes.csv holds comparisons",
    "aggregate votes.csv --method average-adjacency": "a ranking needs scores",
    "aggregate votes.csv --method limit-scores": "a log has none",
    "aggregate votes.csv --intervals judges": "the log does not say who judged",
    "aggregate votes.csv --method borda --intervals sandwich": "no formula for sandwich intervals",
    "aggregate votes.csv --columns lft=winner": "did you mean 'left'",
    "aggregate votes.csv --columns winner=winer": "did you mean 'winner'",
    "aggregate llmfoa": "llmfoa: there is no such file or data set; did you mean 'llmfao'?",
    "aggregate llmfoa.csv": "llmfoa.csv: there is no such file",
    "aggregate llmfao --reader csv": "'llmfao' is a data set, which has its columns and reader",
    "rank scores.csv --method elo": "aggregates comparisons, not score tables",
    "rank scores.csv --columns system=model,scores=t1,losses=latencyy": "did you mean 'latency'?",
    "rank scores.csv --out x.txt": "there is no format .txt; endings: .csv, .parquet, .pq, .json, .md",
    "rank scores.csv --columns system=modl,scores=t1": "did you mean 'model'?",
    "rank scores.csv --out scores.csv": "would replace the file that is ranked",
    "run --control side": "--control",
    "run --log llmfoa": "llmfoa: there is no such file or data set; did you mean 'llmfao'?",
    "run --log web10k-like": "data set web10k-like holds items, not judgments",
    "run --timeout nan": "timeout must be more than 0.0, not nan",
    "run --dry-run --log llmfoa": "llmfoa: there is no such file or data set; did you mean 'llmfao'?",
    "run --dry-run --columns left=x": "--columns says how to read a log: say --log FILE with it",
    "run --dry-run --suite demo --time-unit day": "no experiment of suite 'demo' goes by time: leave --time-unit out",
    "run --dry-run --suite demo --set desing=7": "--set desing: the protocols of suite 'demo' have design, heldout",
    "run --dry-run --suite demo --set design=0": "greater than or equal to 1",
    "run --dry-run --time-unit fortnight": "Invalid value for '--time-unit'",
    "run --suite demo --dry-run --with bradley-terry:penalti=firth": "no parameter 'penalti'; did you mean 'penalty'?",
    "run --dry-run --suite demo --with bradley-terry": "is of kind aggregator: write --with aggregator=bradley-terry",
    "run --dry-run --suite demo --with erm:lamda=1": "method 'erm' has no parameter 'lamda'; did you mean 'lambda'?",
    "time demo --budget soon": "a budget is a number of seconds",
    "time demo --precision 0": "precision",
    "time demo --against no-such-ref-anywhere": "no Python that can be run",
    "time no-such-suite": "no-such-suite",
    "time demo --only nothing": "has nothing to time",
    "time demo --against /bin/false": "ended with exit code 1",
    "list --colour": "--colour",
    "list agregators": "error: there is no kind 'agregators'; did you mean 'aggregator'?",
    "info random-score": "there is no component, suite or format 'random-score'; did you mean 'random-scores'? "
    "`rankbench list` lists all",
    "info qqqqqqq": "there is no component, suite or format 'qqqqqqq'; `rankbench list` lists all",
    "aggregate votes.csv --method qqqqqqq": "unknown aggregator 'qqqqqqq'; `rankbench list aggregator` lists all",
    "info linear --kind method": "error: ",
    "info erm --kind suite": "error: ",
    "info linear --kind modle": "error: ",
    "check linear": "say which with --kind",
    "lits": "there is no command 'lits'; did you mean 'list'?",
    "run --suite ''": "--suite': it is empty; is a variable of the shell not set?",
    "aggregate votes.csv --by ''": "--by': it is empty; is a variable of the shell not set?",
    "aggregate votes.csv --method=": "--method': it is empty; is a variable of the shell not set?",
    "rank scores.csv --qrels ''": "--qrels': it is empty; is a variable of the shell not set?",
    "rank scores.csv --without a --without ''": "--without': it is empty; is a variable of the shell not set?",
    "run --dry-run --suite arena --with random-scores": "'random-scores' is of kind method, and contenders of kind "
    "'aggregator' compete",
    "run --dry-run --suite arena --with method=random-scores": "it fits no experiment",
}


@pytest.mark.parametrize("line", part_of(REFUSED, 3))
def test_what_cannot_be_had_is_said(rankbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"votes.csv": OF_KINDS, "scores.csv": SCORES}
    for name, text in files.items():
        Path(name).write_text(text)
    done = rankbench(*shlex.split(line))
    assert done.exit_code == 2
    assert REFUSED[line] in done.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()} == files
