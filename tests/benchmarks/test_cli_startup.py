"""How long ``rankbench --help`` takes, in starts of a bare interpreter."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

BOUND = 8
ROUNDS = 15

HELP = "from rankbench.cli import main; main(['--help'])"


def seconds(program: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def test_help_starts_within_eight_bare_starts(benchmark):
    bare: list[float] = []

    def bare_first():  # interleaved, so that both see the same load
        bare.append(seconds("pass"))

    benchmark.pedantic(seconds, args=(HELP,), setup=bare_first, rounds=ROUNDS, warmup_rounds=2)
    ratio = benchmark.stats.stats.median / statistics.median(bare[-ROUNDS:])
    benchmark.extra_info["bare_median_seconds"] = statistics.median(bare[-ROUNDS:])
    benchmark.extra_info["ratio"] = ratio
    assert ratio < BOUND
