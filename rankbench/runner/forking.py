"""What runs in the process from which blocks with foreign code are forked: it imports what they need, and forks.

Most of a short block's processor time went into these imports, the same each time. The process imports and runs nothing
foreign. It has one thread: what other threads hold while a process is forked its copy holds for ever. Polars
starts threads when it is imported, so that it is imported afterwards, by what needs it.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import socket
import sys
from collections.abc import Sequence

from rankbench.system import collect_seldom, die_with

__all__ = ["serve_forks"]

REQUEST = 2**16
"""Bytes of a request that are read."""

FILES = 16
"""Descriptors of a request that are taken."""


def serve_forks(descriptor: int) -> tuple[list[str], int]:
    """Import what blocks need; return, in a new process each time, the arguments that were asked for, and its parent.

    The process that forks ends with the one that asks, and at once if it has threads: of a BLAS that was told to.

    Parameters
    ----------
    descriptor : int
        Of the socket that requests come from.
    """
    collect_seldom()
    die_with(os.getppid())
    _import_all()
    gc.collect()
    gc.freeze()  # what is shared stays shared
    if len(os.listdir("/proc/self/task")) > 1:
        os._exit(1)
    me, door = os.getpid(), socket.socket(fileno=descriptor)
    look, running = select.poll(), dict[int, tuple[int, int]]()
    look.register(door, select.POLLIN)
    while True:
        for ready, _ in look.poll():
            if ready in running:
                look.unregister(ready)
                _tell_end(ready, *running.pop(ready))
                continue
            asked, files = _next(door)
            child = _forked()
            if child == 0:
                door.detach()
                arguments, numbers = json.loads(asked)
                _become(arguments, files, numbers)
                return arguments, me
            told = []
            if child is not None:
                handle, (read, verdict) = os.pidfd_open(child), os.pipe()
                running[handle] = child, verdict
                look.register(handle, select.POLLIN)
                told = [handle, read]
            with contextlib.suppress(ConnectionError):  # who asked is gone, which is seen next
                socket.send_fds(door, [str(child).encode()], told)
            for file in (*files, *told[1:]):
                os.close(file)


def _next(door: socket.socket) -> tuple[bytes, list[int]]:
    """Return the next request and its descriptors; end this process if there is none any more."""
    with contextlib.suppress(ConnectionError):
        asked, files, _, _ = socket.recv_fds(door, REQUEST, FILES)
        if asked:
            return asked, files
    os._exit(0)


def _forked() -> int | None:
    """Fork; return what `os.fork` does, or None if there are too many processes."""
    try:
        return os.fork()
    except OSError:
        return None


def _import_all() -> None:
    """Import what `rankbench.runner.remote.main` and most blocks import, and our own components."""
    from rankbench.runtime import settle_runtime

    settle_runtime()
    from importlib.metadata import entry_points

    import numba  # noqa: F401
    import packaging.requirements  # noqa: F401
    import scipy.linalg.lapack
    import scipy.special  # noqa: F401
    import threadpoolctl  # noqa: F401

    from rankbench.kernels import declared  # noqa: F401
    from rankbench.methods.erm import composed  # noqa: F401
    from rankbench.plugin import hookspecs, loading
    from rankbench.runner import blocks, remote, share, wire  # noqa: F401

    found = entry_points(group=hookspecs.GROUP)
    loading.load(entry for entry in found if entry.dist is not None and entry.dist.name == loading.OURSELVES)


def _tell_end(handle: int, child: int, verdict: int) -> None:
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(BrokenPipeError):  # nobody waits for it
        os.write(verdict, str(os.waitstatus_to_exitcode(status)).encode())
    os.close(handle)
    os.close(verdict)


def _become(arguments: Sequence[str], files: Sequence[int], numbers: Sequence[int]) -> None:
    """Make this copy of the process what a new one would be: with its own session, random numbers and files alone."""
    import fcntl

    import numpy as np

    os.setsid()
    above = 1 + max(*(int(name) for name in os.listdir("/proc/self/fd")), *numbers)
    held = [fcntl.fcntl(file, fcntl.F_DUPFD, above) for file in files]
    os.closerange(3, above)
    for file, number in zip(held, numbers, strict=True):
        os.dup2(file, number)
    os.closerange(above, above + len(held))
    sys.argv[2:] = arguments
    np.random.seed()  # noqa: NPY002  # what foreign code may draw from; Python's own is seeded anew by itself
