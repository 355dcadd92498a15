"""A line every half minute, in a pipe: that a run goes on, and how far it is."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console
from sessions import wait_until

from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.runner import blocks, progress
from rankbench.runner.prepare import protocol_of
from rankbench.runner.progress import ConsoleProgress, Heartbeat


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.02)


def test_a_line_comes_again_and_again_and_then_no_more(quick) -> None:
    lines: list[str] = []
    with Heartbeat(lines.append, lambda: "at it"):
        wait_until(lambda: len(lines) >= 3)
    count = len(lines)
    assert count >= 3
    assert all(re.fullmatch(r"\d+ s: at it", line) for line in lines)
    time.sleep(0.1)
    assert len(lines) == count


@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("I/O operation on closed file")])
def test_nobody_who_reads_is_no_reason_to_fail(quick, error: Exception) -> None:
    tried = []

    def write(line: str) -> None:
        tried.append(line)
        raise error

    with Heartbeat(write, lambda: "at it"):
        wait_until(lambda: tried)
        time.sleep(0.1)
    assert len(tried) == 1


def test_a_run_in_a_pipe_says_how_many_blocks_are_done(quick) -> None:
    out = io.StringIO()
    with ConsoleProgress(Console(file=out, width=200)) as told:
        wait_until(lambda: re.search(r"^\d+ s: preparing$", out.getvalue(), re.M))
        told.start(4, 2)
        told.advance()
        wait_until(lambda: re.search(r"^\d+ s: 1 of 4 blocks, about \d+ s left$", out.getvalue(), re.M))
        told.say("leaderboard and figures")
        wait_until(lambda: re.search(r"^\d+ s: leaderboard and figures$", out.getvalue(), re.M))
        told.warn("mind [this]")
    text = out.getvalue()
    assert text.endswith("mind [this]\n")
    assert "\x1b" not in text


def tasks_of(*contenders: tuple[str, ...]) -> list[BlockTask]:
    return [
        BlockTask(BlockKey("btl", "", 100 * place, 0, 1), 0, ("ndcg",), {name: Contender(name, ()) for name in names})
        for place, names in enumerate(contenders, 1)
    ]


def test_what_has_been_running_longest_is_named(quick, monkeypatch) -> None:
    monkeypatch.setattr(blocks, "_LONG", 0.0)
    out = io.StringIO()
    first, second = tasks_of(("sleeper", "sleeper:width=2"), ("quick",))
    with ConsoleProgress(Console(file=out, width=200)) as told:
        told.start(2, 0)
        blocks.begun(first)
        blocks.begun(second)
        said = r"0 of 2 blocks; running for \d+ s: sleeper, sleeper:width=2 \(n = 100, repetition 1\)$"
        wait_until(lambda: re.search(said, out.getvalue(), re.M))
        blocks.ended(first)
        wait_until(lambda: re.search(r"running for \d+ s: quick \(n = 200, repetition 1\)$", out.getvalue(), re.M))
        blocks.ended(second)
    assert blocks.longest_running() == ""


def test_a_block_in_this_process_is_one_that_is_running(monkeypatch) -> None:
    """Whoever has just begun is not named."""
    (task,) = tasks_of(("sleeper",))
    seen = []
    monkeypatch.setattr(blocks, "_executed", lambda *_: seen.append(blocks.longest_running()))
    prepared = Prepared(protocol_of("own-log"), None, "", {})
    blocks.run_block(prepared, task)
    monkeypatch.setattr(blocks, "_LONG", 0.0)
    blocks.run_block(prepared, task)
    assert seen[0] == ""
    assert "sleeper (n = 100" in seen[1]
    assert blocks.longest_running() == ""
