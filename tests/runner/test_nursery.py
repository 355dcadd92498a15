"""Blocks with foreign code that are forked: they see what started ones see, and nothing of what forks them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sessions import Program, blocks_in, ended, nothing_is_left, start, wait_until

from rankbench.runner import nursery
from rankbench.runner.nursery import Nursery

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")

PLUGIN = '''
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time

POLARS_AT_FIRST = "polars" in sys.modules

import rankbench


def parent_of(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])


def files():
    """What is open, without the names of what has none."""
    found = []
    for number in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            found.append(re.sub("/#.*", "", os.readlink(f"/proc/self/fd/{number}")))
        except OSError:
            pass  # of the listing itself
    return found


def seen():
    import numpy as np

    boot = os.getppid()
    return {
        "alike": {
            "environment": {k: v for k, v in os.environ.items()},
            "folder": os.getcwd(),
            "path": sys.path,
            "arguments": [sys.argv[0], json.loads(sys.argv[1]), len(sys.argv)],
            "flags": str(sys.flags),
            "files": files(),
            "result": sys.argv[-1] in os.listdir("/proc/self/fd"),
            "handlers": [str(signal.getsignal(number)) for number in signal.valid_signals()],
            "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
            "own session": os.getsid(0) == os.getpgrp() == boot,
            "umask": [os.umask(m) for m in [os.umask(0)]],
            "temporary": tempfile.tempdir,
            "threads": [t.name.partition(" ")[0] for t in threading.enumerate()],
            "hooks": [sys.excepthook is sys.__excepthook__, sys.stdout is sys.__stdout__],
            "polars": POLARS_AT_FIRST,
            "collected": __import__("gc").get_threshold(),
        },
        "random": [random.random(), float(np.random.random())],
        "processes": [os.getpid(), boot, parent_of(boot)],
        "forks": {
            "command": open(f"/proc/{parent_of(boot)}/cmdline").read(),
            "threads": len(os.listdir(f"/proc/{parent_of(boot)}/task")),
            "libraries": open(f"/proc/{parent_of(boot)}/maps").read(),
        },
    }


class Looks(rankbench.Method):
    """Writes what it sees."""
    name = "looks"
    source = "test"
    kills: bool = False
    hangs: bool = False
    def fit(self, block):
        place = os.environ["SEEN"] + f"/{os.getpid()}"
        found = json.dumps(seen())
        with open(place + ".part", "w") as file:
            file.write(found)
        os.rename(place + ".part", place)
        if self.kills and len(os.listdir(os.environ["SEEN"])) == 2:
            os.kill(parent_of(os.getppid()), 9)
            time.sleep(300)
        while self.hangs:
            time.sleep(1)
        return rankbench.Fitted(lambda queries: queries.x[:, 0])


@rankbench.hookimpl
def rankbench_register():
    return [Looks]
'''

SUITE = """
name = "tiny"
title = "Tiny"
dataset = "web10k-like:queries=24,features=8"
protocol = "btl:design=10,heldout=10"
[[experiments]]
name = "a"
title = "A"
n = [100]
repetitions = {repetitions}
contenders = [{{ use = "{use}" }}]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    (site / "looks_plugin.py").write_text(PLUGIN)
    info = site / "looks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: looks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rankbench]\nlooks = looks_plugin\n")
    return site


def run(folder: Path, site: Path, repetitions: int, use: str = "looks", workers: int = 1, **more: str) -> Program:
    (folder / "seen").mkdir(parents=True)
    (folder / "tiny.toml").write_text(SUITE.format(repetitions=repetitions, use=use))
    arguments = ["run", "--suite", "tiny.toml", "--out", "out", "--workers", str(workers)]
    variables = {"SEEN": str(folder / "seen"), "PYTHONPATH": str(site)} | more
    return start(folder, *arguments, **variables)


def seen(folder: Path) -> list[dict[str, Any]]:
    texts = [path.read_text() for path in sorted((folder / "seen").glob("*[0-9]"))]
    return [json.loads(text.replace(str(folder), "FOLDER")) for text in texts]


