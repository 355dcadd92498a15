"""How long a run takes, about, before it is started."""

from __future__ import annotations

import json
import time

import pytest
from click.testing import CliRunner

from rankbench import api
from rankbench.cli import main
from rankbench.runner.blocks import run_block
from rankbench.runner.estimate import estimated_seconds, in_words


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.01, "1 s"), (1.24, "1.2 s"), (39.7, "40 s"), (60, "1 min"), (754, "13 min"), (3600, "1 h"), (12600, "3.5 h")],
)
def test_durations_are_rounded(seconds: float, said: str) -> None:
    assert in_words(seconds) == said


def test_contenders_on_a_log_are_timed_and_populations_are_not() -> None:
    made = api.planned("own-log", dataset="llmfao", reps=2)
    found = estimated_seconds(made)
    judged = {m.cell for m in made.plan.members if m.experiment != "items"}
    assert set(found) == judged
    assert min(found.values()) > 0
    # Of one contender the same in every repetition; a grid of six costs more than one point.
    of = {label: {found[m.cell] for m in made.plan.members if m.experiment == "methods" and m.label == label}
          for label in ("Bradley-Terry", "win rate")}  # fmt: skip
    assert {len(values) for values in of.values()} == {1}
    assert min(of["Bradley-Terry"]) > min(of["win rate"])
    assert estimated_seconds(api.planned("theory", reps=1)) == {}


@pytest.mark.alone
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


def test_plan_prints_what_it_estimates() -> None:
    done = CliRunner().invoke(main, ["plan", "--log", "llmfao", "--reps", "2"])
    assert done.exit_code == 0, done.output
    assert "an estimate, from one fit of each" in done.output
    header = done.output.splitlines()[0].split()
    assert header[-2:] == ["about", "spec"]
    done = CliRunner().invoke(main, ["plan", "--log", "llmfao", "--reps", "2", "--json"])
    facts = json.loads(done.output)["contenders"]
    assert {"seconds" in fact for fact in facts if fact["experiment"] == "methods"} == {True}
    assert {"seconds" in fact for fact in facts if fact["experiment"] == "items"} == {False}
