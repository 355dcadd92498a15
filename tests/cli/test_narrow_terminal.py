"""Nothing is wider than a terminal of 80 columns, no number is folded, and a pipe has one line a row."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest
from amounts import part_of
from forked import MAIN, start_program

from rankbench.cli.output import print_table

pty = pytest.importorskip("pty")

LONG = "a-model-with-quite-a-long-name-of-some-kind"
VOTES = "winner,loser\n" + f"{LONG},b\nb,c\nc,d\nd,{LONG}\n" * 6
SCORES = "model,t1,t2,t3,t4\na,1,2,3,4\nb,2,3,5,4\nc,0,1,1,2\n"

RANK = ["rank", "scores.csv", "--columns", "system=model,scores=*", "--replicates", "50"]

COMMANDS = [
    ["--help"],
    ["list", "losses"],
    ["data", "list"],
    ["info"],
    ["info", "u-statistics", "--kind", "protocol"],
    ["info", "bradley-terry"],
    ["run", "--dry-run", "--suite", "demo"],
    ["aggregate", "votes.csv", "--intervals"],
    ["aggregate", "votes.csv", "--matrix"],
    RANK,
    ["data", "describe", "votes.csv"],
    ["compare", "votes.csv", "more.csv"],
    ["aggregate", "votes.csv", "--method", "a-method-that-there-is-not-and-whose-name-is-long"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("narrow")
    (made / "votes.csv").write_text(VOTES)
    (made / "scores.csv").write_text(SCORES)
    (made / "more.csv").write_text(VOTES + f"{LONG},c\n" * 9)
    return made


def printed(folder: Path, words: list[str], width: int) -> str:
    """Return what a terminal of a width shows."""
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"NO_COLOR": "1", "TERM": "xterm"}
    on_terminal = (
        "import fcntl, os, struct, termios\n"
        f"terminal = os.open({os.ttyname(theirs)!r}, os.O_RDWR | os.O_NOCTTY)\n"
        f"fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('4H', 40, {width}, 0, 0))\n"
        "for number in range(3):\n    os.dup2(terminal, number)\n"
        "os.close(terminal)\n"
        "import sys\n"
        "sys.stdout, sys.stderr = (open(number, 'w', closefd=False) for number in (1, 2))\n"
    )
    process = start_program(*words, environment=environment, folder=folder, code=on_terminal + MAIN)
    found, over = b"", False
    while not over:
        over = process.poll() is not None
        while select.select([ours], [], [], 0.02)[0]:
            found += os.read(ours, 65536)
    os.close(theirs)
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", found.decode()).replace("\r\n", "\n")


@pytest.mark.parametrize("words", part_of(COMMANDS, 4), ids=" ".join)
def test_a_terminal_of_80_columns(folder: Path, words: list[str]) -> None:
    shown = printed(folder, words, 80)
    assert shown.strip()
    assert "Traceback" not in shown
    wide = [line for line in shown.splitlines() if len(line.rstrip()) > 80]
    assert not wide
    # A number that was folded would leave digits on a line of their own at its column.
    assert not re.search(r"\d\.\d+\n\s*\d+\s*$", shown)


@pytest.mark.parametrize("words", [["--top", "5"], []], ids=" ".join)
def test_the_first_screen_of_a_real_log_answers(folder: Path, words: list[str]) -> None:
    lines = printed(folder, ["aggregate", "llmfao", "--intervals", *words], 100).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith(
        "GPT 4 has the highest score of 59 items, but 20 may be first: 8,931 votes of 124 judges"
    )
    assert [line[:5] for line in lines if line.startswith(("! ", "Next:", "note:"))] == ["! lef", "Next:", "note:"]


def test_a_terminal_has_the_shares_of_wins_of_the_first_items(folder: Path) -> None:
    lines = printed(folder, ["aggregate", "llmfao", "--matrix"], 100).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert lines[3].split() == [str(place) for place in range(1, 11)]
    assert lines[4].split()[:3] == ["1", "GPT", "4"]
    assert [line.split()[0] for line in lines[4:14]] == lines[3].split()
    assert lines[14].startswith("49 more")
    assert "Next: rankbench aggregate llmfao --intervals" in lines


def test_a_description_says_at_once_what_is_not_there(folder: Path) -> None:
    lines = printed(folder, ["data", "describe", "llmfao"], 100).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert "none                     weights, Condorcet winner, position-biased judges, votes cast again," in lines
    assert "Next: rankbench aggregate llmfao --intervals | rankbench audit llmfao" in lines
    assert not any(line.startswith(("table ", "rows  ", "items ", "judges ")) for line in lines), (
        "the headline has them"
    )


def test_numbers_and_places_are_whole(folder: Path) -> None:
    shown = printed(folder, RANK, 80)
    for number in ("3.50", "2.50", "1.00", "1 to 3 *"):
        assert number in shown


@pytest.mark.full
def test_a_pipe_has_one_line_a_row(folder: Path) -> None:
    program = Path(sys.executable).with_name("rankbench")
    done = subprocess.run([program, "list", "losses"], cwd=folder, capture_output=True, text=True, check=True)
    rows = [line for line in done.stdout.splitlines() if line and not line.startswith(("losses", "name "))]
    assert [row.split()[0] for row in rows] == [
        "err", "map", "mrr", "ndcg", "p", "pairwise-disagreement", "precision", "r-precision", "rbp", "recall",
        "success", "whole-order",
    ]  # fmt: skip


@pytest.mark.parametrize("cell", ["a", "\N{GREEK SMALL LETTER PHI}"])
def test_heads_in_a_pipe_are_plain_whatever_colors_are_asked_for(cell, monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_table(["name"], [[cell]], title="one")
    assert capsys.readouterr().out == f"one\nname\n{cell}\n"