def processes(folder: Path) -> set[int]:
    return {pid for each in seen(folder) for pid in each["processes"]}


def living(pids: set[int]) -> list[int]:
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory, site: Path) -> dict[str, Any]:
    """Return what a block sees that is alone: its process is started."""
    folder = tmp_path_factory.mktemp("one") / "run"
    code, said = ended(run(folder, site, 1))
    assert code == 0, said
    (found,) = seen(folder)
    return found


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, site: Path) -> list[dict[str, Any]]:
    """Return what three blocks see, two at a time: their processes are forked."""
    folder = tmp_path_factory.mktemp("three") / "run"
    code, said = ended(run(folder, site, 3, workers=2))
    assert code == 0, said
    assert living(processes(folder)) == []
    return seen(folder)


def test_blocks_are_forked_by_one_process_and_one_alone_is_started(
    one: dict[str, Any], three: list[dict[str, Any]]
) -> None:
    assert [len({each["processes"][level] for each in three}) for level in range(3)] == [3, 3, 1]
    assert "serve_forks" not in one["forks"]["command"]
    assert all("serve_forks" in each["forks"]["command"] for each in three)


def test_what_is_forked_sees_what_is_started_sees(one: dict[str, Any], three: list[dict[str, Any]]) -> None:
    for each in three:
        assert each["alike"] == one["alike"]


def test_what_is_forked_has_what_it_is_given_open_and_nothing_else(three: list[dict[str, Any]]) -> None:
    for each in three:
        files = each["alike"]["files"]
        assert files[0] == "/dev/null"
        assert sum("memfd" in name for name in files) == 3  # the task, and what is drawn from: as given, and as mapped
        assert not any("socket" in name or "anon_inode" in name for name in files)
        assert len(files) == 7  # beside them standard files, and where the result goes


def test_what_forks_has_one_thread_and_no_polars(three: list[dict[str, Any]]) -> None:
    for each in three:
        assert each["forks"]["threads"] == 1
        assert "numpy" in each["forks"]["libraries"]
        assert "polars" not in each["forks"]["libraries"]
        assert each["alike"]["polars"] is False


def test_what_forks_imports_our_components_and_nothing_foreign(site: Path) -> None:
    code = """
import sys
from rankbench.runner import forking
forking._import_all()
print(*sys.modules)
"""
    environment = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert {"numba", "rankbench.runner.remote", "rankbench.methods.erm", "rankbench.data.tables"} <= modules

    foreign = {
        entry.module for entry in entry_points(group="rankbench") if entry.dist and entry.dist.name != "rankbench"
    }
    assert not modules & {*foreign, "looks_plugin", "polars"}


def test_random_numbers_of_processes_differ(three: list[dict[str, Any]]) -> None:
    for place in range(2):
        assert len({each["random"][place] for each in three}) == 3


def test_a_block_that_kills_what_forks_costs_itself_alone(tmp_path: Path, site: Path) -> None:
    folder = tmp_path / "run"
    code, said = ended(run(folder, site, 4, "looks:kills=true"))
    assert code == 1, said
    rows = pl.read_parquet(folder / "out" / "results.parquet").select("repetition", "status", "reason").unique()
    assert sorted(rows["status"]) == ["done", "done", "done", "error"]
    (reason,) = rows.filter(status="error")["reason"]
    assert "died with exit code 1, without a result" in reason
    assert len({each["processes"][2] for each in seen(folder)}) == 2
    wait_until(lambda: not living(processes(folder)), 15)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_run_that_is_ended(tmp_path: Path, site: Path, sent: signal.Signals) -> None:
    folder = tmp_path / "run"
    program = run(folder, site, 3, "looks:hangs=true", workers=2)
    wait_until(lambda: len(seen(folder)) == 2)
    os.killpg(program.pid, sent)
    code, said = ended(program, 60)
    assert (code, said) == ((130, "interrupted\n") if sent == signal.SIGINT else (-sent, ""))
    wait_until(lambda: not living(processes(folder)), 15)


@pytest.fixture
def asked() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.end()


