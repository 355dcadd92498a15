"""How long a run takes, about, before it is started."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from amounts import part_of
from click.testing import CliRunner
from data_files import written
from small_suites import suite_text

from rankbench import api
from rankbench.cli import main
from rankbench.core.text import duration_text
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.plugin import third_party as ownership
from rankbench.protocols.judging import COMPARISON
from rankbench.runner import estimate as estimates
from rankbench.runner.blocks import run_block
from rankbench.runner.estimate import estimate, estimated_seconds
from rankbench.runner.plan import Planned


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        *((0.01, "1 s"), (1.24, "1.2 s"), (39.7, "40 s"), (60, "1 min"), (754, "13 min"), (3600, "1 h")),
        *((12600, "3.5 h"), (443_000, "120 h")),
    ],
)
def test_durations_are_rounded(seconds: float, said: str) -> None:
    assert duration_text(seconds) == said


BLOCK = 2 * COMPARISON
"""Bytes of a judgment of `btl` where a contender gets a copy."""


@pytest.fixture
def short(tmp_path: Path) -> str:
    """A log of 200 votes, for what is said of any log: each contender is fitted to it again and again."""
    winners = [f"m{i % 4}" for i in range(200)]
    losers = [f"m{(i % 4 + 1 + i // 4 % 3) % 4}" for i in range(200)]
    path = tmp_path / "short.csv"
    pl.DataFrame({"winner": winners, "loser": losers}).write_csv(path)
    return str(path)


@pytest.fixture(scope="module")
def timed() -> tuple[Planned, dict[str, float]]:
    """A plan on a log of people's votes, and the estimated seconds of its cells."""
    made = api.planned("own-log", dataset="llmfao", reps=2)
    return made, estimated_seconds(made)


def test_contenders_on_a_log_are_timed_and_populations_are_not(timed: tuple[Planned, dict[str, float]]) -> None:
    made, found = timed
    assert set(found) == {m.cell for m in made.plan.members}
    assert min(found.values()) > 0
    # Of one contender the same in every repetition; a grid of six costs more than one point.
    of = {label: {found[m.cell] for m in made.plan.members if m.experiment == "methods" and m.label == label}
          for label in ("Bradley-Terry", "win rate")}  # fmt: skip
    assert {len(values) for values in of.values()} == {1}
    assert min(of["Bradley-Terry"]) > min(of["win rate"])
    assert estimated_seconds(api.planned("theory", reps=1)) == {}


def test_contenders_of_plugins_have_no_time(short: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "is_ours", lambda component: component.name != "borda")
    done = CliRunner().invoke(main, ["plan", "--log", short, "--reps", "1"])
    assert done.exit_code == 0, done.output
    assert "of one processor for the contenders with a time" in done.output
    facts = json.loads(CliRunner().invoke(main, ["plan", "--log", short, "--reps", "1", "--json"]).output)
    methods = {one["label"]: one for one in facts["contenders"] if one["experiment"] == "methods"}
    assert {label for label, one in methods.items() if "seconds" not in one} == {"Borda"}


def test_the_estimate_of_items_is_about_right(timed: tuple[Planned, dict[str, float]]) -> None:
    """From ten resamples of a thousand: within a factor of three, and a second."""
    made, found = timed
    task = next(t for t in made.plan.tasks if made.sources[t.source].protocol.name == "items")
    for cell, contender in part_of(task.cells.items()):
        alone = replace(task, cells={cell: contender})
        begin = time.process_time()
        run_block(made.sources[task.source], alone)
        taken = time.process_time() - begin
        assert found[cell] / 3 - 1 < taken < 3 * found[cell] + 1, contender.text


def test_the_estimate_is_about_right(timed: tuple[Planned, dict[str, float]]) -> None:
    """Within a factor of three, and half a second of what all contenders share."""
    made, found = timed
    task = max((t for t in made.plan.tasks if set(t.cells) <= set(found)), key=lambda t: len(t.cells))
    run_block(made.sources[task.source], task)
    begin = time.process_time()
    run_block(made.sources[task.source], task)
    taken, said = time.process_time() - begin, sum(found[cell] for cell in task.cells)
    assert said / 3 - 0.5 < taken < 3 * said + 0.5


def test_plan_prints_what_it_estimates(short: str) -> None:
    done = CliRunner().invoke(main, ["plan", "--log", short, "--reps", "2"])
    assert done.exit_code == 0, done.output
    assert "an estimate, from one fit of each" in done.output
    header = done.output.splitlines()[0].split()
    assert header[-2:] == ["about", "spec"]
    done = CliRunner().invoke(main, ["plan", "--log", short, "--reps", "2", "--json"])
    facts = json.loads(done.output)["contenders"]
    assert {"seconds" in fact for fact in facts if fact["experiment"] == "methods"} == {True}
    assert {"seconds" in fact for fact in facts if fact["experiment"] == "items"} == {True}


SMALL = suite_text('use = "erm:k=[1,10,inf],draws=2000"', 'use = "random-scores"', n="[2000, 32000]", repetitions=2)


def test_the_estimate_of_blocks_holds_their_time(tmp_path: Path) -> None:
    """Within the range that it says, and a factor of two and half a second for a machine that others use."""
    made = api.planned(str(written(tmp_path / "small.toml", SMALL)))
    found = estimate(made)
    begin = time.process_time()
    for task in made.plan.tasks:
        run_block(made.sources[task.source], task)
    taken = time.process_time() - begin
    assert found.low / 2 - 0.5 < taken < 2 * found.high + 0.5
    assert found.low < found.seconds < found.high
    assert (found.cells, found.unknown) == ({}, 0)
    assert found.data == sum(array.nbytes for array in made.sources[0].arrays.values())


@pytest.mark.parametrize("power", [0.0, 0.4, 1.0])
def test_time_grows_as_small_blocks_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, power: float) -> None:
    made = api.planned(str(written(tmp_path / "small.toml", SMALL)))
    seen: list[int] = []

    def seconds(_: Prepared, task: BlockTask) -> float:
        seen.append(task.key.n)
        return 0.6 * (task.key.n / 500) ** power

    monkeypatch.setattr(estimates, "_seconds", seconds)
    monkeypatch.setattr(estimates, "_traced", lambda prepared, task: 1000)
    found = estimate(made)
    assert seen == [500, 2000]
    expected = 2 * sum(0.6 * (n / 500) ** power for n in (2000, 32000))
    assert found.seconds == pytest.approx(expected)
    assert found.low < expected < found.high
    largest, smallest = (BLOCK * n for n in (32000, 500))
    assert found.worker == 1000 + largest - smallest


def test_contenders_of_blocks_that_cannot_be_smaller_are_measured_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    made = api.planned("theory")
    times = iter([0.2, 0.4, *[0.1] * 1000])
    monkeypatch.setattr(estimates, "_seconds", lambda prepared, task: next(times))
    monkeypatch.setattr(estimates, "_traced", lambda prepared, task: 0)
    task = made.plan.tasks[0]
    curve = estimates._measured(made.sources[task.source], [task])
    assert curve is not None
    assert curve.seconds(1)[1] == pytest.approx(0.3 * len(task.cells))


def test_blocks_of_plugins_alone_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(written(tmp_path / "small.toml", SMALL))
    monkeypatch.setattr(ownership, "is_ours", lambda component: False)
    done = CliRunner().invoke(main, ["plan", "--suite", path])
    assert done.exit_code == 0, done.output
    assert "rankbench does not know the time of 4 blocks, which plugins compute" in done.output
    assert "memory: " in done.output
