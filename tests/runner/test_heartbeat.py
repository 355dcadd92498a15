"""A line every half minute, in a pipe: that a run goes on, and how far it is."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console
from sessions import wait_until

from rankbench.core import system
from rankbench.core.system import Heartbeat
from rankbench.interfaces.cell import BlockKey, BlockResult, CellResult
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.runner import blocks
from rankbench.runner.prepare import protocol_of
from rankbench.runner.progress import ConsoleProgress, Work


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(system, "BEAT", 0.02)


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


def tasks_of(*contenders: tuple[str, ...]) -> list[BlockTask]:
    return [
        BlockTask(BlockKey("btl", "", 100 * place, 0, 1), 0, ("ndcg",), {name: Contender(name, ()) for name in names})
        for place, names in enumerate(contenders, 1)
    ]


def result_of(task: BlockTask, seconds: float, *cells: str) -> BlockResult:
    return BlockResult(task.key, [CellResult(cell, "done") for cell in cells or task.cells], seconds)


def test_a_run_in_a_pipe_says_how_many_contenders_are_done(quick) -> None:
    out = io.StringIO()
    first, *others = tasks_of(("a", "b"), ("c",), ("d",))

    def said(line: str) -> None:
        wait_until(lambda: re.search(rf"^\d+ s: {line}$", out.getvalue(), re.M))

    with ConsoleProgress(Console(file=out, width=200)) as told:
        said("preparing")
        told.start([first, *others], 2)
        said("0 of 4 contenders of 3 blocks")
        for _ in range(5):
            told.advance("a", 0.2)
        said("0 of 4 contenders of 3 blocks")  # its block has no result
        told.advance("b", 0.5)
        told.done(result_of(first, 1.0))
        said("2 of 4 contenders of 3 blocks")
        told.advance("c", 0.25)
        told.advance("unknown", 1.0)
        told.say("leaderboard and figures")
        said("leaderboard and figures")
        told.warn("mind [this]")
    text = out.getvalue()
    assert text.endswith("mind [this]\n")
    assert "\x1b" not in text


def test_a_bar_looks_at_all_contenders_when_it_is_drawn_not_at_each_step(monkeypatch) -> None:
    looked, (task,) = [], tasks_of(("a",))
    monkeypatch.setattr(Work, "left", lambda self: looked.append(self))
    out = io.StringIO()
    with ConsoleProgress(Console(file=out, width=200, force_terminal=True)) as told:
        told.start([task], 0)
        for _ in range(1000):
            told.advance("a", 1e-3)
        told.done(result_of(task, 1.0))
    assert len(looked) < 100
    assert "1 of 1 contender of 1 block" in out.getvalue()


def repeated(repetitions: int, *contenders: str) -> list[BlockTask]:
    """Return repetitions of a block."""
    cells = [{f"{name} {r}": Contender(name, ()) for name in contenders} for r in range(repetitions)]
    return [BlockTask(BlockKey("btl", "", 100, r, 1), 0, ("ndcg",), of) for r, of in enumerate(cells)]


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, monkeypatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def test_time_left_is_said_when_repetitions_agree_by_a_factor_of_two(monkeypatch) -> None:
    """One worker; the first block loads code, and so says nothing of others."""
    clock, tasks = Clock(monkeypatch), repeated(10, "a", "b")
    work = Work(tasks)
    assert work.left() is None
    for seconds, task, left in ((30.0, 0, None), (10.0, 1, None), (8.0, 2, 7 * 8), (11.0, 3, 6 * 11)):
        clock.now += seconds
        work.done(result_of(tasks[task], seconds))
        # The processor has been busy all the time.
        assert work.left() == (left if left is None else pytest.approx(left))
    clock.now += 11.0
    work.done(result_of(tasks[4], 22.0))  # two at once
    busy = 30 + 10 + 8 + 11 + 22
    assert work.left() == pytest.approx(5 * 22 / (busy / (clock.now - 100)))
    clock.now += 11.0
    work.done(result_of(tasks[5], 100.0))
    assert work.left() is None


def test_contenders_of_their_own_time_are_expected_to_take_it(monkeypatch) -> None:
    """A block in parts: built-in contenders, and a plugin's, which takes a hundred times as long."""
    clock, tasks = Clock(monkeypatch), repeated(3, "a", "b", "slow")
    work = Work(tasks)
    for task in tasks[:2]:
        for seconds, cells in ((2.0, [*task.cells][:2]), (100.0, [*task.cells][2:])):
            clock.now += seconds
            work.done(result_of(task, seconds, *cells))
    clock.now += 2.0
    work.done(result_of(tasks[2], 2.0, *[*tasks[2].cells][:2]))
    assert work.left() == pytest.approx(100.0)
    work.advance("slow 2", 0.75)
    assert work.left() == pytest.approx(25.0)
    blocks.mark_started(tasks[2])
    clock.now += 90.0
    try:
        assert work.left() == pytest.approx(10.0)
    finally:
        blocks.mark_finished(tasks[2])


def test_a_block_of_which_nobody_knows_another_has_no_time(monkeypatch) -> None:
    clock, (a, b) = Clock(monkeypatch), tasks_of(("a",), ("b",))
    work = Work([a, b])
    clock.now += 5.0
    work.done(result_of(a, 5.0))
    assert work.left() is None
    assert Work(()).left() is None  # all of it was there already


def test_what_has_been_running_longest_is_named(quick, monkeypatch) -> None:
    monkeypatch.setattr(blocks, "_LONG", 0.0)
    out = io.StringIO()
    first, second = tasks_of(("sleeper", "sleeper:width=2"), ("quick",))
    with ConsoleProgress(Console(file=out, width=200)) as told:
        told.start([first, second], 0)
        blocks.mark_started(first)
        blocks.mark_started(second)
        said = r"0 of 3 contenders of 2 blocks; running for \d+ s: sleeper, sleeper:width=2 \(n = 100, repetition 1\)$"
        wait_until(lambda: re.search(said, out.getvalue(), re.M))
        blocks.mark_finished(first)
        wait_until(lambda: re.search(r"running for \d+ s: quick \(n = 200, repetition 1\)$", out.getvalue(), re.M))
        blocks.mark_finished(second)
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
