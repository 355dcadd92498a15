"""Progress is a bar on a terminal, and a line every half minute in a pipe."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from rankbench.core.text import count_text, duration_text
from rankbench.runner.blocks import longest_running

EVERY = 30.0
"""Seconds between two lines."""


class Heartbeat:
    """Prints a line every half minute as long as it is entered; nothing of what takes less.

    Parameters
    ----------
    write : callable
        Prints a line; that it cannot is nobody's concern.
    doing : callable
        Returns what is going on, in a few words; nothing is printed where it returns none.
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

    def __exit__(self, *_: object) -> None:
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
                if doing := self._doing():
                    self._write(f"{duration_text(self.elapsed)}: {doing}")
            except (OSError, ValueError):  # whoever read it is gone
                return


class Progress:
    """Is told how a run goes, and shows nothing of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def start(self, blocks: int, reused: int) -> None:
        """Say that `blocks` are to be computed and `reused` are there already."""

    def advance(self) -> None:
        """Say that one more block is done."""

    def show(self, partial: RenderableType) -> None:
        """Show a first, partial leaderboard."""

    def say(self, text: str) -> None:
        """Say what happens now."""

    def warn(self, text: str) -> None:
        """Say what the user should know before the run goes on, and should still see after it."""


class ConsoleProgress(Progress):
    """Shows a bar on a terminal; in a pipe warnings, and every half minute how far the run is.

    Parameters
    ----------
    console : Console
    """

    def __init__(self, console: Console) -> None:

        self.console = console
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("elapsed"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._bar = self._bars.add_task("preparing", total=None)
        self._doing, self._blocks, self._done, self._computing = "preparing", 0, 0, 0.0
        self._heartbeat = Heartbeat(self.warn, longest_running if console.is_terminal else self._how_far)

    def __enter__(self) -> Self:
        self._bars.start()
        self._heartbeat.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._heartbeat.__exit__()
        self._bars.stop()

    def start(self, blocks: int, reused: int) -> None:
        """Count from here."""
        self._doing, self._blocks, self._computing = "", blocks, self._heartbeat.elapsed
        self._bars.update(self._bar, description="blocks", total=blocks)
        if reused and self.console.is_terminal:
            self.console.print(f"{count_text(reused, 'block')} reused from an earlier run")

    def advance(self) -> None:
        """Count a block."""
        self._done += 1
        self._bars.advance(self._bar)

    def show(self, partial: RenderableType) -> None:
        """Print the partial leaderboard above the bar."""
        if self.console.is_terminal:
            self.console.print(partial)

    def say(self, text: str) -> None:
        """Rename the bar, and keep it for the next line."""
        self._doing = text
        self._bars.update(self._bar, description=text)

    def warn(self, text: str) -> None:
        """Print a line, above the bar."""
        self.console.print(text, style="yellow", markup=False, soft_wrap=not self.console.is_terminal, highlight=False)

    def _how_far(self) -> str:
        if self._doing:
            return self._doing
        left = ""
        if self._done:
            seconds = (self._heartbeat.elapsed - self._computing) / self._done * (self._blocks - self._done)
            left = f", about {duration_text(seconds)} left"
        done = f"{self._done} of {count_text(self._blocks, 'block')}{left}"
        return "; ".join(filter(None, [done, longest_running()]))
