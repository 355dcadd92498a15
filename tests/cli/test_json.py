"""Every verb prints JSON with the version of its schema, and the keys that docs/reference/json.md lists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
import polars as pl
import pytest
from amounts import part_of

from rankbench.cli import MEANINGS, SHORT_HELPS, main

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")

VOTES = "winner,loser\n" + "a,b\nb,c\na,c\nc,d\nd,a\nb,d\nc,b\n" * 5
SIDES = "left,right,winner\n" + "a,b,left\nb,a,left\nb,c,right\na,c,left\nc,a,tie\n" * 4
TIMES = "winner,loser,time\n" + "a,b,1\nb,c,1\nc,a,2\na,c,3\n" * 4
SCORES = "model,t1,t2,t3\na,1,2,3\nb,2,3,5\nc,0,1,1\n"
SUITE = """\
name = "small"
title = "Small"
asks = "Is one better than the other on a few simulated queries?"
dataset = "web10k-like:queries=12"
protocol = "btl:design=4,heldout=4"
[[experiments]]
name = "one"
title = "One"
n = [200]
repetitions = 2
losses = ["ndcg"]
contenders = [{ use = "random-scores", label = "random" }, { use = "erm:k=1", label = "first" }]
"""

MADE = {
    "run": ["run", "--suite", "small.toml", "--workers", "1", "--out", "again"],
    "aggregate": ["aggregate", "votes.csv"],
    "aggregate --matrix": ["aggregate", "votes.csv", "--matrix"],
    "aggregate --pool": ["aggregate", "langs.csv", "--by", "lang", "--pool"],
    "aggregate --across": ["aggregate", "votes.csv", "--by", "query", "--across"],
    "aggregate --control": ["aggregate", "sides.csv", "--control", "side"],
    "aggregate --effects": ["aggregate", "sides.csv", "--control", "side", "--effects"],
    "aggregate --over time": ["aggregate", "times.csv", "--over", "time", "--method", "dynamic-bradley-terry"],
    "rank": ["rank", "scores.csv", "--replicates", "50"],
    "certify": ["certify", "regression", "--loss", "ndcg", "--laws", "1", "--noise", "any"],
    "certify --verify": ["certify", "--verify", "certificate.json"],
    "plan": ["plan", "--suite", "small.toml"],
    "report": ["report", "done"],
    "compare": ["compare", "done", "done"],
    "history add": f"history add done --to past --commit {'c' * 40} --date 2026-01-31T12:00:00+00:00".split(),
    "history show": ["history", "show", "past"],
    "verify": ["verify", "done"],
    "list": ["list"],
    "info": ["info", "erm"],
    "info --kind suite": ["info", "demo", "--kind", "suite"],
    "data list": ["data", "list"],
    "data verify": ["data", "verify"],
    "data describe": ["data", "describe", "votes.csv"],
    "data convert": ["data", "convert", "votes.csv", "shards", "--shards", "2"],
    "plugins": ["plugins"],
    "check": ["check", "loss/ndcg", "--timeout", "600"],
    "new plugin": ["new", "plugin", "mine", "--kind", "loss"],
    "new suite": ["new", "suite", "own"],
    "env": ["env"],
}
"""How each row of the page is made; the others take a network, minutes or a quiet machine."""

ELSEWHERE = {
    "certify --all": "tests/certify: ten minutes",
    "time": "tests/cli/test_cli_time.py",
    "time --against": "tests/cli/test_cli_time.py",
    "data get": "tests/cli/test_cli_data.py",
}


def documented() -> dict[str, list[str]]:
    """Return the keys of each row of the page."""
    section = PAGE.partition("## Keys of each command")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z -]+)` \| (.*) \|$", section, re.M)
    return {name: re.findall(r"`(\w+)`", keys) for name, keys in rows}


def leaves() -> Iterator[tuple[str, click.Command]]:
    """Yield every built-in command that does something, by its words."""
    for verb in SHORT_HELPS:
        found = main.get_command(click.Context(main, **main.context_settings), verb)
        if isinstance(found, click.Group):
            yield from ((f"{verb} {name}", command) for name, command in found.commands.items())
        else:
            assert found is not None
            yield verb, found


@pytest.mark.parametrize(
    ("words", "command"), list(leaves()), ids=lambda value: str(value) if " " in str(value) else ""
)
def test_every_verb_takes_it(words: str, command: click.Command) -> None:
    flags = [parameter for parameter in command.params if "--json" in parameter.opts]
    assert [flag.is_flag for flag in flags if isinstance(flag, click.Option)] == [True]
    assert words in documented()


def test_the_page_has_no_other_rows() -> None:
    assert set(documented()) == {*MADE, *ELSEWHERE}
    assert {name.partition(" --")[0] for name in documented()} == {words for words, _ in leaves()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with votes, scores, a suite, a run of it, a certificate and a history."""
    from click.testing import CliRunner

    made = tmp_path_factory.mktemp("json")
    (made / "votes.csv").write_text(VOTES)
    (made / "sides.csv").write_text(SIDES)
    langs = "".join(f"x,y,{lang}\ny,z,{lang}\nz,x,{lang}\n" for lang in ("en", "de"))
    (made / "langs.csv").write_text(f"winner,loser,lang\n{langs}")
    (made / "times.csv").write_text(TIMES)
    (made / "scores.csv").write_text(SCORES)
    (made / "small.toml").write_text(SUITE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        for arguments in (
            ["run", "--suite", "small.toml", "--workers", "1", "--out", "done"],
            [*MADE["certify"], "--out", "certificate.json"],
            [*MADE["history add"][:4], "past", "--commit", "b" * 40, "--date", "2026-01-30T12:00:00+00:00"],
        ):
            done = CliRunner().invoke(main, arguments, prog_name="rankbench")
            assert done.exit_code == 0, done.output
    return made


@pytest.mark.parametrize("row", part_of(MADE, 3))
def test_what_is_printed_is_what_is_documented(rankbench, folder, monkeypatch, row) -> None:
    monkeypatch.chdir(folder)
    done = rankbench(*MADE[row], "--json")
    assert done.exit_code in MEANINGS, done.stderr
    assert done.stdout, done.stderr
    assert done.stdout.isascii()
    found = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    if row == "certify":
        assert found["schema"] == "rankbench-certificate/1"
        return
    assert next(iter(found.items())) == ("schema_version", 1)
    keys = documented()[row]
    shown = list(found)[1:]
    assert shown[0] == keys[0] if row == "data describe" else sorted(shown) == sorted(keys)


def test_a_run_says_who_is_best(rankbench, folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    found = json.loads(rankbench(*MADE["run"][:-1], "done", "--json").stdout)
    assert found["exit_code"] == 0
    assert "done/leaderboard.md" in found["files"]
    rows = pl.read_csv("done/leaderboard.csv")
    for row in found["headline"]:
        own = rows.filter(contender=row["contender"], split=row["split"])
        assert own["mean"].item() == pytest.approx(row["mean"], abs=1e-6)
    assert {row["split"] for row in found["headline"]} == {"design", "heldout"}
    assert len(found["who_is_best"]) == 2
