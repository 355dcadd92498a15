"""A leaderboard of 5,000 rows: 500 contenders, five losses, two splits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic

from rankbench.reports.results import report


@pytest.fixture
def run(tmp_path: Path) -> Path:
    contenders = [synthetic.Contender(f"c{i}", {"k": i}, 2e-4 * i) for i in range(500)]
    losses = tuple(f"ndcg:k={k}" for k in range(1, 6))
    plan = synthetic.Plan("e", contenders, n=(200_000,), repetitions=3, baseline="c0", losses=losses)
    return synthetic.write(tmp_path, [plan], {"design": 100, "heldout": 100})


def test_a_leaderboard_of_five_thousand_rows(run: Path, benchmark: Any) -> None:
    benchmark.pedantic(report, (run,), rounds=1)
    assert len((run / "leaderboard.csv").read_text().splitlines()) == 5001
