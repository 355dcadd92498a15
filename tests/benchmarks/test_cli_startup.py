"""How long ``rankbench --help`` takes, in starts of a bare interpreter."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from turns import ROUNDS, kept, seconds

BOUND = 8

HELP = "from rankbench.cli import main; main(['--help'])"


def start(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL, check=True)


def test_help_starts_within_eight_bare_starts(benchmark: Any) -> None:
    bare: list[float] = []

    def bare_first() -> None:  # interleaved, so that both see the same load
        bare.append(seconds(lambda: start("pass")))

    benchmark.pedantic(start, args=(HELP,), setup=bare_first, rounds=ROUNDS, warmup_rounds=2)
    kept(benchmark, "a bare interpreter", bare[-ROUNDS:], at_least=1 / BOUND)
