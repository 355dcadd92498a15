"""What a protocol says that its draws take, and what the process that computes a block really takes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads peaks of memory from /proc")

PROGRAM = """
import json, sys
protocol, dataset, contender, n, losses = json.loads(sys.argv[1])
from rankbench.core.runtime import settle_runtime
settle_runtime()
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.surrogate import Loss
from rankbench.interfaces.method import Method
from rankbench.interfaces.protocol import BlockTask, Protocol
from rankbench.plugin import manager
from rankbench.runner.blocks import run_block

made = manager.get(Protocol, protocol)
prepared = made.prepare(manager.get(Dataset, dataset) if dataset else None, 1)
judged = tuple(manager.get(Loss, loss) for loss in losses)
component = Contender.single(manager.get(Method if made.contender == "method" else Aggregator, contender))


def task(n):
    return BlockTask(BlockKey(protocol, "", n, 0, 1), 0, tuple(losses) or made.metric_names(), {"a": component}, judged)


run_block(prepared, task(n // 1000))
peaks = []
for size in (n, 3 * n):
    assert run_block(prepared, task(size)).cells[0].status == "done"
    peaks += [next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024]
print(json.dumps([(peaks[1] - peaks[0]) / (2 * n), made.draw_bytes(prepared, task(n)) / n]))
"""

BTL = ("btl:design=10,heldout=10", "web10k-like:queries=24,features=8")

CASES = [
    (*BTL, "random-scores", 2_000_000, ["ndcg"]),
    (*BTL, "erm", 6_000_000, ["ndcg"]),
    ("repair:populations=4", "", "erm", 2_000_000, []),
    ("repair:populations=4", "", "random-scores", 2_000_000, []),
    ("aggregation:law=btl,populations=2", "", "borda", 8_000_000, []),
    ("aggregation:law=plackett-luce,populations=2", "", "borda", 600_000, []),
    ("selection", "cascade-clicks:seed=1", "click-through-rate", 2_000_000, ["ndcg"]),
    ("u-statistics:worlds=2", "", "u-statistic", 4_000_000, []),
    ("table-1:partitions=1", "movielens-like", "random-scores", 6_000_000, []),
]


def taken(*case: object) -> tuple[float, float]:
    """Return the bytes by which a judgment more raises the peak of a process, and those that are said."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(case)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    measured, said = json.loads(done.stdout)
    print(f"{case[0]} {case[2]}: {measured:.1f} bytes a judgment, and {said:.1f} are said")
    return measured, said


@pytest.mark.full
@pytest.mark.parametrize(
    "case", [CASES[0], *(pytest.param(case, marks=pytest.mark.long) for case in CASES[1:])], ids=str
)
def test_what_a_draw_takes(case: tuple[object, ...]) -> None:
    """What is said is no more than what is taken, and no less than four tenths of it."""
    measured, said = taken(*case)
    assert (0.5 if case == CASES[0] else 0.4) * measured < said < 1.1 * measured
