"""A process from which blocks with foreign code are forked, so that what all of them import is imported once: Linux.

`rankbench.runner.forking` is what runs there.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import weakref
from collections.abc import Sequence

__all__ = ["ForkedProcess", "Nursery"]

_STARTED = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from rankbench.runner.boot import boot
from rankbench.runner.forking import serve_forks
boot(*serve_forks(int(sys.argv[2])))
"""

_ANSWERED = 60.0
"""Seconds within which it has imported all, and within which it answers."""

_TOLD = 10.0
"""Seconds within which it tells how a process has ended that is gone."""


class ForkedProcess:
    """A process of a `Nursery`, with the methods of `subprocess.Popen` that `rankbench.runner.remote` needs.

    Parameters
    ----------
    pid : int
    handle : int
        Descriptor of the process, which can be read from when it has ended.
    verdict : int
        Descriptor of a pipe with its exit code afterwards; empty if the nursery is gone.
    """

    def __init__(self, pid: int, handle: int, verdict: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._handle, self._verdict = handle, verdict

    def poll(self) -> int | None:
        """Return the exit code if it has ended, and None if it has not."""
        return self._waited(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return the exit code.

        Raises
        ------
        subprocess.TimeoutExpired
            It is still there.
        """
        code = self._waited(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("a block", timeout or 0.0)
        return code

    def terminate(self) -> None:
        """Ask it to end, unless it has."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGTERM)

    def _waited(self, timeout: float | None) -> int | None:
        if self.returncode is None and _readable(self._handle, timeout):
            said = os.read(self._verdict, 16) if _readable(self._verdict, _TOLD) else b""
            # Without the nursery it was told to end, and then ends with 1.
            self.returncode = int(said or b"1")
            os.close(self._handle)
            os.close(self._verdict)
        return self.returncode


class Nursery:
    """The process that forks, started when it is asked for the first time, and again when it is gone."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None
        self._useless = not _can_tell()

    def fork(self, arguments: Sequence[str], files: Sequence[int]) -> ForkedProcess | None:
        """Return a new process in a session of its own, which runs `rankbench.runner.boot.boot`; None: none can be had.

        Its environment, folder and standard output are those that this process had when the nursery was started.

        Parameters
        ----------
        arguments : sequence of str
        files : sequence of int
            Descriptors that it has open, by the same numbers, beside standard files.
        """
        while not self._useless:
            new = self._process is None
            try:
                return self._asked(self._started(), arguments, files)
            except OSError:  # it is gone, or cannot be started
                self.end()
                self._useless = new
            except BaseException:  # an interrupt: its answer would be taken for the next one's
                self.end()
                raise
        return None

    def _started(self) -> socket.socket:
        if self._door is None:
            self._door, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._door.settimeout(_ANSWERED)
            with other:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _STARTED, json.dumps(sys.path), str(other.fileno())],
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                    pass_fds=[other.fileno()],
                )
            weakref.finalize(self, _kill, self._process)
        return self._door

    @staticmethod
    def _asked(door: socket.socket, arguments: Sequence[str], files: Sequence[int]) -> ForkedProcess | None:
        socket.send_fds(door, [json.dumps([list(arguments), list(files)]).encode()], files)
        said, descriptors, _, _ = socket.recv_fds(door, 16, 2)
        if not said:
            raise ConnectionResetError
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        return ForkedProcess(int(said), *descriptors) if descriptors else None

    def end(self) -> None:
        """End it, and with it processes that it has forked and that are still there."""
        if self._process is not None:
            _kill(self._process)
        if self._door is not None:
            self._door.close()
        self._door = self._process = None


def _can_tell() -> bool:
    """Return whether this system says when a process of somebody else ends."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _readable(descriptor: int, timeout: float | None) -> bool:
    look = select.poll()
    look.register(descriptor, select.POLLIN)
    return bool(look.poll(None if timeout is None else 1000 * timeout))
