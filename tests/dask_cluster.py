"""A real Dask cluster on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import distributed


class Cluster:
    """A scheduler and workers, as a user has them: processes of their own."""

    def __init__(self, folder: Path, workers: int, *, nanny: bool = False) -> None:
        self.folder, self.nanny = folder, nanny
        self.file = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(self.file)
        )
        self.workers: list[subprocess.Popen[bytes]] = []
        self.add(workers)
        for _ in range(300):
            if self.file.exists():
                break
            time.sleep(0.1)
        self.client = distributed.Client(scheduler_file=str(self.file), set_as_default=False, timeout=60)
        self.client.wait_for_workers(workers, timeout=120)
        self.address: str = self.client.scheduler.address

    def add(self, workers: int) -> None:
        """Start more workers, without waiting for them."""
        self.workers += [self._worker() for _ in range(workers)]

    def replace(self) -> None:
        """Put others in the place of workers that are dead."""
        living = [worker for worker in self.workers if worker.poll() is None]
        self.add(len(self.workers) - len(living))
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        self.client.wait_for_workers(len(self.workers), timeout=120)

    def kill(self, worker: int) -> None:
        """Kill a worker, as a machine does that loses its power."""
        if self.workers[worker].poll() is None:
            os.killpg(self.workers[worker].pid, signal.SIGKILL)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{arguments[0]}-{time.monotonic_ns()}.log").open("wb")
        command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:], "--no-dashboard"]
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, start_new_session=True)

    def _worker(self) -> subprocess.Popen[bytes]:
        whether = "--nanny" if self.nanny else "--no-nanny"
        return self._start(
            "worker", "--scheduler-file", str(self.file), "--nthreads", "1", whether, "--host", "127.0.0.1"
        )

    def close(self) -> None:
        self.client.close()
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
