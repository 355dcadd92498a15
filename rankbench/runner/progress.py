"""What a person sees while a run goes on: a bar on a terminal, a line every half minute in a pipe."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from rankbench.runner.heartbeat import Heartbeat
from rankbench.text import duration_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["Bar", "Lines", "Progress", "Silent"]


class Progress(Protocol):
    """Something that is told how a run goes."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

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


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def start(self, blocks: int, reused: int) -> None:
        """Ignore it."""

    def advance(self) -> None:
        """Ignore it."""

    def show(self, partial: RenderableType) -> None:
        """Ignore it."""

    def say(self, text: str) -> None:
        """Ignore it."""

    def warn(self, text: str) -> None:
        """Ignore it."""


class Lines(Silent):
    """Shows warnings, and every half minute how far the run is: for pipes and logs.

    Parameters
    ----------
    console : Console
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._doing, self._blocks, self._done = "preparing", 0, 0
        self._computing = 0.0
        self._heartbeat = Heartbeat(self._print, self._how_far)

    def __enter__(self) -> Self:
        self._heartbeat.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._heartbeat.__exit__(kind, error, trace)

    def start(self, blocks: int, reused: int) -> None:
        """Count from here."""
        self._doing, self._blocks, self._computing = "", blocks, self._heartbeat.elapsed

    def advance(self) -> None:
        """Count a block."""
        self._done += 1

    def say(self, text: str) -> None:
        """Keep it for the next line."""
        self._doing = text

    def warn(self, text: str) -> None:
        """Print a line."""
        _print_line(self.console, text)

    def _print(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True, highlight=False)

    def _how_far(self) -> str:
        if self._doing:
            return self._doing
        left = ""
        if self._done:
            seconds = (self._heartbeat.elapsed - self._computing) / self._done * (self._blocks - self._done)
            left = f", about {duration_text(seconds)} left"
        return f"{self._done} of {self._blocks} blocks{left}{_longest()}"


class Bar:
    """A bar with blocks done and the estimated time of arrival, on a terminal."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        self.console = console
        self.bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("elapsed"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
        )
        self.task = self.bars.add_task("preparing", total=None)
        self._heartbeat = Heartbeat(self._name, _longest)

    def __enter__(self) -> Self:
        self.bars.start()
        self._heartbeat.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._heartbeat.__exit__(kind, error, trace)
        self.bars.stop()

    def _name(self, text: str) -> None:
        """Print above the bar what has been running for long."""
        if _longest():
            self.warn(text.replace(": ; ", ": "))

    def start(self, blocks: int, reused: int) -> None:
        """Set the bar to `blocks`."""
        self.bars.update(self.task, description="blocks", total=blocks)
        if reused:
            self.console.print(f"{reused} blocks reused from an earlier run")

    def advance(self) -> None:
        """Move the bar."""
        self.bars.advance(self.task)

    def show(self, partial: RenderableType) -> None:
        """Print the partial leaderboard above the bar."""
        self.console.print(partial)

    def say(self, text: str) -> None:
        """Rename the bar."""
        self.bars.update(self.task, description=text)

    def warn(self, text: str) -> None:
        """Print a line above the bar."""
        _print_line(self.console, text)


def _longest() -> str:
    from rankbench.runner.processes import longest_running

    longest = longest_running()
    return f"; running {longest}" if longest else ""


def _print_line(console: Console, text: str) -> None:
    console.print(text, style="yellow", markup=False, soft_wrap=not console.is_terminal, highlight=False)
