"""A plugin that prints wherever its code runs, and one that raises: what our verbs print is theirs alone."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import synthetic
from forked import MAIN, installed, run_program
from installed import install_plugin
from small_suites import suite_text

from rankbench import cli

PLUGIN = """
import atexit
import os
import sys

import click
import numpy as np

import rankbench

NOISE = "NOISE of the plugin"


def noise(where):
    print(f"{NOISE}: print {where}")
    sys.stdout.write(f"{NOISE}: write {where}\\n")
    os.write(1, f"{NOISE}: descriptor {where}\\n".encode())
    os.system(f"echo {NOISE}: child {where}")


noise("import")
atexit.register(noise, "exit")


class Loud(rankbench.Method):
    \"\"\"Scores nobody.\"\"\"

    name = "loud"
    source = "A test"

    def fit(self, block):
        noise("fit")
        return rankbench.Fitted(self.scores)

    def scores(self, queries):
        noise("score")
        return np.zeros(len(queries.x))


class Wins(rankbench.ComparisonAggregator):
    \"\"\"Numbers of wins.\"\"\"

    name = "loud-wins"
    source = "A test"
    structure = "scores"

    def aggregate(self, winners, losers, weights, m):
        noise("aggregate")
        return np.bincount(winners, weights, m)


class Faulty(rankbench.Method):
    \"\"\"Asks for what is not there.\"\"\"

    name = "faulty"
    source = "A test"

    def fit(self, block):
        return {}["design"]  # the line


@click.command()
def shout():
    print("the plugin's own answer")


@rankbench.hookimpl
def rankbench_register():
    noise("hook")
    return [Loud, Wins, Faulty]
"""

SUITE = suite_text('use = "random-scores"', 'use = "loud"', 'use = "faulty"', name="loud")
LINE = 1 + PLUGIN.splitlines().index('        return {}["design"]  # the line')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the plugin, as it were installed, a suite and a log."""
    place = tmp_path_factory.mktemp("loud")
    entries = "loud = loud_plugin\n[rankbench.commands]\nshout = loud_plugin:shout"
    install_plugin(place, "loud-plugin", entries, loud_plugin=PLUGIN)
    (place / "loud.toml").write_text(SUITE)
    (place / "votes.csv").write_text("winner,loser\na,b\na,c\nb,c\na,b\n")
    return place


def rankbench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return installed(folder, folder)(*arguments)


@pytest.fixture(scope="module")
def ran(folder: Path) -> subprocess.CompletedProcess[str]:
    return rankbench(folder, "run", "--suite", "loud.toml", "--workers", "1", "--out", "ran", "--json")


def test_a_run_prints_json_alone_and_workers_print_to_standard_error(ran: subprocess.CompletedProcess[str]) -> None:
    assert json.loads(ran.stdout)["exit_code"] == ran.returncode == 1
    for way in ("print", "write", "descriptor", "child"):
        for where in ("import", "hook", "fit", "score"):
            assert f"NOISE of the plugin: {way} {where}" in ran.stderr, (way, where)


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--json"),
        ("info", "loud", "--json"),
        pytest.param(("run", "--dry-run", "--suite", "loud.toml", "--json"), marks=pytest.mark.full),
        pytest.param(("check", "aggregator/loud-wins", "--json"), marks=pytest.mark.full),
        ("aggregate", "votes.csv", "--method", "loud-wins", "--format", "json"),
        ("new", "suite", "louder", "--json"),
        ("data", "list", "--json"),
        ("info", "--json"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_json_is_json(folder: Path, arguments: tuple[str, ...]) -> None:
    done = rankbench(folder, *arguments)
    assert json.loads(done.stdout)["schema_version"] >= 1
    assert "NOISE of the plugin: print import" in done.stderr or arguments[0] == "data"


@pytest.mark.full
def test_csv_is_csv_and_parquet_is_parquet(folder: Path) -> None:
    command = ("aggregate", "votes.csv", "--method", "loud-wins")
    done = rankbench(folder, *command, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["item"], float(row["score"])) for row in rows] == [("a", 3.0), ("b", 1.0), ("c", 0.0)]
    assert "NOISE of the plugin: descriptor aggregate" in done.stderr
    path = folder / "out.parquet"
    with path.open("wb") as file:
        command_line = [sys.executable, "-c", MAIN, *command, "--format", "parquet"]
        environment = os.environ | {"PYTHONPATH": str(folder)}
        subprocess.run(command_line, env=environment, cwd=folder, stdout=file, stderr=subprocess.PIPE, check=True)
    assert pl.read_parquet(path)["item"].to_list() == ["a", "b", "c"]


def test_what_the_tab_key_offers_is_names_alone(folder: Path) -> None:
    asked = {"_RANKBENCH_COMPLETE": "bash_complete", "COMP_WORDS": "rankbench info lou", "COMP_CWORD": "2"}
    code = "from rankbench.cli import main; main(prog_name='rankbench')"
    done = run_program(code=code, environment=os.environ | {"PYTHONPATH": str(folder)} | asked, folder=folder)
    assert done.stdout.split() == ["plain,loud", "plain,loud-wins"]


def test_help_and_a_plugins_own_command_print_to_standard_output(folder: Path) -> None:
    assert rankbench(folder, "data", "get", "--help").stdout.startswith("Usage:")
    assert "the plugin's own answer" in rankbench(folder, "shout").stdout


def test_an_error_row_ends_with_the_line_that_raised_and_verbose_has_the_traceback(
    folder: Path, ran: subprocess.CompletedProcess[str]
) -> None:
    said = f"KeyError: 'design' at loud_plugin.py:{LINE}"
    rows = pl.read_parquet(folder / "ran" / "results.parquet").filter(contender="faulty")
    assert set(rows["reason"]) == {said}
    assert said in (folder / "ran" / "leaderboard.csv").read_text(encoding="utf-8")
    assert said in re.sub(r"\s+", " ", synthetic.both_pages(folder / "ran"))
    (notice,) = json.loads(ran.stdout)["notices"]
    assert f'loud_plugin.py", line {LINE}, in fit' in notice["trace"]
    assert "Traceback" not in ran.stderr
    shown = rankbench(folder, "report", "ran", "--verbose").stderr
    assert f'loud_plugin.py", line {LINE}, in fit' in shown
    short = rankbench(folder, "report", "ran").stderr
    assert "Traceback" not in short
    assert "--verbose" in short


@pytest.mark.full
def test_check_prints_each_traceback_once(folder: Path) -> None:
    done = rankbench(folder, "check", "method/faulty")
    assert done.returncode == 1
    assert f"raised KeyError: 'design' at loud_plugin.py:{LINE}" in done.stdout
    assert 1 <= done.stdout.count("Traceback (most recent call last)") < done.stdout.count(f"loud_plugin.py:{LINE}")


@pytest.mark.parametrize("path", sorted(Path(cli.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_our_verbs_print_to_standard_output_by_echo_alone(path: Path) -> None:
    """What is printed by other means goes to standard error: a command would seem to answer nothing in a pipe."""
    if path.stem == "output":
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    others = [
        ast.unparse(call)
        for call in calls
        if (ast.unparse(call.func) == "print" and path.stem != "start")
        or (ast.unparse(call.func) == "click.echo" and "err" not in {word.arg for word in call.keywords})
        or (ast.unparse(call.func) == "Console" and not {"stderr", "file"} & {word.arg for word in call.keywords})
    ]
    assert others == []
