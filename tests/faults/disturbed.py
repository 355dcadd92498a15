"""Programs that are disturbed: started in a folder of their own, ended, and looked at for what they left."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MAIN = "from rankbench.cli import main; main()"

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


@rankbench.hookimpl
def rankbench_register():
    return [Theirs]
'''

SUITE = """
name = "tiny"
title = "Tiny"
dataset = "web10k-like:queries=24,features=8"
protocol = "btl:design=10,heldout=10"
[[experiments]]
name = "a"
title = "A"
n = [300, {n}]
repetitions = {repetitions}
contenders = [
  {{ label = "k=inf", use = "erm" }},
  {{ label = "k=5", use = "erm:k=5,draws=400" }},
  {{ label = "steps", use = "erm:aggregator=win-rate,optimizer=composite,draws=400" }},
  {{ label = "pairs", use = "erm:aggregator=average-adjacency,surrogate=pairwise-logistic,optimizer=newton" }},
  {more}
]
"""


def distribution(folder: Path, module: str, code: str) -> None:
    """Write an installed plugin: a module with its entry point."""
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rankbench]\n{module} = {module}\n")


def start(folder: Path, *arguments: str, code: str = MAIN, **environment: str) -> subprocess.Popen[str]:
    """Start ``rankbench`` in a session of its own, with a folder for temporary files of its own."""
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=os.environ | {"TMPDIR": str(folder / "tmp")} | environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True, cwd=folder,
    )  # fmt: skip


def ended(program: subprocess.Popen[str], timeout: float = 300) -> tuple[int, str]:
    """Return exit code and what was said on standard error."""
    try:
        _, said = program.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        raise
    return program.returncode, said


def killed_after(program: subprocess.Popen[str], seconds: float, sent: signal.Signals = signal.SIGKILL) -> bool:
    """Return whether the program was still there to be killed."""
    try:
        program.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        program.send_signal(sent)
        program.communicate()
        return True
    return False


def session_of(session: int) -> list[int]:
    """Return the living processes of a session."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getsid(int(name)) == session:
                state = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()[0]
                if state != b"Z":
                    found.append(int(name))
        except OSError:
            continue
    return found


def wait_until(true: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)


def nothing_is_left(folder: Path, session: int) -> None:
    """Assert that no process and no temporary file is left of a program that ended by itself."""
    wait_until(lambda: not session_of(session), 20)
    assert [path.name for path in (folder / "tmp").iterdir() if path.name.startswith("rankbench")] == []


def contents(folder: Path) -> dict[str, str]:
    """Return a digest of every file in a folder, by its path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def reported(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in REPORTED}


@contextmanager
def stopped(program: subprocess.Popen[str]) -> Iterator[None]:
    """Kill all processes of a program's session in the end, whatever happened."""
    try:
        yield
    finally:
        for pid in session_of(program.pid):
            os.kill(pid, signal.SIGKILL)
