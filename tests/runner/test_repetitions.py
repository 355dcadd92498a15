"""How many repetitions are planned when fewer are asked for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from small_suites import suite_text

from rankbench import api
from rankbench.runner.question import RunQuestion

EXPERIMENT = """
[[experiments]]
name = "b"
title = "B"
n = [80]
repetitions = 50
contenders = [{ use = "random-scores" }]
"""
UNEQUAL = suite_text('use = "random-scores"', n="[60]", repetitions=20, more=EXPERIMENT)


@pytest.mark.parametrize(("reps", "figures"), [(1, (1, 1)), (2, (2, 2)), (5, (2, 5)), (10, (4, 10)), (99, (20, 50))])
def test_fewer_repetitions_keep_their_proportion(tmp_path: Path, reps: int, figures: tuple[int, int]) -> None:
    (tmp_path / "unequal.toml").write_text(UNEQUAL)
    plan = api.planned(str(tmp_path / "unequal.toml"), RunQuestion(reps=reps)).plan
    by_name = {e.name: e.repetitions for e in plan.suite.experiments}
    assert (by_name["a"], by_name["b"]) == figures
    tasks = Counter(task.key.n for task in plan.tasks)
    assert (tasks[60], tasks[80]) == figures
