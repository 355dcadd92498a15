"""A cell holds what one contender did in one block; guards turn exceptions of third-party code into reasons.

A *cell* is one contender on one block. Its id is a hash of everything that determines
its value (contender with all parameters, block, data sha256, code digest), so a cell is
computed once however many experiments show it.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from types import TracebackType
from typing import Literal, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from rankbench.core.code_digest import OURSELVES
from rankbench.core.component import Component
from rankbench.core.text import exception_text
from rankbench.errors import ContenderDiverged, RankbenchError, SpecError
from rankbench.interfaces.queries import Queries

Split: TypeAlias = Literal["design", "heldout"]
Direction: TypeAlias = Literal["minimize", "maximize"]
Layout: TypeAlias = Literal["race", "exact", "ranking", "series"]
Status: TypeAlias = Literal["done", "diverged", "skipped", "error", "timeout"]

SPLITS: tuple[Split, ...] = ("design", "heldout")
"""Every split, in the order in which they are shown."""

RANKING: tuple[str, ...] = ("score", "lower", "upper", "rank-low", "rank-high")
"""Metrics of a protocol whose contenders rank named items: score, its interval, places that it may hold."""

VOTES = "votes"
"""Metric of such a protocol that a suite may ask for beside them: how many judgments each item has."""

MAY_BE_FIRST = "may-be-first"
"""Another such metric: 1 of an item that may be the first of its scale, 0 of others, nan without intervals."""

_UNKNOWN = frozenset({"lower", "upper", MAY_BE_FIRST})
"""Metrics of a ranking that may be nan where intervals cannot be had."""

ANSWERS: frozenset[Status] = frozenset({"done", "diverged", "skipped"})
"""Statuses that are kept; a run that has only these exits with 0."""

FAILURES: frozenset[Status] = frozenset({"error", "timeout"})
"""Statuses that the next run tries again; a run that has one exits with 1."""


@dataclass(frozen=True, order=True)
class BlockKey:
    """Key of a matched draw: protocol and data set (canonical specs), n, repetition and the suite's seed."""

    protocol: str
    dataset: str
    n: int
    repetition: int
    seed: int


@dataclass(frozen=True)
class Curve:
    """A metric along the steps of an optimizer.

    Attributes
    ----------
    steps : ndarray of int64, shape (P,)
    values : ndarray of float64, shape (P,)
    """

    steps: NDArray[np.int64]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class CellResult:
    """Result of one contender on one block.

    Attributes
    ----------
    cell : str
        The cell's id.
    status : Status
    reason : str
        Empty when done; else a reason.
    optimality : float
        Distance of the fit from an optimum where it stopped; nan where nothing was optimized.
    losses : dict of (metric, split) to ndarray of float64, shape (U_split,)
        Loss of every unit (of every query, as a rule), in the order of the split's units.
        Empty unless done.
    curves : dict of str to Curve
        Curves by metric name; empty for most contenders.
    info : dict of str to float
        Named facts: ``iterations``, ``converged`` (0 or 1), ``share_complete`` (share of
        judgments' queries with n_q <= k; 1 means that the cell equals k = inf),
        ``mc_error`` (relative Monte Carlo error of the solution), ...
    trace : str
        The traceback of what the contender raised; empty otherwise.
    """

    cell: str
    status: Status
    reason: str = ""
    optimality: float = float("nan")
    losses: dict[tuple[str, Split], NDArray[np.float64]] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)
    info: dict[str, float] = field(default_factory=dict)
    trace: str = ""


class ScoredItems(NamedTuple):
    """Scores of the items of queries.

    Attributes
    ----------
    split : Split
    queries : Queries
        Q queries of N items.
    scores : dict of cell id to ndarray of float64, shape (N,)
    """

    split: Split
    queries: Queries
    scores: dict[str, NDArray[np.float64]]


