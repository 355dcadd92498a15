"""Temporary folders: gone with their process, or swept by the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rankbench.scratch import ALIVE, scratch, sweep

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
