"""What a process asks of its system (its end, orphans, freed memory, threads, new files), and of Python."""

from __future__ import annotations

import gc
import os
import secrets
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["adopt_orphans", "collect_seldom", "die_with", "give_back", "in_halves", "replacement"]

_DEATH_SIGNAL, _SUBREAPER = 1, 36

_COLLECTED = 250_000
"""Objects in containers that are made before Python looks for cycles; it does so after 700 by default."""


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0  # type: ignore[no-any-return, unused-ignore]
    except (OSError, AttributeError):
        return False


def die_with(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """Have this process sent a signal when `parent`, which started it, ends: at once where the system can do it."""
    if _prctl(_DEATH_SIGNAL, by) and os.getppid() != parent:
        os.kill(os.getpid(), by)


def adopt_orphans() -> bool:
    """Become the parent of whatever descendants lose theirs, so that they can be found; return whether it works."""
    return _prctl(_SUBREAPER, 1)


def give_back() -> None:
    """Give the system the memory that this process has freed and its C library keeps for later."""
    if sys.platform != "linux":
        return
    import ctypes
    import gc

    gc.collect()
    # Another C library than GNU's has no such function.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def collect_seldom() -> None:
    """Have this process look for cycles seldom: what it imports when it starts is much, and stays.

    An eighth of a small run's time went into looking through modules that are never collected.
    """
    gc.set_threshold(_COLLECTED, *gc.get_threshold()[1:])


def in_halves(work: Callable[[slice], None], length: int) -> None:
    """Have two threads do what compiled code without the interpreter's lock does with a range, a half each."""
    if length < 2:
        work(slice(0, length))
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, (slice(0, length // 2), slice(length // 2, length))))


@contextmanager
def replacement(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file beside `path`, which takes its place at the end: whole, or not at all.

    Its name is one that nobody can guess, and is opened only if it does not exist. A process that is killed leaves it.

    Parameters
    ----------
    path : Path
        In a folder that is there.

    Raises
    ------
    OSError
        It cannot be written; what was there before is untouched.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        stream = temporary.open("xb")
        try:
            with stream:
                yield stream
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        if not error.strerror:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error  # by the name that was asked for