def cell_problem(
    cell: CellResult, units: Mapping[Split, int] | None = None, metrics: Collection[str] = ()
) -> str | None:
    """Return an error text for a cell that cannot be stored and read back, or None.

    Parameters
    ----------
    cell : CellResult
        With its numbers in plain types.
    units : mapping of Split to int, optional
        Number of units of each split; without it, only the cell itself is
        looked at.
    metrics : collection of str, optional
        Losses that a done cell must have, on every split that has units.

    Returns
    -------
    str or None
        An unknown status; a done cell without losses, or with losses that are not
        finite numbers, one for each unit (bounds of intervals in a ranking may be nan); a
        curve whose steps do not increase, or that has not one value for each step (values
        may be nan).
    """
    if cell.status not in get_args(Status):
        return f"its status is none of {', '.join(get_args(Status))}"
    if cell.status == "done" and not cell.losses:
        return "it is done but has no losses; give it another status with a reason"
    if cell.status == "done":
        for split in (split for split in SPLITS if units is not None and units.get(split)):
            for metric in metrics:
                if (metric, split) not in cell.losses:
                    return f"it is done but has no {metric} on the {split} units"
    for (metric, split), losses in cell.losses.items():
        if split not in SPLITS:
            return f"{metric} is on a split that is none of {', '.join(SPLITS)}"
        expected = losses.shape if units is None else (units.get(split, 0),)
        if losses.ndim != 1 or losses.shape != expected:
            return f"{metric} has shape {losses.shape} on the {split} units; the plan has {expected}"
        known = losses[~np.isnan(losses)] if metric in _UNKNOWN else losses
        if not np.isfinite(known).all():
            return f"{metric} is not finite on some {split} unit; call it diverged"
    for metric, curve in cell.curves.items():
        if curve.steps.ndim != 1 or curve.steps.shape != curve.values.shape:
            return f"the curve {metric} has {curve.steps.size} steps and {curve.values.size} values"
        if (curve.steps[1:] <= curve.steps[:-1]).any():
            return f"the steps of the curve {metric} do not increase"
    return None


@dataclass(frozen=True)
class BlockResult:
    """All cells of one block that were computed together, and how long that took."""

    key: BlockKey
    cells: list[CellResult]
    seconds: float


LONGEST = 500
"""Characters that are kept of an error of third-party code."""

LONGEST_TRACE = 20_000
"""Characters of a traceback that are kept: the last ones, where the error is."""

_CALLERS = ("rankbench.interfaces.cell", "rankbench.testing")
"""Modules of rankbench that call components for others: never the place of an error."""

T = TypeVar("T")


class ContenderFailed(Exception):
    """A contender's own failure, with a complete message.

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
    """Ignore interrupts as a worker process: the parent process receives them and ends this one."""
    global _is_worker
    _is_worker = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def guarded(call: Callable[[], T]) -> T | Exception:
    """Return the result of `call`, or the exception that it raised, ``sys.exit`` and worse included.

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
    """Return an exception as one short, printable line, with ``file:line`` at its end.

    Parameters
    ----------
    error : exception
    packages : collection of str, optional
        See `own_frame`.
    """
    if isinstance(error, ContenderFailed):
        return printable(f"{error}")
    frame = own_frame(error, packages)
    text = exception_text(error)
    if frame is None or (isinstance(error, RankbenchError) and _package(frame) == OURSELVES):
        return printable(text)  # our own errors say what to do, and where is of no use
    place = printable(f" at {_file(frame)}:{frame.tb_lineno}")
    return printable(text)[: LONGEST - len(place)] + place


def own_frame(error: BaseException, packages: Collection[str] = ()) -> TracebackType | None:
    """Return the innermost frame of an exception in the contender's own code; below it are library calls alone.

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
    except BaseException:  # it is third-party, and so may be its cause
        lines = [*traceback.format_tb(error.__traceback__), exception_text(error)]
    text = "".join(lines).strip()
    return text[-LONGEST_TRACE:].encode("utf-8", "backslashreplace").decode("utf-8")


def printable(text: str) -> str:
    """Return the first characters of a third-party text, with lone surrogates escaped."""
    return text[:LONGEST].encode("utf-8", "backslashreplace").decode("utf-8")[:LONGEST]


def failed(cell: str, error: Exception) -> CellResult:
    """Return the result of a contender's error: diverged, skipped (it does not fit), or failed."""
    if isinstance(error, ContenderDiverged):
        return CellResult(cell, "diverged", str(error))
    if isinstance(error, SpecError):
        return CellResult(cell, "skipped", str(error))
    return CellResult(cell, "error", reason(error), trace=trace_of(error))
