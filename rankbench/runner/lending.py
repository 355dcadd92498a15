"""What a process is given to read, so that no other process can change it.

Foreign code runs as the same user, so that whatever has a path in a folder can be written to,
or replaced and put back. On Linux what is lent is a sealed file in memory: it has no path, and
the system itself refuses every change, for whoever asks.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

from rankbench.scratch import scratch

__all__ = ["Copies", "Lender", "Loan", "Sealed", "lender"]

Write: TypeAlias = Callable[[BinaryIO], object]
"""Writes what is lent to a file."""


@dataclass(frozen=True)
class Loan:
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


class Lender(ABC):
    """Lends the same bytes to many processes; none can change what another one is lent."""

    @abstractmethod
    def lend(self) -> AbstractContextManager[Loan]:
        """Lend to one process; the loan lasts as long as the context."""


class Sealed(Lender):
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
    def lend(self) -> Iterator[Loan]:
        """Lend the one file: by its descriptor, as it has no other name."""
        descriptor = self._file.fileno()
        yield Loan(f"/proc/self/fd/{descriptor}", (descriptor,))


class Copies(Lender):
    """A file of its own for each process, which is all that it can change by writing to what it was given.

    Parameters
    ----------
    write : callable
        Called for every loan.
    """

    def __init__(self, write: Write) -> None:
        self._write = write

    @contextmanager
    def lend(self) -> Iterator[Loan]:
        """Write a file and lend it; it is removed afterwards."""
        with scratch() as folder:
            path = folder / "lent"
            with path.open("wb") as file:
                self._write(file)
            yield Loan(str(path))


def lender(write: Write) -> Lender:
    """Return the safest lender that this system has."""
    return Sealed(write) if sys.platform == "linux" else Copies(write)
