"""What a process is given to read, so that no other process can change it.

Foreign code runs as the same user, so that whatever has a path in a folder can be written to,
or replaced and put back. On Linux what is handed over is a sealed file in memory: it has no path, and
the system itself refuses every change, for whoever asks.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, TypeAlias

Write: TypeAlias = Callable[[BinaryIO], object]
"""Writes what is handed over to a file."""


@dataclass(frozen=True)
class OpenedFile:
    """What one process is given.

    Attributes
    ----------
    place : str
        The path at which that process opens it.
    descriptors : tuple of int
        Open files of this process that it must inherit under the same numbers.
    """

    place: str
    descriptors: tuple[int, ...] = ()


class FileForProcesses(ABC):
    """Gives the same bytes to many processes; none can change what another one is given."""

    @abstractmethod
    def open_for_process(self) -> AbstractContextManager[OpenedFile]:
        """Open it for one process, as long as the context lasts."""


class SealedFile(FileForProcesses):
    """One file in memory that nobody can change any more, not even who made it: Linux.

    All processes map the same memory, so that there is one copy whatever their number.

    Parameters
    ----------
    write : callable
    """

    def __init__(self, write: Write) -> None:
        if sys.platform != "linux":
            raise NotImplementedError("files are sealed on Linux alone")
        import fcntl

        descriptor = os.memfd_create("rankbench", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._file = os.fdopen(descriptor, "wb")
        write(self._file)
        self._file.flush()
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)

    @contextmanager
    def open_for_process(self) -> Iterator[OpenedFile]:
        """Give the one file: by its descriptor, as it has no other name."""
        descriptor = self._file.fileno()
        yield OpenedFile(f"/proc/self/fd/{descriptor}", (descriptor,))


class CopiedFile(FileForProcesses):
    """A file of its own for each process, which is all that it can change by writing to what it was given.

    Parameters
    ----------
    write : callable
        Called for every process.
    """

    def __init__(self, write: Write) -> None:
        self._write = write

    @contextmanager
    def open_for_process(self) -> Iterator[OpenedFile]:
        """Write a file and give it; it is removed afterwards."""
        with TemporaryDirectory(prefix="rankbench-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "given"
            with path.open("wb") as file:
                self._write(file)
            yield OpenedFile(str(path))


def file_for_processes(write: Write) -> FileForProcesses:
    """Return the safest such file that this system has."""
    return SealedFile(write) if sys.platform == "linux" else CopiedFile(write)
