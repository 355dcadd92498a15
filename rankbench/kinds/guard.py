"""Calls of foreign code: whatever it raises becomes the outcome of the contender that it belongs to."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Collection, Iterator
from pathlib import PurePath
from types import TracebackType
from typing import TypeVar

from rankbench.component import Component
from rankbench.errors import ContenderDiverged, RankbenchError, SpecError
from rankbench.kinds.cell import CellResult
from rankbench.text import exception_text

__all__ = [
    "ContenderFailed",
    "failed",
    "guarded",
    "leave_interrupts_to_parent",
    "own_frame",
    "printable",
    "reason",
    "trace_of",
]

LONGEST = 500
"""Characters of a foreign error that are kept."""

LONGEST_TRACE = 20_000
"""Characters of a traceback that are kept: the last ones, where the error is."""

OURSELVES = "rankbench"
_CALLERS = ("rankbench.kinds.guard", "rankbench.testing")
"""Modules of ours that call components on somebody's behalf: never where an error is."""

T = TypeVar("T")


class ContenderFailed(Exception):
    """A contender's own failure; the message says all there is to say.

    Parameters
    ----------
    message : str
    trace : str
        The traceback of what the contender raised, if it raised anything.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


_is_worker = False


def leave_interrupts_to_parent() -> None:
    """Say that this process is a worker: the user interrupts the one that started it, which then ends this one."""
    global _is_worker
    _is_worker = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def guarded(call: Callable[[], T]) -> T | Exception:
    """Return what `call` returns, or what it raised: ``sys.exit`` and worse included.

    Raises
    ------
    KeyboardInterrupt
        The user's, not the contender's; in a process of `leave_interrupts_to_parent` it is the contender's.
    """
    try:
        return call()
    except KeyboardInterrupt as error:
        if not _is_worker:
            raise
        return ContenderFailed(reason(error), trace_of(error))
    except RankbenchError as error:
        return error
    except BaseException as error:
        return ContenderFailed(reason(error), trace_of(error))


def reason(error: BaseException, packages: Collection[str] = ()) -> str:
    """Say what went wrong in one short, printable line, whatever the exception does; at its end where: ``file:line``.

    Parameters
    ----------
    error : exception
    packages : collection of str, optional
        See `own_frame`.
    """
    from bdb import BdbQuit

    if isinstance(error, ContenderFailed):
        return printable(f"{error}")
    frame = own_frame(error, packages)
    text = exception_text(error)
    if isinstance(error, BdbQuit):
        text = "a debugger ended: worker processes read no keyboard; use breakpoint() in a test, with pytest"
    if frame is None or (isinstance(error, RankbenchError) and _package(frame) == OURSELVES):
        return printable(text)  # our own errors say what to do, and where is of no use
    place = printable(f" at {_file(frame)}:{frame.tb_lineno}")
    return printable(text)[: LONGEST - len(place)] + place


def own_frame(error: BaseException, packages: Collection[str] = ()) -> TracebackType | None:
    """Return where an exception left the contender's own code, below which only libraries were called.

    Parameters
    ----------
    error : exception
    packages : collection of str, optional
        Top-level packages whose code is meant; by default those that define components, and where none of theirs
        was running, rankbench.

    Returns
    -------
    traceback or None
        Its first entry is the frame.
    """
    components = {cls.__module__.partition(".")[0] for cls in _subclasses(Component)}
    wanted = [set(packages)] if packages else [components - {OURSELVES}, {OURSELVES}]
    frames, at = list[TracebackType](), error.__traceback__
    while at is not None:
        frames.append(at)
        at = at.tb_next
    for own in wanted:
        for frame in reversed(frames):
            if _package(frame) in own and not _module(frame).startswith(_CALLERS):
                return frame
    return None


def _subclasses(cls: type[Component]) -> Iterator[type[Component]]:
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)


def _module(frame: TracebackType) -> str:
    return str(frame.tb_frame.f_globals.get("__name__", ""))


def _package(frame: TracebackType) -> str:
    return _module(frame).partition(".")[0]


def _file(frame: TracebackType) -> str:
    """Return the path of a frame's file from its package on, the same wherever that is installed."""
    parts, package = PurePath(frame.tb_frame.f_code.co_filename).parts, _package(frame)
    first = len(parts) - 1 - parts[::-1].index(package) if package in parts[:-1] else -1
    return "/".join(parts[first:])


def trace_of(error: BaseException) -> str:
    """Return the traceback of an exception and of its causes, from where our code called other code; its last part."""
    if isinstance(error, ContenderFailed):
        return error.trace
    first = error.__traceback__
    while first is not None and _package(first) == OURSELVES:
        first = first.tb_next
    try:
        lines = traceback.format_exception(type(error), error, first or error.__traceback__)
    except BaseException:  # it is foreign, and so may be what it was raised from
        lines = [*traceback.format_tb(error.__traceback__), exception_text(error)]
    text = "".join(lines).strip()
    return text[-LONGEST_TRACE:].encode("utf-8", "backslashreplace").decode("utf-8")


def printable(text: str) -> str:
    """Return the first characters of foreign words, with lone surrogates escaped."""
    return text[:LONGEST].encode("utf-8", "backslashreplace").decode("utf-8")[:LONGEST]


def failed(cell: str, error: Exception) -> CellResult:
    """Return the result of a contender that went wrong: diverged, skipped (it does not fit), or an error."""
    if isinstance(error, ContenderDiverged):
        return CellResult(cell, "diverged", str(error))
    if isinstance(error, SpecError):
        return CellResult(cell, "skipped", str(error))
    return CellResult(cell, "error", reason(error), trace=trace_of(error))
