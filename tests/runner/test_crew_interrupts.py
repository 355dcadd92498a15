"""An interrupt while a worker starts: the worker gets what it is to do, and the interrupt is raised afterwards."""

from __future__ import annotations

import multiprocessing.util
import os
import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals are blocked where they can be")

PROGRAM = """
import os, select, signal, threading, time
from multiprocessing import util
from pathlib import Path
from rankbench.runner import worker_pool

plain = util.spawnv_passfds
taken, written = os.pipe()
os.set_blocking(written, False)

def interrupted(path, arguments, descriptors):
    found = plain(path, arguments, descriptors)
    if b"spawn_main" in b" ".join(os.fsencode(each) for each in arguments):
        os.kill(os.getpid(), signal.SIGINT)  # which the other thread takes
        select.select([taken], [], [], 30)  # however long that takes it
    return found

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background ignores
    signal.set_wakeup_fd(written)
    util.spawnv_passfds = interrupted
    threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
    try:
        worker_pool._Worker(Path("nowhere"))
        print("went on")
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_interrupt_that_another_thread_takes_waits_until_the_worker_has_started(tmp_path) -> None:
    assert hasattr(multiprocessing.util, "spawnv_passfds")
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
