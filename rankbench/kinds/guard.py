"""Calls of foreign code: whatever it raises becomes the outcome of the contender that it belongs to."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import TypeVar

from rankbench.errors import ContenderDiverged, RankbenchError, SpecError
from rankbench.kinds.cell import CellResult
from rankbench.text import exception_text

__all__ = ["ContenderFailed", "failed", "guarded", "leave_interrupts_to_parent", "printable", "reason"]

LONGEST = 500
"""Characters of a foreign error that are kept."""

T = TypeVar("T")


class ContenderFailed(Exception):
    """A contender's own failure; the message says all there is to say."""


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
        return ContenderFailed(reason(error))
    except RankbenchError as error:
        return error
    except BaseException as error:
        return ContenderFailed(reason(error))


def reason(error: BaseException) -> str:
    """Say what went wrong in one short, printable line, whatever the exception does."""
    return printable(exception_text(error).removeprefix(f"{ContenderFailed.__name__}: "))


def printable(text: str) -> str:
    """Return the first characters of foreign words, with lone surrogates escaped."""
    return text[:LONGEST].encode("utf-8", "backslashreplace").decode("utf-8")[:LONGEST]


def failed(cell: str, error: Exception) -> CellResult:
    """Return the result of a contender that went wrong: diverged, skipped (it does not fit), or an error."""
    if isinstance(error, ContenderDiverged):
        return CellResult(cell, "diverged", str(error))
    if isinstance(error, SpecError):
        return CellResult(cell, "skipped", str(error))
    return CellResult(cell, "error", reason(error))
