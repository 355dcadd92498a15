"""One block in a process of its own, so that a block which hangs or dies takes nothing else with it.

`Remote` starts one; it runs `main`. What a block is drawn from, the task and the result have no
name that another process could find (see `rankbench.runner.sealed_files`). A task is JSON, a result
is bytes that are checked, and neither is a pickle, as foreign code runs where the result is made.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from rankbench.interfaces.cell import BlockResult, printable
from rankbench.runner.sealed_files import FileForProcesses, file_for_processes
from rankbench.runner.wire import asked, result_from_bytes, task_from_json
from rankbench.runner.worker_pool import LostProcess

MOST = 2**31
"""Bytes of a result that are read."""

_PATIENCE = 15.0
"""Seconds that it gets to end what it has started."""

_LAST = 10_000
"""Bytes of what it printed among which its last words are."""

_BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from rankbench.runner.boot import boot
boot(sys.argv[2:])
"""


class Remote:
    """A process that runs one block.

    It leads a group of its own, so that an interrupt of the terminal reaches only the process
    that started it, and what it leaves running is ended with it.

    Parameters
    ----------
    sources : FileForProcesses
        Of what `rankbench.runner.prepare.write_shared` writes.
    task : str
        As `rankbench.runner.wire.task_to_json` writes it.
    timeout : float
        Seconds.
    quiet : bool
        Whether what it prints is kept, for the reason of a death, instead of shown.
    """

    def __init__(self, sources: FileForProcesses, task: str, timeout: float, *, quiet: bool = False) -> None:
        self._asked, self.timeout = asked(task), timeout
        self._held = held = contextlib.ExitStack()
        text = task.encode()
        task_file = file_for_processes(lambda file: file.write(text))
        opened = [held.enter_context(file.open_for_process()) for file in (sources, task_file)]
        self._result = held.enter_context(_nameless())
        self._said = held.enter_context(_nameless()) if quiet else None
        inherited = [self._result.fileno(), *(each for file in opened for each in file.descriptors)]
        places = [*(file.place for file in opened), str(self._result.fileno())]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, json.dumps(sys.path), *places],
            stdout=self._said,
            stderr=self._said,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=inherited,
        )
        self._deadline = time.monotonic() + timeout
        # An interrupt of the terminal does not reach it, so that it must not outlive this object.
        self._left = weakref.finalize(self, _end, self._process)

    def ended(self) -> bool:
        """Return whether it is done, dead or out of time."""
        return self._process.poll() is not None or time.monotonic() > self._deadline

    def outcome(self) -> BlockResult | LostProcess:
        """End it, if it is still there; return the block's result, or how it ended."""
        late = self._process.poll() is None
        self.end_processes()
        with self._held:
            if late:
                return LostProcess("timeout", f"no result within {self.timeout:g} s")
            size = os.fstat(self._result.fileno()).st_size
            if not size:
                died = f"worker process died with exit code {self._process.returncode}, without a result"
                return LostProcess("error", printable(": ".join([died, *self._last_words()])), died=True)
            if size > MOST:
                return LostProcess("error", f"worker process left a result of {size:,} bytes, more than {MOST:,}")
            try:
                self._result.seek(0)
                result = result_from_bytes(self._result.read(size))
                key, cells = self._asked
                same = result.key == key and sorted(cell.cell for cell in result.cells) == sorted(cells)
            except Exception as error:  # whatever foreign code has put there
                return LostProcess(
                    "error", f"worker process left a result that cannot be read ({type(error).__name__})"
                )
            return result if same else LostProcess("error", "worker process left the result of another block")

    def _last_words(self) -> list[str]:
        """Return the last line that it printed, if that was kept."""
        if self._said is None:
            return []
        self._said.seek(max(0, os.fstat(self._said.fileno()).st_size - _LAST))
        return self._said.read(_LAST).decode("utf-8", "replace").strip().splitlines()[-1:]

    def end_processes(self) -> None:
        """End it and what it has started."""
        self._left()
        self._process.wait()

    def give_up(self) -> None:
        """End it and forget its result."""
        self.end_processes()
        self._held.close()


def _nameless() -> IO[bytes]:
    """Return a file that has no path, so that foreign code of other processes does not find it."""
    return TemporaryFile()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it has started: by `rankbench.runner.boot`, then whatever its group still holds."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
    _end_group(process.pid)


def _end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _follow(parent: int) -> None:
    """End this process and what it started when the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    _end_group(os.getpid())


def main(sources: str, task: str, result: str) -> None:
    """Run a block and write its result; ends the process.

    Parameters
    ----------
    sources, task : str
        Paths of what is handed over.
    result : str
        Number of an open file.
    """
    from rankbench.core.runtime import settle_runtime

    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    settle_runtime()
    from rankbench.interfaces.cell import failed, guarded, leave_interrupts_to_parent, reason
    from rankbench.runner.blocks import run_block
    from rankbench.runner.prepare import open_shared
    from rankbench.runner.wire import result_to_bytes

    leave_interrupts_to_parent()
    text = Path(task).read_text(encoding="utf-8")
    read = guarded(lambda: task_from_json(text))
    if isinstance(read, Exception):
        key, cells = asked(text)
        if len(cells) > 1:  # which are tried again one by one
            raise SystemExit(f"a contender cannot be made: {reason(read)}")
        block = BlockResult(key, [failed(cell, read) for cell in cells], 0.0)
    else:
        block = run_block(open_shared(sources, read.source), read)
    status = 0
    try:
        with os.fdopen(int(result), "wb") as file:
            file.write(result_to_bytes(block))
    except OSError:  # foreign code has closed it, or the disk is full
        status = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)  # threads and exit handlers of foreign code have nothing to say any more
