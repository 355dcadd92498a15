"""One block in a process of its own, so that a block which hangs or dies takes nothing else with it.

`Remote` starts one; it runs `main`. What a block is drawn from, the task and the result are
files: a task is JSON, a result is written whole or not at all, and neither is a pickle, as
foreign code runs where the result is made.
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
from tempfile import TemporaryDirectory

from rankbench.protocols.base import BlockTask
from rankbench.results.schema import BlockResult
from rankbench.runner.deaths import Dead
from rankbench.runner.isolation import printable
from rankbench.runner.wire import result_from_bytes, task_from_json, task_to_json

__all__ = ["Remote", "main"]

_BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from rankbench.runner.remote import main
main(*sys.argv[2:])
"""


class Remote:
    """A process that runs one block.

    It leads a group of its own, so that an interrupt of the terminal reaches only the process
    that started it, and what it leaves running is ended with it.

    Parameters
    ----------
    folder : Path
        What `rankbench.runner.share` wrote.
    task : BlockTask
    timeout : float
        Seconds.
    quiet : bool
        Whether what it prints is kept, for the reason of a death, instead of shown.
    """

    def __init__(self, folder: Path, task: BlockTask, timeout: float, *, quiet: bool = False) -> None:
        self.task, self.timeout, self.quiet = task, timeout, quiet
        self._own = TemporaryDirectory(prefix="rankbench-", ignore_cleanup_errors=True)
        own = Path(self._own.name)
        (own / "task.json").write_text(task_to_json(task), encoding="utf-8")
        self._result, self._said = own / "result", own / "said"
        places = [str(folder), str(own / "task.json"), str(self._result)]
        command = [sys.executable, "-c", _BOOT, json.dumps(sys.path), *places]
        with self._said.open("wb") if quiet else contextlib.nullcontext() as said:
            self._process = subprocess.Popen(
                command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._deadline = time.monotonic() + timeout
        # An interrupt of the terminal does not reach it, so that it must not outlive this object.
        self._left = weakref.finalize(self, _end_group, self._process.pid)

    def ended(self) -> bool:
        """Return whether it is done, dead or out of time."""
        return self._process.poll() is not None or time.monotonic() > self._deadline

    def outcome(self) -> BlockResult | Dead:
        """End it, if it is still there; return the block's result, or how it ended."""
        late = self._process.poll() is None
        self.end_processes()
        try:
            if late:
                return Dead("timeout", f"no result within {self.timeout:g} s")
            if not self._result.is_file():
                last = (
                    self._said.read_bytes().decode("utf-8", "replace").strip().splitlines()[-1:] if self.quiet else []
                )
                died = f"worker process died with exit code {self._process.returncode}, without a result"
                return Dead("error", printable(": ".join([died, *last])))
            result = result_from_bytes(self._result.read_bytes())
        except Exception as error:  # whatever foreign code has put there
            return Dead("error", f"worker process left a result that cannot be read ({type(error).__name__})")
        finally:
            self._own.cleanup()
        if result.key != self.task.key or {cell.cell for cell in result.cells} != set(self.task.cells):
            return Dead("error", "worker process left the result of another block")
        return result

    def end_processes(self) -> None:
        """End it and what it has started."""
        self._left()
        self._process.wait()

    def give_up(self) -> None:
        """End it and forget its result."""
        self.end_processes()
        self._own.cleanup()


def _end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _follow(parent: int) -> None:
    """End this process and what it started when the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    _end_group(os.getpid())


def main(folder: str, task: str, result: str) -> None:
    """Run the block of the file `task` and write its result; ends the process."""
    from rankbench.runtime import prepare

    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    prepare()
    from rankbench.runner.blocks import run_block
    from rankbench.runner.isolation import alone
    from rankbench.runner.share import open_shared
    from rankbench.runner.wire import result_to_bytes

    alone()
    read = task_from_json(Path(task).read_text(encoding="utf-8"))
    block = run_block(open_shared(Path(folder), read.source), read)
    part = Path(f"{result}.part")
    part.write_bytes(result_to_bytes(block))
    os.replace(part, result)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads and exit handlers of foreign code have nothing to say any more
