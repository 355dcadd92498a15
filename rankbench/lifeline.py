"""What this process is doing, for whoever watches over it: words that outlive it.

Foreign code may end a process wherever it is called, `os._exit` and worse included. Whoever watches
(`rankbench.cli.watched`) then finds no verdict, and says during what it ended.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Lifeline", "doing", "hold"]

_SIZE = mmap.PAGESIZE


class Lifeline:
    """A page of memory that a process shares with those that it forks.

    The first two bytes are the verdict, an exit code and whether there is one; the words follow.
    """

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, _SIZE)

    def says(self, words: str) -> str:
        """Keep what is being done; return what was kept before."""
        before = self.words()
        self._page[2:] = words.encode("utf-8", "backslashreplace")[: _SIZE - 2].ljust(_SIZE - 2, b"\0")
        return before

    def words(self) -> str:
        """Return what is, or was, being done."""
        return self._page[2:].rstrip(b"\0").decode("utf-8", "replace")

    def ends(self, code: int) -> None:
        """Keep the exit code with which the process means to end."""
        self._page[:2] = bytes((1, code & 0xFF))

    def verdict(self) -> int | None:
        """Return the exit code that was meant; None: the process never got there."""
        return self._page[1] if self._page[0] else None


_held: Lifeline | None = None


def hold(line: Lifeline) -> None:
    """Say that this process is watched over."""
    global _held
    _held = line


@contextmanager
def doing(words: str) -> Iterator[None]:
    """Say what is being done while the context lasts: "plugin 'x' was being loaded"."""
    if _held is None:
        yield
        return
    before = _held.says(words)
    try:
        yield
    finally:
        _held.says(before)
