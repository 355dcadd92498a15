"""Temporary folders and files that are removed even when the process that made them is killed: by the next that looks.

A folder holds a file that its process has locked for as long as it lives: the system gives the lock up with the
process. Only folders with such a file are ever removed. A new file that is to take another one's place is locked
itself.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["replacement", "scratch", "sweep", "sweep_beside"]

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
                _remove(folder)
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
                _remove(Path(entry.path))
                gone += 1
    return gone


def _remove(folder: Path) -> None:
    """Remove a folder, and what is locked last: a process that is killed meanwhile leaves a folder to be swept."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != ALIVE:
                with suppress(OSError):
                    os.unlink(entry.path)
    shutil.rmtree(folder, ignore_errors=True)


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


@contextmanager
def replacement(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file beside `path`, which takes its place at the end: whole, or not at all.

    Its name is one that nobody can guess, and is opened only if it does not exist. It is locked until it is in its
    place, and those that killed processes have left for the same place are removed first.

    Parameters
    ----------
    path : Path
        In a folder that is there.

    Raises
    ------
    OSError
        It cannot be written; what was there before is untouched.
    """
    sweep_beside(path)
    try:
        stream = _beside(path)
    except FileExistsError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error  # by the name that was asked for
    temporary, held = Path(stream.name), os.dup(stream.fileno()) if os.name == "posix" else None
    try:
        with stream:
            yield stream
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            stream.close()
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.strerror:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        if held is not None:
            with suppress(OSError):  # what was written was said to be, or not, when it was closed for the first time
                os.close(held)


def sweep_beside(path: Path) -> int:
    """Remove files that processes of this user were to put at `path`, and are gone; return their number."""
    if not hasattr(os, "geteuid"):
        return 0
    ours = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}")
    gone = 0
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            if ours.fullmatch(entry.name) and _is_left_alone(entry.path):
                gone += 1
    return gone


def _beside(path: Path) -> IO[bytes]:
    """Open a new file beside `path`, and lock it: another process may have taken it for one that was left."""
    while True:
        stream = path.with_name(f".{path.name}.{secrets.token_hex(8)}").open("xb")
        with suppress(OSError):  # of a system without locks, where nothing is swept
            _lock(stream, wait=True)
        if os.path.exists(stream.name):
            return stream
        stream.close()


def _is_left_alone(name: str) -> bool:
    """Remove a file that is this user's and that no living process has; return whether it was one."""
    try:
        with open(os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            held = os.fstat(file.fileno())
            if not stat.S_ISREG(held.st_mode) or held.st_uid != os.geteuid():
                return False
            _lock(file)
            os.unlink(name)
    except OSError:
        return False
    return True


def _lock(file: IO[bytes], wait: bool = False) -> None:
    """Lock a file for as long as this process has it open.

    Raises
    ------
    OSError
        Another process has, and this one does not wait.
    """
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
