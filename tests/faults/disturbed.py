"""What is disturbed and compared: a suite with a plugin, kills, and the bytes that a program ends in."""

from __future__ import annotations

import hashlib
import random
import shutil
import signal
import subprocess
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import polars as pl
from sessions import Program, ended, left_by_kills, start
from small_suites import suite_text

from rankbench.store.journal import FILE

BLOCKS = 12
"""Blocks of a whole run."""

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


@dataclass(frozen=True)
class Undisturbed:
    """Commands in a folder, and what they end in.

    Attributes
    ----------
    folder : Path
        Holds a log, a suite, and the folder of a finished run.
    workers : int
        Of a run.
    """

    folder: Path
    workers: int

    @cached_property
    def run(self) -> dict[str, bytes]:
        """What the run ends in."""
        code, said = ended(start(self.folder, *self.command("run", self.folder)))
        assert code == 0, said
        return reported(self.folder / "out")

    @cache  # noqa: B019
    def made(self, name: str) -> dict[str, str]:
        """Return digests of what another command writes."""
        place = self.folder / name
        self.prepare(name, place)
        code, said = ended(start(place, *self.command(name, place)))
        assert code == 0, said
        return written(place)

    def command(self, name: str, place: Path) -> list[str]:
        """Return a command that works in a place of its own."""
        log, suite, out = str(self.folder / "log.csv"), str(self.folder / "tiny.toml"), str(place / "out")
        return {
            "run": ["run", "--suite", suite, "--out", out, "--workers", str(self.workers)],
            "aggregate": ["aggregate", log, "--replicates", "30", "--out", str(place / "made" / "ranking.csv")],
            "convert": ["data", "convert", log, str(place / "made" / "shards"), "--shards", "3", "--force"],
            "report": ["report", str(place / "made")],
        }[name]

    def prepare(self, name: str, place: Path) -> None:
        (place / "made").mkdir(parents=True)
        if name == "report":
            assert self.run
            shutil.copytree(self.folder / "out", place / "made", dirs_exist_ok=True)
            for file in ("leaderboard.md", "leaderboard.csv"):
                (place / "made" / file).unlink()


def written(place: Path) -> dict[str, str]:
    """Return digests of all files that a command made; not what a run says of its own times, nor what kills left."""
    found = contents(place / "made")
    kept = {name: digest for name, digest in found.items() if name not in (FILE, "run.json", ".lock")}
    left = [str(path.relative_to(place / "made")) for path in left_by_kills(place / "made")]
    return {name: digest for name, digest in kept.items() if not any(name.startswith(each) for each in left)}


def undisturbed(folder: Path, n: int, workers: int) -> Undisturbed:
    (folder / "tiny.toml").write_text(tiny_suite(n, BLOCKS // 2))
    rng = random.Random(1)
    rows = [[*rng.sample("abcdefgh", 2), rng.choice(["x", "y", "z"])] for _ in range(3000)]
    pl.DataFrame(rows, schema=["winner", "loser", "judge"], orient="row").write_csv(folder / "log.csv")
    return Undisturbed(folder, workers)
