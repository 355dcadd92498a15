"""Temporary folders that are removed even when the process that made them is killed: by the next one that looks.

A folder holds a file that its process has locked for as long as it lives: the system gives the lock up with the
process. Only folders with such a file are ever removed.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["scratch", "sweep"]

PREFIX = "rankbench-"

ALIVE = ".in-use"
"""The file that is locked."""


@contextmanager
def scratch(where: Path | None = None, prefix: str = PREFIX) -> Iterator[Path]:
    """Make a temporary folder that only this user can reach; it is removed at the end.

    Those of processes that are gone are removed first.

    Parameters
    ----------
    where : Path, optional
        By default the system's folder for temporary files.
    prefix : str
        Of its name, and of those that are removed.
    """
    sweep(where, prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
    try:
        with (folder / ALIVE).open("xb") as file:
            _lock(file)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(where: Path | None = None, prefix: str = PREFIX) -> int:
    """Remove this user's temporary folders whose process is gone; return their number."""
    if not hasattr(os, "geteuid"):
        return 0
    gone = 0
    with suppress(OSError):
        for entry in os.scandir(where or tempfile.gettempdir()):
            if entry.name.startswith(prefix) and _is_left(Path(entry.path)):
                shutil.rmtree(entry.path, ignore_errors=True)
                gone += 1
    return gone


def _is_left(folder: Path) -> bool:
    """Return whether a folder is one of `scratch`, of this user, that no living process has."""
    try:
        held = folder.lstat()
        if not stat.S_ISDIR(held.st_mode) or held.st_uid != os.geteuid():
            return False
        descriptor = os.open(folder / ALIVE, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        try:
            _lock(file)
        except OSError:
            return False
    return True


def _lock(file: IO[bytes]) -> None:
    """Lock a file for as long as this process has it open.

    Raises
    ------
    OSError
        Another process has.
    """
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
