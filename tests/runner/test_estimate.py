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

from rankbench import api
from rankbench.cli import main
from rankbench.core.text import duration_text
from rankbench.plugin import third_party as ownership
from rankbench.runner.blocks import run_block
from rankbench.runner.run_record import estimated_seconds


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        *((0.01, "1 s"), (1.24, "1.2 s"), (39.7, "40 s"), (60, "1 min"), (754, "13 min"), (3600, "1 h")),
        *((12600, "3.5 h"), (443_000, "120 h")),
    ],
)
def test_durations_are_rounded(seconds: float, said: str) -> None:
    assert duration_text(seconds) == said


@pytest.fixture
def short(tmp_path: Path) -> str:
    """A log of 200 votes, for what is said of any log: each contender is fitted to it again and again."""
    winners = [f"m{i % 4}" for i in range(200)]
    losers = [f"m{(i % 4 + 1 + i // 4 % 3) % 4}" for i in range(200)]
    path = tmp_path / "short.csv"
    pl.DataFrame({"winner": winners, "loser": losers}).write_csv(path)
    return str(path)


def test_contenders_on_a_log_are_timed_and_populations_are_not() -> None:
    made = api.planned("own-log", dataset="llmfao", reps=2)
    found = estimated_seconds(made)
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
    made = api.planned("own-log", dataset="llmfao", reps=1)
    theirs = {m.cell for m in made.plan.members if m.label == "Borda"}
    assert theirs
    assert not theirs & set(estimated_seconds(made))
    done = CliRunner().invoke(main, ["plan", "--log", short, "--reps", "1"])
    assert done.exit_code == 0, done.output
    assert "of one processor for the contenders with a time" in done.output
    facts = json.loads(CliRunner().invoke(main, ["plan", "--log", short, "--reps", "1", "--json"]).output)
    methods = {one["label"]: one for one in facts["contenders"] if one["experiment"] == "methods"}
    assert {label for label, one in methods.items() if "seconds" not in one} == {"Borda"}


def test_the_estimate_of_items_is_about_right() -> None:
    """From ten resamples of a thousand: within a factor of three, and a second."""
    made = api.planned("own-log", dataset="llmfao", reps=1)
    (task,) = (t for t in made.plan.tasks if made.sources[t.source].protocol.name == "items")
    found = estimated_seconds(made)
    for cell, contender in part_of(task.cells.items()):
        alone = replace(task, cells={cell: contender})
        begin = time.process_time()
        run_block(made.sources[task.source], alone)
        taken = time.process_time() - begin
        assert found[cell] / 3 - 1 < taken < 3 * found[cell] + 1, contender.text


def test_the_estimate_is_about_right() -> None:
    """Within a factor of three, and half a second of what all contenders share."""
    made = api.planned("own-log", dataset="llmfao", reps=2)
    found = estimated_seconds(made)
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
