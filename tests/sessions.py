"""Programs in sessions of their own: started in a folder, ended, and looked at for what they left."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from forked import MAIN, Forked, start_program

from rankbench.store.journal import FILE

Program = subprocess.Popen[str] | Forked

LATE = (
    """
import math, os
from rankbench.runner.worker_pool import Worker, WorkerPool
taken, done, through = WorkerPool._taken, Worker.done, []

def told(pool, worker):
    through.append(worker)
    return taken(pool, worker)

def late(worker):
    if through and worker.ready and os.path.exists("left") and os.path.getsize("left"):
        worker._deadline = -math.inf
    return done(worker)

WorkerPool._taken, Worker.done = told, late
"""
    + MAIN
)
"""A program in which a block's time is up once another one is through, and the file `left` says that this one hangs."""

_folders: dict[int, Path] = {}
"""The folder of each program that was started."""


def start(folder: Path, *arguments: str, code: str = MAIN, **environment: str) -> Program:
    """Start ``rankbench`` in a session of its own, with a folder for temporary files of its own."""
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    variables = os.environ | {"TMPDIR": str(folder / "tmp")} | environment
    program = start_program(*arguments, environment=variables, folder=folder, code=code)
    _folders[program.pid] = folder
    return program


def ended(program: Program, timeout: float = 300) -> tuple[int, str]:
    """Return exit code and what was said on standard error."""
    try:
        _, said = program.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        raise
    return program.returncode, said


def session_of(session: int) -> list[int]:
    """Return the living processes of a session, and the workers of the program that leads it.

    The first thread of a killed process may be gone while others still hold its files and their locks.
    """
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and (os.getsid(int(name)) == session or _is_worker(name, session)):
                fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
                state, threads = fields[0], int(fields[17])
                if state != b"Z" or threads > 1:
                    found.append(int(name))
        except OSError:
            continue
    return found


def _is_worker(pid: str, session: int) -> bool:
    """Return whether a process, in a session of its own, was started by a program: they share a temporary folder."""
    folder = _folders.get(session)
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if folder else []
    return os.fsencode(f"TMPDIR={folder}/tmp") in variables


def workers(session: int) -> list[int]:
    """Return the living worker processes of a program."""
    return [pid for pid in session_of(session) if os.getsid(pid) == pid != session]


def wait_until(true: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)


def blocks_in(out: Path) -> int:
    """Return the number of blocks that are kept; a disk that fails at once leaves a file without tables."""
    if not (out / FILE).exists():
        return 0
    with closing(sqlite3.connect(out / FILE)) as file:
        made = file.execute("SELECT count(*) FROM sqlite_master WHERE name = 'blocks'").fetchone()[0]
        return int(file.execute("SELECT count(*) FROM blocks").fetchone()[0]) if made else 0


def left_by_kills(folder: Path) -> set[Path]:
    """Return temporary folders, and files and folders that were to take the place of others."""
    beside = (path for path in folder.rglob(".*") if re.search(r"\.([0-9a-f]{16}(-journal)?|[a-z0-9_]{8})$", path.name))
    return {*(folder / "tmp").glob("rankbench*"), *beside}


def nothing_is_left(folder: Path, session: int, before: Collection[Path] = ()) -> None:
    """Assert that no process and no temporary file is left of a program that ended by itself.

    What a killed program had left `before` stays.
    """
    wait_until(lambda: not session_of(session), 20)
    assert left_by_kills(folder) <= {*before}


@contextmanager
def stopped(program: Program) -> Iterator[None]:
    """Kill all processes of a program's session in the end, whatever happened."""
    try:
        yield
    finally:
        for pid in session_of(program.pid):
            os.kill(pid, signal.SIGKILL)
