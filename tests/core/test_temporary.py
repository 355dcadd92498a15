"""A signal ends a process in order, at last within seconds, and temporary folders go with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import rankbench
from rankbench.cli import main
from rankbench.errors import InputError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

PROGRAM = """
import os, signal, sys, time
from rankbench.cli import start
from rankbench.core import temporary

temporary._PATIENCE = 0.2

def wait():
    print("ready", flush=True)
    time.sleep(60)

def deaf():
    while True:
        try:
            wait()
        except BaseException:
            pass

def child():
    if (pid := os.fork()) == 0:
        time.sleep(60)
        os._exit(0)
    time.sleep(0.3)
    os.kill(pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
    time.sleep(0.6)
    print("ready", flush=True)

def main():
    with temporary.temporary_folder(), temporary.kept_folder() as folder:
        (folder / "file").write_text("x")
        WORK()

start(main)
"""


def started(work: str, folder: Path, *, ignored: bool = False) -> subprocess.Popen[str]:
    """Start a program that makes two temporary folders, and wait until it has."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("WORK", work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(folder)},
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL),
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    return program


@pytest.mark.parametrize("work", ["wait", "deaf"])
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_removes_temporary_folders(tmp_path: Path, work: str, sent: signal.Signals, code: int) -> None:
    program = started(work, tmp_path)
    assert len(list(tmp_path.glob("rankbench-*"))) == 2
    program.send_signal(sent)
    _, said = program.communicate(timeout=60)
    assert program.returncode == code
    assert said == ("interrupted\n" if work == "wait" else "")
    assert not list(tmp_path.iterdir())


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    program = started("wait", tmp_path, ignored=True)
    program.send_signal(signal.SIGHUP)
    program.send_signal(signal.SIGTERM)
    program.communicate(timeout=60)
    assert program.returncode == 143


def test_a_signal_to_a_forked_child_is_the_childs_alone(tmp_path: Path) -> None:
    program = started("child", tmp_path)
    _, said = program.communicate(timeout=60)
    assert (program.returncode, said) == (0, "")
    assert not list(tmp_path.iterdir())


EMPTY = [
    "aggregate", "rank", "audit", "data describe", "verify", "report", "check", "history show", "compare {}",
    "data convert", "data convert {}", "info", "run --log", "aggregate {} --out", "site --out out", "certify",
]  # fmt: skip


@pytest.mark.parametrize("words", EMPTY)
def test_an_empty_file_is_not_the_current_folder(tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\nb,c\n")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, [*words.format("votes.csv").split(), ""])
    assert done.exit_code == 2, done.output
    assert "empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["votes.csv"]


def test_an_empty_name_in_python_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\nb,c\n")
    monkeypatch.chdir(tmp_path)
    for read in (rankbench.aggregate, rankbench.scan, rankbench.rank, rankbench.audit):
        with pytest.raises(InputError, match="the name of the file is empty"):
            read("")
