"""How many repetitions are planned when fewer are asked for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rankbench import api

UNEQUAL = """
name = "unequal"
title = "As many repetitions as the paper's figures"
dataset = "web10k-like:queries=24,features=8"
protocol = "btl:design=10,heldout=10"
[[experiments]]
name = "figure-2"
title = "Figure 2"
n = [60]
repetitions = 20
contenders = [{ use = "random-scores" }]
[[experiments]]
name = "figure-3"
title = "Figure 3"
n = [80]
repetitions = 50
contenders = [{ use = "random-scores" }]
"""


@pytest.mark.parametrize(("reps", "figures"), [(1, (1, 1)), (2, (2, 2)), (5, (2, 5)), (10, (4, 10)), (99, (20, 50))])
def test_fewer_repetitions_keep_their_proportion(tmp_path: Path, reps: int, figures: tuple[int, int]) -> None:
    (tmp_path / "unequal.toml").write_text(UNEQUAL)
    plan = api.planned(str(tmp_path / "unequal.toml"), reps=reps).plan
    by_name = {e.name: e.repetitions for e in plan.suite.experiments}
    assert (by_name["figure-2"], by_name["figure-3"]) == figures
    tasks = Counter(task.key.n for task in plan.tasks)
    assert (tasks[60], tasks[80]) == figures
