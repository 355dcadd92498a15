"""What `rankbench time` says on the machine that the tests run on: minutes, and numbers that are printed."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from simulated_jobs import slower_by

from rankbench.tracking.speed_changes import timing_changes
from rankbench.tracking.time import time_suite
from rankbench.tracking.timings import Timings, read_timings

pytestmark = [pytest.mark.long, pytest.mark.alone]

REPEATS = 50

SUITE = """
name = "short"
title = "Calls of milliseconds"
seed = 1
dataset = "web10k-like:queries=60"
protocol = "btl:design=20,heldout=20"

[[experiments]]
name = "e"
title = "Short"
n = [2000]
repetitions = 1
losses = ["ndcg"]

[[experiments.contenders]]
label = "k={k}"
use = "erm:aggregator=mean-log-odds,k=[1,10,inf],surrogate=regression,optimizer=exact,lambda=1e-3,draws=1000"
"""


def test_short_repeats_where_nothing_changed(tmp_path: Path) -> None:
    """Two versions that are one, 50 times."""
    suite = tmp_path / "short.toml"
    suite.write_text(SUITE)
    alarms = 0
    for number in range(REPEATS):
        timed = time_suite(
            str(suite), against=sys.executable, rounds=12, precision=0.1, seed=number, out=tmp_path / str(number)
        )
        assert timed.comparison is not None
        assert timed.comparison.tested == 3
        alarms += timed.exit_code == 1
        print(f"{alarms} false alarms in {number + 1} repeats", flush=True)
    assert stats.binomtest(alarms, REPEATS, 0.01, alternative="greater").pvalue > 0.01


def test_power_of_ten_minutes(tmp_path: Path) -> None:
    """How often 3% more are found in one contender of the suite demo, by resampling launches of this machine."""
    timed = time_suite("demo", against=sys.executable, budget=600.0, precision=1e-4, seed=1, out=tmp_path)
    assert timed.comparison is not None
    assert not timed.comparison.by_verdict("worse")
    found = powers(read_timings(tmp_path / "base"), read_timings(tmp_path / "head"), 0.03, 500)
    print(f"{timed.launches} launches; 3% found in {found.min():.2f} to {found.max():.2f}, mean {found.mean():.2f}")
    assert ((found >= 0) & (found <= 1)).all()


def powers(base: Timings, head: Timings, share: float, times: int) -> NDArray[np.float64]:
    """Return by contender how often a slow-down is found, of so many resamples of launches where there was none."""
    rng = np.random.default_rng(20130501)
    cells = list(base.seconds)
    # Launches are resampled together; what a contender of head happened to be slower by is taken out first.
    happened = {one: timing_changes(base, head, slower_by(0.0))[0][place].change for place, one in enumerate(cells)}
    found = np.zeros(len(cells))
    for _ in range(times):
        drawn = rng.integers(base.launches, size=base.launches)
        before = replace(base, seconds={cell: base.seconds[cell][drawn] for cell in cells}, reference=base.reference)
        for place, slower in enumerate(cells):
            after = {
                cell: head.seconds[cell][drawn] * math.exp((cell == slower) * math.log1p(share) - happened[cell])
                for cell in cells
            }
            changes, _ = timing_changes(before, replace(head, seconds=after), slower_by(0.01))
            found[place] += changes[place].verdict == "worse"
    return found / times
