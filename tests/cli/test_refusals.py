"""What cannot be had ends with exit code 2 and words that say why."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

VOTES = "left,right,winner,kind\n" + "a,b,left,x\nb,a,left,y\nb,c,left,x\nc,a,right,y\na,c,tie,x\n" * 3
SCORES = "model,t1,latency\n" + "m0,1,9\nm1,2,7\nm2,3,8\n"

REFUSED = {
    "aggregate votes.csv --across": "say --by COLUMN with it",
    "aggregate votes.csv --across --by kind --matrix": "and no --matrix",
    "aggregate votes.csv --across --by kind --out x.png": "there is no format .png",
    "aggregate votes.csv --matrix --out x.png": "there is no format .png",
    "aggregate votes.csv --control side --effects --out x.png": "there is no format .png",
    "aggregate votes.csv --out x.xyz": "there is no format .xyz; endings: .csv, .parquet, .pq, .json, .md, .png, .svg",
    "aggregate votes.csv --out votes.csv": "is what is ranked",
    "aggregate votes.csv --scale elo:anchor=B@1000": "no item is called 'B'",
    "aggregate votes.csv --scale elo:anchor=b": "after the anchor's name comes @ and its points",
    "aggregate votes.csv --scale points": "write elo, or elo:anchor=NAME@1000",
    "aggregate votes.csv --scale elo --method win-rate": "are no log-odds",
    "aggregate votes.csv --effects": "--effects shows those of --control",
    "aggregate votes.csv --control wrds": "there is no column 'wrds' to control for",
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
    "rank scores.csv --lower latencyy": "did you mean 'latency'?",
    "rank scores.csv --out x.txt": "there is no format .txt; endings: .csv, .parquet, .pq, .json, .md",
    "rank scores.csv --columns system=modl": "did you mean 'model'?",
    "rank scores.csv --out scores.csv": "is what is ranked",
    "run --log llmfoa": "llmfoa: there is no such file or data set; did you mean 'llmfao'?",
    "run --log web10k-like": "data set web10k-like holds items, not judgments",
    "run --timeout nan": "a timeout is a number of seconds",
    "run --timeout 1e300": "a timeout is a number of seconds",
    "plan --log llmfoa": "llmfoa: there is no such file or data set; did you mean 'llmfao'?",
    "plan --columns left=x": "--columns, --control and --reader say how to read a --log",
    "plan --suite demo --time-unit day": "no experiment of suite 'demo' goes by time: leave --time-unit out",
    "plan --time-unit fortnight": "Invalid value for '--time-unit'",
    "time demo --budget soon": "no time",
    "time demo --precision 0": "precision",
    "time demo --against no-such-ref-anywhere": "no Python that can be run",
    "time no-such-suite": "no-such-suite",
    "time demo --only nothing": "nothing of what was to be timed",
    "time demo --against /bin/false": "ended with exit code 1",
    "list --colour": "--colour",
    "list agregators": "error: there is no kind 'agregators'; did you mean 'aggregator'?",
    "info random-score": "there is no component or suite 'random-score'; did you mean 'random-scores'?",
    "info linear --kind method": "error: ",
    "info erm --kind suite": "error: ",
    "info linear --kind modle": "error: ",
    "check linear": "say which with --kind",
    "lits": "there is no command 'lits'; did you mean 'list'?",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_had_is_said(rankbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"votes.csv": VOTES, "scores.csv": SCORES}
    for name, text in files.items():
        Path(name).write_text(text)
    done = rankbench(*shlex.split(line))
    assert done.exit_code == 2
    assert REFUSED[line] in done.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()} == files
