"""What `rankbench time` says on the machine that the tests run on, in minutes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scipy import stats
from small_suites import suite_text

from rankbench.tracking.question import TimeQuestion
from rankbench.tracking.time import time_suite

pytestmark = [pytest.mark.long, pytest.mark.alone]

REPEATS = 50

EXACT = "erm:aggregator=mean-log-odds,k=[1,10,inf],surrogate=regression,optimizer=exact,lambda=1e-3,draws=1000"
SUITE = suite_text(
    f'label = "k={{k}}", use = "{EXACT}"',
    name="short",
    protocol="btl:design=20,heldout=20",
    dataset="web10k-like:queries=60",
    n="[2000]",
    more='losses = ["ndcg"]',
)


def test_short_repeats_where_nothing_changed(tmp_path: Path) -> None:
    """Two versions that are one, 50 times."""
    suite = tmp_path / "short.toml"
    suite.write_text(SUITE)
    alarms = 0
    for number in range(REPEATS):
        timed = time_suite(
            str(suite),
            TimeQuestion(against=sys.executable, rounds=36, precision=0.1, seed=number),
            tmp_path / str(number),
        )
        assert timed.comparison is not None
        assert timed.comparison.tested == 3  # no peak can have grown by 16 MiB
        alarms += timed.exit_code == 1
        print(f"{alarms} false alarms in {number + 1} repeats", flush=True)
    assert stats.binomtest(alarms, REPEATS, 0.01, alternative="greater").pvalue > 0.01
