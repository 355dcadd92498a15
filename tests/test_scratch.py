"""Temporary folders: gone with their process, or swept by the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rankbench.scratch import ALIVE, replacement, scratch, sweep, sweep_beside

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and signals as POSIX has them")

HOLDER = "import time; from rankbench.scratch import scratch\nwith scratch() as f: print(f, flush=True); time.sleep(60)"


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_is_the_users_alone_and_goes() -> None:
    with scratch() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert sweep() == 0  # this process is alive
        assert folder.exists()
    assert not folder.exists()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_folder_is_swept_by_the_next_one(empty: Path, how: signal.Signals) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    folder = Path(holder.stdout.readline().strip())
    (folder / "big").write_bytes(b"x" * 1000)
    assert sweep() == 0
    holder.send_signal(how)
    holder.wait()
    holder.stdout.close()
    with scratch() as own:
        assert list(empty.iterdir()) == [own]


REMOVES = """
import os, signal, sys
from rankbench.scratch import scratch
left = int(sys.argv[1])
def before_it_removes(event, arguments):
    global left
    if event in ("os.remove", "os.rmdir"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
with scratch() as folder:
    (folder / "spool").mkdir()
    for name in ("a", "spool/b", "z"):
        (folder / name).touch()
    sys.addaudithook(before_it_removes)
"""


def test_a_process_that_is_killed_while_it_removes_its_folder(empty: Path) -> None:
    """Whatever is in the folder still, the next sweep finds it."""
    for removed in range(7):
        code = subprocess.run([sys.executable, "-c", REMOVES, str(removed)], check=False).returncode
        assert code == (-signal.SIGKILL if removed < 6 else 0)  # a, spool/b, spool, z, .in-use and the folder
        sweep()
        assert [path.name for folder in empty.iterdir() for path in folder.iterdir()] == []


def test_what_is_not_ours_stays(empty: Path) -> None:
    (empty / "rankbench-notes").mkdir()
    (empty / "rankbench-link").symlink_to(empty / "rankbench-notes")
    (empty / "rankbench-file").write_text("")
    (empty / "rankbench-pipe").mkdir()
    os.mkfifo(empty / "rankbench-pipe" / ALIVE)
    os.chmod(empty / "rankbench-pipe", 0o500)
    (empty / "other").mkdir()
    (empty / "other" / ALIVE).write_text("")
    before = sorted(empty.iterdir())
    sweep()
    assert sorted(path for path in before if path.exists()) == [p for p in before if p.name != "rankbench-pipe"]


WRITES = """
import os, signal, sys, time
from pathlib import Path
from rankbench.scratch import replacement
with replacement(Path(sys.argv[1])) as file:
    file.write(b"half")
    print(file.name, flush=True)
    time.sleep(60)
"""


def test_a_file_that_a_killed_process_was_to_replace(tmp_path: Path) -> None:
    """It is there as long as its process lives, and goes with the next write to the same place."""
    path = tmp_path / "ranking.csv"
    path.write_bytes(b"old")
    writer = subprocess.Popen([sys.executable, "-c", WRITES, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    left = Path(writer.stdout.readline().strip())
    others = [tmp_path / name for name in (".ranking.csv.notes", ".other.csv.0123456789abcdef", ".ranking.csv.0")]
    for other in others:
        other.touch()
    (tmp_path / ".ranking.csv.0123456789abcdef").symlink_to(others[0])
    assert sweep_beside(path) == 0
    with replacement(path) as file:
        file.write(b"new")
    assert left.exists()
    writer.kill()
    writer.wait()
    writer.stdout.close()
    assert left.read_bytes() in (b"", b"half")
    with replacement(path) as file:
        file.write(b"newer")
    assert path.read_bytes() == b"newer"
    assert sorted(tmp_path.iterdir()) == sorted([path, *others, tmp_path / ".ranking.csv.0123456789abcdef"])


def test_many_that_write_to_one_place_at_once(tmp_path: Path) -> None:
    """Nobody takes the file of another one for one that was left."""
    path = tmp_path / "ranking.csv"

    def write(number: int) -> None:
        for _ in range(100):
            with replacement(path) as file:
                file.write(b"%d" % number * 1000)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    assert len(set(path.read_bytes())) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["ranking.csv"]
