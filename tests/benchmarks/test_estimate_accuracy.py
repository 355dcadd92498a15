"""How near the estimates of `run --dry-run` come to what runs take: seconds of the processor, in fresh processes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from small_suites import suite_text

from rankbench import api
from rankbench.core.runtime import available_cores
from rankbench.runner.blocks import SentTask, jobs_of
from rankbench.runner.estimate import estimate
from rankbench.runner.executors import warm_up_all
from rankbench.runner.plan import Planned
from rankbench.runner.prepare import shared
from rankbench.runner.question import RunQuestion
from rankbench.runner.worker_pool import START, Worker, run_sent

SMALL = suite_text('use = "erm:k=[1,10,inf],draws=2000"', 'use = "random-scores"', n="[2000, 32000]", repetitions=2)
LOADS: dict[str, dict[str, Any]] = {
    "some blocks of a tenth of a second": {"suite": "SMALL"},
    "the demo": {"suite": "demo"},
    "two repetitions on a log": {"suite": "arena", "reps": 2},
}


def seconds_of(file: Path, sent: SentTask) -> float:
    """Return the processor's seconds of a block in this process, a worker."""
    begin = time.process_time()
    run_sent(file, sent)
    return time.process_time() - begin


def taken(made: Planned) -> float:
    """Return the seconds of a run by as many workers as there are processors, one after the other."""
    jobs, total, workers = jobs_of(made.plan.tasks, made.sources), 0.0, available_cores()
    with shared(list(made.sources)) as file:
        for first in range(min(workers, len(jobs))):
            with Worker() as worker:
                worker.call(float, timeout=START)
                sent = [SentTask.from_task(job.task) for job in jobs[first::workers]]
                total += sum(worker.call(seconds_of, file, one, timeout=600) for one in sent)
    return total


@pytest.mark.parametrize("load", LOADS)
def test_estimates_hold_within_a_factor_of_two(benchmark: Any, load: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    options = dict(LOADS[load])
    suite = options.pop("suite").replace("SMALL", str(tmp_path / "small.toml"))
    made = api.planned(suite, RunQuestion(**options))
    warm_up_all(made.sources, made.plan.tasks)  # what is not compiled yet
    found = benchmark.pedantic(estimate, (made,), rounds=1)
    seconds = taken(made)
    benchmark.extra_info |= {"estimated": round(found.seconds, 2), "taken": round(seconds, 2)}
    assert seconds / 2 < found.seconds < 2 * seconds
