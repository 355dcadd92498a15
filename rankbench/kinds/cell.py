"""What a run produces: cells, their results, and the columns of the exported rows.

A *cell* is one contender on one block. Its id is a hash of everything that determines
its value (contender with all parameters, block, data sha256, code digest), so a cell is
computed once however many experiments show it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankbench.returned import trouble_with

__all__ = [
    "ANSWERS",
    "FAILURES",
    "RANKING",
    "SPLITS",
    "VOTES",
    "BlockKey",
    "BlockResult",
    "CellResult",
    "Curve",
    "Direction",
    "Layout",
    "Split",
    "Status",
    "cell_problem",
    "is_text",
]

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

_UNKNOWN = frozenset({"lower", "upper"})
"""Metrics of `RANKING` that may be nan: bounds of an interval that cannot be had."""

ANSWERS: frozenset[Status] = frozenset({"done", "diverged", "skipped"})
"""Statuses that are kept; a run that has only these exits with 0."""

FAILURES: frozenset[Status] = frozenset({"error", "timeout"})
"""Statuses that the next run tries again; a run that has one exits with 1."""


@dataclass(frozen=True, order=True)
class BlockKey:
    """Which matched draw: protocol and data set (canonical specs), n, repetition and the suite's seed."""

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
    """What one contender did on one block.

    Attributes
    ----------
    cell : str
        The cell's id.
    status : Status
    reason : str
        Empty when done; else what happened, in words.
    optimality : float
        How far from optimal the fit stopped; nan where nothing was optimized.
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


MOST_NAMED = 100
"""Facts, and curves, that a cell may have."""

LONGEST_NAME = 1000
"""Characters of the name of a metric, fact or curve."""

WHOLE = 2**53
"""Steps of curves are below it: floats tell these whole numbers apart."""


_SURROGATE = re.compile("[\ud800-\udfff]")


def cell_problem(
    cell: CellResult, units: Mapping[Split, int] | None = None, metrics: Collection[str] = ()
) -> str | None:
    """Return why a cell cannot be stored and read back, in words; None if it can.

    Parameters
    ----------
    cell : CellResult
    units : mapping of Split to int, optional
        Number of units of each split; without it, only what the cell says by itself is
        looked at.
    metrics : collection of str, optional
        What a done cell must have losses of, on every split that has units.

    Returns
    -------
    str or None
        A status that there is not; a reason or names that are not text; a done cell without
        losses, or with losses that are not finite numbers, one for each unit (bounds of
        intervals in a ranking may be nan); a curve whose steps are not whole numbers that
        increase, or that has not one value for each step (values may be nan); facts that
        are not numbers, or more than 100.
    """
    if not isinstance(cell.status, str) or cell.status not in get_args(Status):
        return f"its status is none of {', '.join(get_args(Status))}"
    if not is_text(cell.reason):
        return f"its reason is not text but a {type(cell.reason).__name__}, or has lone surrogates"
    if not is_text(cell.trace):
        return f"its trace is not text but a {type(cell.trace).__name__}, or has lone surrogates"
    for what, named in (("losses", cell.losses), ("curves", cell.curves), ("info", cell.info)):
        if not isinstance(named, dict):
            return f"{what} is not a dict but a {type(named).__name__}"
    return _problem_with_losses(cell, units, metrics) or _problem_with_curves(cell) or _problem_with_facts(cell)


def _problem_with_losses(cell: CellResult, units: Mapping[Split, int] | None, metrics: Collection[str]) -> str | None:
    if cell.status == "done" and not cell.losses:
        return "it is done but has no losses; give it another status with a reason"
    for place in cell.losses:
        if not isinstance(place, tuple) or len(place) != 2 or not _is_name(place[0]):
            return "its losses are not named by a metric and a split"
        if place[1] not in SPLITS:
            return f"{place[0]} is on a split that is none of {', '.join(SPLITS)}"
    if cell.status == "done":
        for split in (split for split in SPLITS if units is not None and units.get(split)):
            for metric in metrics:
                if (metric, split) not in cell.losses:
                    return f"it is done but has no {metric} on the {split} units"
    for (metric, split), losses in cell.losses.items():
        shape = np.shape(losses) if isinstance(losses, np.ndarray) else ()
        if not _numbers(losses):
            return f"{metric} on the {split} units is not a one-dimensional array of numbers but has shape {shape}"
        if units is not None and shape != (units.get(split, 0),):
            return f"{metric} has shape {shape} on the {split} units, of which the plan has {units.get(split, 0)}"
        known = losses[~np.isnan(losses)] if metric in _UNKNOWN else losses
        if not np.isfinite(known).all():
            return f"{metric} is not finite on some {split} unit; call it diverged"
    return None


def _problem_with_curves(cell: CellResult) -> str | None:
    if len(cell.curves) > MOST_NAMED or not all(_is_name(name) for name in cell.curves):
        return f"its curves are more than {MOST_NAMED}, or have names that are not text"
    for metric, curve in cell.curves.items():
        if not isinstance(curve, Curve):
            return f"the curve {metric} is not a Curve but a {type(curve).__name__}"
        if not _numbers(curve.steps) or not _numbers(curve.values):
            return f"the steps and values of the curve {metric} are not one-dimensional arrays of numbers"
        if curve.steps.shape != curve.values.shape:
            return f"the curve {metric} has {curve.steps.size} steps and {curve.values.size} values"
        if not np.isfinite(curve.steps).all() or (curve.steps != np.floor(curve.steps)).any():
            return f"the curve {metric} has steps that are not whole numbers"
        if (curve.steps[1:] <= curve.steps[:-1]).any():
            return f"the steps of the curve {metric} do not increase"
        if (curve.steps >= WHOLE).any() or (curve.steps <= -WHOLE).any():
            return f"the curve {metric} has steps of 2^53 or more"
    return None


def _problem_with_facts(cell: CellResult) -> str | None:
    if len(cell.info) > MOST_NAMED or not all(_is_name(name) for name in cell.info):
        return f"its facts are more than {MOST_NAMED}, or have names that are not text"
    for name, value in (("optimality", cell.optimality), *cell.info.items()):
        flag = isinstance(value, bool | np.bool_) and name != "optimality"
        if not (flag or type(value) in (int, float)) and trouble_with(value, "number"):
            return f"{name} is not a number but a {type(value).__name__}"
        try:
            float(value)
        except OverflowError:
            return f"{name} is larger than any float"
    return None


def is_text(value: object) -> bool:
    """Return whether something is a string that UTF-8 can say."""
    return isinstance(value, str) and not _SURROGATE.search(value)


def _is_name(said: object) -> bool:
    return isinstance(said, str) and 0 < len(said) <= LONGEST_NAME and is_text(said)


def _numbers(array: object) -> bool:
    return (
        isinstance(array, np.ndarray)
        and not isinstance(array, np.ma.MaskedArray)
        and array.ndim == 1
        and array.dtype.kind in "iuf"
    )


@dataclass(frozen=True)
class BlockResult:
    """All cells of one block that were computed together, and how long that took."""

    key: BlockKey
    cells: list[CellResult]
    seconds: float