NOWHERE = ["/nowhere", "/nowhere", "0"]
"""Arguments of a process that ends at once, with 1."""


def test_exit_codes_and_signals_are_told(asked: Nursery, tmp_path: Path) -> None:
    process = asked.fork(NOWHERE, [])
    assert process is not None
    assert process.wait(60) == process.poll() == process.returncode == 1
    process.terminate()  # which has ended
    os.mkfifo(waits := tmp_path / "waits")
    process = asked.fork(["/nowhere", str(waits), "0"], [])  # which reads what nobody writes
    assert process is not None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.1)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL


def test_one_that_does_not_answer_is_replaced(asked: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    first = asked.fork(NOWHERE, [])
    assert first is not None
    assert first.wait(60) == 1
    held = asked._process
    assert held is not None
    assert asked._door is not None
    asked._door.settimeout(0.5)
    os.kill(held.pid, signal.SIGSTOP)
    second = asked.fork(NOWHERE, [])
    assert second is not None
    assert asked._process is not held
    assert held.returncode == -signal.SIGKILL
    assert second.wait(60) == 1


def test_where_it_cannot_be_started_nothing_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nursery, "_STARTED", "raise SystemExit(3)")
    asked = Nursery()
    assert asked.fork(NOWHERE, []) is None
    monkeypatch.undo()
    assert asked.fork(NOWHERE, []) is None


def test_blas_with_threads_is_not_forked(site: Path, tmp_path: Path) -> None:
    """It is asked for by whoever sets the variable, who gets a process of its own for each block, as before."""
    folder = tmp_path / "run"
    code, said = ended(run(folder, site, 2, OPENBLAS_NUM_THREADS="2"))
    assert (code, said) == (0, "")
    assert len(seen(folder)) == 2
    assert not any("serve_forks" in each["forks"]["command"] for each in seen(folder))


def of_blocks(folder: Path) -> list[int]:
    """Return what forks blocks of a run in a folder, what it has forked, and what that has."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            place = Path("/proc", name)
            if (
                b"serve_forks" in (place / "cmdline").read_bytes()
                and f"={folder}/".encode() in (place / "environ").read_bytes()
            ):
                found.append(int(name))
    return sorted(found)


@pytest.mark.long
def test_kills_of_what_forks_and_of_what_is_forked(tmp_path: Path, site: Path, cases: Callable[[int], range]) -> None:
    """Blocks in flight are errors, nothing hangs or is left, and the next run ends in the same bytes."""
    undisturbed = tmp_path / "undisturbed"
    assert ended(run(undisturbed, site, 10))[0] == 0
    came = Counter[str]()
    for case in cases(60):
        rng, folder = random.Random(case), tmp_path / str(case)
        program = run(folder, site, 10, workers=2)
        kept = rng.randrange(9)
        wait_until(lambda: program.poll() is not None or (of_blocks(folder) and blocks_in(folder / "out") >= kept))  # noqa: B023
        found = of_blocks(folder)
        for pid in rng.sample(found, min(len(found), rng.choice((1, 2)))):
            came["kills"] += 1
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        code, said = ended(program, 200)
        assert code in (0, 1), said
        assert "Traceback" not in said
        rows = pl.read_parquet(folder / "out" / "results.parquet")
        lost = rows.filter(pl.col("status") != "done")["reason"]
        assert all("worker process died with exit code" in reason for reason in lost), lost
        assert code == (len(lost) > 0)
        wait_until(lambda: not of_blocks(folder), 20)  # noqa: B023
        came["runs with lost blocks"] += code
        again = start(
            folder, "run", "--suite", "tiny.toml", "--out", "out", SEEN=str(folder / "seen"), PYTHONPATH=str(site)
        )
        assert ended(again) == (0, "")
        for name in ("leaderboard.csv", "leaderboard.md", "results.parquet"):
            assert (folder / "out" / name).read_bytes() == (undisturbed / "out" / name).read_bytes()
        nothing_is_left(folder, again.pid)
        came["runs"] += 1
        print(dict(came), flush=True)
