"""The parent of a process with foreign code, which ends whatever that leaves behind.

A process may fork, and its children may leave its group and session. On Linux they come back: who loses its parent is
given to the nearest ancestor that asks for orphans, which is this one. It runs nothing foreign itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from rankbench.core.system import adopt_orphans, collect_seldom, die_with

_PATIENCE = 10.0
"""Seconds for which processes that fork again and again are ended."""


def boot(arguments: Sequence[str], parent: int | None = None) -> NoReturn:
    """Run `rankbench.runner.remote.main` in a child, end what it leaves, and end as it did.

    Where no orphans can be had, run it here.

    Parameters
    ----------
    arguments : sequence of str
        Of `rankbench.runner.remote.main`.
    parent : int, optional
        The process with which this one ends; by default its parent.
    """
    collect_seldom()
    parent = parent or os.getppid()
    if sys.platform != "linux" or not adopt_orphans():
        _run(arguments)
    watched = {signal.SIGCHLD, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _run(arguments)
    die_with(parent, signal.SIGTERM)
    status = None
    while status is None and os.getppid() == parent:
        told = signal.sigtimedwait(watched, 1.0)
        if told is not None and told.si_signo == signal.SIGTERM:
            break
        status = _reaped().get(child)
    _end_all()
    if status is None:
        os._exit(1)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, watched)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _run(arguments: Sequence[str]) -> NoReturn:
    from rankbench.runner.remote import main

    main(*arguments)
    os._exit(0)


def _reaped() -> dict[int, int]:
    """Return the status of each child that has ended, by its number."""
    found: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            found[pid] = status
    return found


def _end_all() -> None:
    """End all descendants: children, and orphans, which become children."""
    until = time.monotonic() + _PATIENCE
    while (left := _children()) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        _reaped()
        time.sleep(0.002)


def _children() -> list[int]:
    me, found = os.getpid(), []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                if int(file.read().rpartition(b")")[2].split()[1]) == me:
                    found.append(int(name))
    return found
