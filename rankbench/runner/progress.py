"""Progress is a bar on a terminal, and a line every half minute in a pipe."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Self, TypeAlias

from rich.console import Console, RenderableType
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from rankbench.core.system import Heartbeat
from rankbench.core.text import count_text, duration_text, visible_line
from rankbench.interfaces.cell import BlockResult
from rankbench.interfaces.protocol import BlockTask
from rankbench.runner.blocks import longest_running, running_blocks

_DRAWN = 2
"""Times a second that a bar is drawn."""

_REPEATED = 2
"""Repetitions of a contender that tell how long others take: the first one may have loaded code."""

_ALMOST = 1 - 1e-9
"""Share of a contender whose block has no result yet."""

_Kind: TypeAlias = tuple[int, int, tuple[str, ...], str]
"""Source, n, metrics and contender of cells that differ in the repetition alone."""


class Work:
    """The contenders of blocks that are to be computed: how many are done, and how long the others take.

    Parameters
    ----------
    tasks : sequence of BlockTask
    """

    def __init__(self, tasks: Sequence[BlockTask]) -> None:
        self._tasks = {cell: task for task in tasks for cell in task.cells}
        self._blocks, self._share = len(tasks), dict.fromkeys(self._tasks, 0.0)
        self._seconds: dict[_Kind, list[float]] = {}
        self._busy, self._since = 0.0, time.monotonic()

    def advance(self, cell: str, share: float) -> None:
        """Record that a share of a cell's work is done, below 1 until the cell has a result."""
        if cell in self._share:
            self._share[cell] = max(self._share[cell], min(self._share[cell] + share, _ALMOST))

    def done(self, block: BlockResult) -> None:
        """Record a result and the average time of its contenders."""
        self._busy += block.seconds
        for cell in block.cells:
            self._share[cell.cell] = 1.0
            if block.seconds:  # the time of a lost process is unknown
                self._seconds.setdefault(self._kind(cell.cell), []).append(block.seconds / len(block.cells))

    def _kind(self, cell: str) -> _Kind:
        task = self._tasks[cell]
        return task.source, task.key.n, task.metrics, task.cells[cell].text

    @property
    def share(self) -> float:
        """Share of the contenders that are done, in [0, 1]."""
        return sum(self._share.values()) / max(len(self._share), 1)

    def __str__(self) -> str:
        finished = f"{math.floor(sum(self._share.values()) + 1e-6):,} of {count_text(len(self._share), 'contender')}"
        return f"{finished} of {count_text(self._blocks, 'block')}"

    def left(self) -> float | None:
        """Return the seconds left; None if nothing is left or the estimate is uncertain by a factor of two.

        A contender takes as long as it took last, on another repetition of its block. Where the times before these
        give another sum by more than a factor of two, or there are none, the time is not known.
        """
        left = [cell for cell, share in self._share.items() if share < 1]
        known = [self._seconds.get(self._kind(cell), []) for cell in left]
        if not left or any(len(seconds) < _REPEATED for seconds in known):
            return None
        before, last = (sum(seconds[place] for seconds in known) for place in (-2, -1))
        if not max(before, last) <= 2 * min(before, last):
            return None
        takes = {cell: seconds[-1] for cell, seconds in zip(left, known, strict=True)}
        rest = {cell: (1 - self._share[cell]) * seconds for cell, seconds in takes.items()}
        running = running_blocks()
        for seconds, task in running:
            own = [cell for cell in task.cells if cell in takes]
            expected, reported = (sum(some[cell] for cell in own) for some in (takes, rest))
            if reported > (still := max(expected - seconds, 0.0)):
                rest |= {cell: rest[cell] * still / reported for cell in own}
        # Blocks on a cluster run out of sight.
        at_once = len(running) or self._busy / max(time.monotonic() - self._since, 1e-9)
        return sum(rest.values()) / at_once


class Progress:
    """Receives the progress of a run, and shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def start(self, tasks: Sequence[BlockTask], reused: int) -> None:
        """Start with the blocks to compute; `reused` are computed already."""

    def advance(self, cell: str, share: float) -> None:
        """Record a done share of a cell's work, in a block without a result; called in any thread."""

    def done(self, block: BlockResult) -> None:
        """Record the result of a block, or of a part of one."""

    def say(self, text: str) -> None:
        """Show the current step."""

    def warn(self, text: str) -> None:
        """Show a warning that stays visible while the run goes on."""


class _Bars(Bars):
    """Bars that compute their state only when drawn: steps may be many, and each would go through all cells."""

    def __init__(self, asked: Callable[[], tuple[str, float]], console: Console) -> None:
        self._asked = asked
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("elapsed"), TimeElapsedColumn()
        super().__init__(*columns, console=console, disable=not console.is_terminal, refresh_per_second=_DRAWN)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the bars in their current state."""
        for task in self.tasks:
            description, share = self._asked()
            self.update(task.id, description=description, completed=share)
        return super().get_renderables()


class ConsoleProgress(Progress):
    """Shows a bar on a terminal; in a pipe warnings, and every half minute how far the run is.

    Parameters
    ----------
    console : Console
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._doing, self._work = "preparing", Work(())
        self._bars = _Bars(lambda: (self._doing or self._how_far(), self._work.share), console)
        self._bar = self._bars.add_task(self._doing, total=None)
        self._heartbeat = Heartbeat(self.warn, longest_running if console.is_terminal else self._line)

    def __enter__(self) -> Self:
        self._bars.start()
        self._heartbeat.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._heartbeat.__exit__()
        self._bars.stop()

    def start(self, tasks: Sequence[BlockTask], reused: int) -> None:
        """Count from here."""
        self._doing, self._work = "", Work(tasks)
        self._bars.update(self._bar, total=1.0)
        if reused and self.console.is_terminal:
            self.console.print(f"{count_text(reused, 'block')} reused from an earlier run")

    def advance(self, cell: str, share: float) -> None:
        """Count a contender, or a part of its work."""
        self._work.advance(cell, share)

    def done(self, block: BlockResult) -> None:
        """Count the contenders of a result."""
        self._work.done(block)

    def say(self, text: str) -> None:
        """Rename the bar, and keep it for the next line."""
        self._doing = text

    def warn(self, text: str) -> None:
        """Print a line, above the bar."""
        shown = visible_line(text)
        self.console.print(shown, style="yellow", markup=False, soft_wrap=not self.console.is_terminal, highlight=False)

    def _how_far(self) -> str:
        left = self._work.left()
        return f"{self._work}{'' if left is None else f', about {duration_text(left)} left'}"

    def _line(self) -> str:
        return self._doing or "; ".join(filter(None, [self._how_far(), longest_running()]))
