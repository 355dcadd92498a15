"""What is disturbed and compared: a suite with a plugin, kills, and the bytes that a program ends in."""

from __future__ import annotations

import hashlib
import signal
import subprocess
from pathlib import Path

from sessions import Program
from small_suites import suite_text

REPORTED = ("leaderboard.md", "leaderboard.csv", "results.parquet")

METHOD = '''
import numpy as np
import rankbench


class Theirs(rankbench.Method):
    """Ridge regression of the labels' signs on random projections: something random, of a plugin."""

    name = "theirs"
    source = "test"

    def fit(self, block):
        d = block.design.x.shape[1]
        theta = block.generator(self).normal(size=d) + np.bincount(block.comparisons.winners, minlength=1)[0] / block.n
        return rankbench.Fitted(lambda queries: queries.x.astype(float) @ theta)
'''


def tiny_suite(n: int, repetitions: int, *more: str) -> str:
    """Return a suite with four contenders, and further ones."""
    return suite_text(
        'label = "k=inf", use = "erm"',
        'label = "k=5", use = "erm:k=5,draws=400"',
        'label = "steps", use = "erm:aggregator=win-rate,optimizer=composite,draws=400"',
        'label = "pairs", use = "erm:aggregator=average-adjacency,surrogate=pairwise-logistic,optimizer=newton"',
        *more,
        n=f"[300, {n}]",
        repetitions=repetitions,
    )


def killed_after(program: Program, seconds: float, sent: signal.Signals = signal.SIGKILL) -> bool:
    """Return whether the program was still there to be killed."""
    try:
        program.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        program.send_signal(sent)
        program.communicate()
        return True
    return False


def contents(folder: Path) -> dict[str, str]:
    """Return a digest of every file in a folder, by its path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def reported(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in REPORTED}
