"""A line every half minute: that something long is still going on, and how far it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rankbench.text import duration_text

__all__ = ["EVERY", "Heartbeat"]

EVERY = 30.0
"""Seconds between two lines."""


class Heartbeat:
    """Prints a line every half minute as long as it is entered; nothing of what takes less.

    Parameters
    ----------
    write : callable
        Prints a line; that it cannot is nobody's concern.
    doing : callable
        Returns what is going on, in a few words.
    """

    def __init__(self, write: Callable[[str], None], doing: Callable[[], str]) -> None:
        self._write, self._doing = write, doing
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def elapsed(self) -> float:
        """Seconds since it was entered."""
        return time.monotonic() - self._started

    def _beat(self) -> None:
        beats = 0
        while not self._over.wait(max(0.0, self._started + (beats + 1) * EVERY - time.monotonic())):
            beats += 1
            try:
                self._write(f"{duration_text(self.elapsed)}: {self._doing()}")
            except (OSError, ValueError):  # whoever read it is gone
                return
