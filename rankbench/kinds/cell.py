"""What a run produces: cells, their results, and the columns of the exported rows.

A *cell* is one contender on one block. Its id is a hash of everything that determines
its value (contender with all parameters, block, data sha256, code digest), so a cell is
computed once however many experiments show it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from rankbench.kinds.suite import Experiment
from rankbench.returned import trouble_with

__all__ = [
    "ANSWERS",
    "FAILURES",
    "RANKING",
    "SPLITS",
    "BlockKey",
    "BlockResult",
    "CellResult",
    "Curve",
    "Direction",
    "Layout",
    "Member",
    "Source",
    "Split",
    "Status",
    "SuiteRecord",
    "is_text",
    "problem_with",
]

Split: TypeAlias = Literal["design", "heldout"]
Direction: TypeAlias = Literal["minimize", "maximize"]
Layout: TypeAlias = Literal["race", "exact", "ranking"]
Status: TypeAlias = Literal["done", "diverged", "skipped", "error", "timeout"]

SPLITS: tuple[Split, ...] = ("design", "heldout")
"""Every split, in the order in which they are shown."""

RANKING: tuple[str, ...] = ("score", "lower", "upper", "rank-low", "rank-high")
"""Metrics of a protocol whose contenders rank named items: score, its interval, places that it may hold."""

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
    """

    cell: str
    status: Status
    reason: str = ""
    optimality: float = float("nan")
    losses: dict[tuple[str, Split], NDArray[np.float64]] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)
    info: dict[str, float] = field(default_factory=dict)


MOST_NAMED = 100
"""Facts, and curves, that a cell may have."""

LONGEST_NAME = 1000
"""Characters of the name of a metric, fact or curve."""

WHOLE = 2**53
"""Steps of curves are below it: floats tell these whole numbers apart."""


_SURROGATE = re.compile("[\ud800-\udfff]")


def problem_with(
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


def is_text(said: object) -> bool:
    """Return whether something is a string that UTF-8 can say."""
    return isinstance(said, str) and not _SURROGATE.search(said)


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


@dataclass(frozen=True)
class Member:
    """One cell as an experiment shows it: the plan that a report is made from.

    Attributes
    ----------
    experiment, label, spec : str
        Where it is shown, under which name, and the contender's canonical spec.
    config : dict of str to object
        *All* parameters of the contender as plain values; infinite orders are ``"inf"``.
    n, n_declared : int
        Number of judgments, and what the suite's file says before any scaling.
    repetition : int
    cell : str
        Id of the cell.
    order : int
        Place among the experiment's contenders.
    """

    experiment: str
    label: str
    spec: str
    config: dict[str, Any]
    n: int
    n_declared: int
    repetition: int
    cell: str
    order: int


class Source(BaseModel):
    """What some experiments of a suite are made from: a protocol on a data set.

    Attributes
    ----------
    protocol, dataset : str
        Canonical specs; a protocol may need no data set.
    fingerprint : str
        sha256 of the data's contents.
    simulated : bool
        Whether the data are; the leaderboard then says so first, with `assumptions`.
    notes : tuple of str
        What was changed on the way, as in a scaled number of queries or judgments.
    splits : dict of Split to str
        Title of each split that has units.
    units : dict of Split to list of str
        Names of what losses are given for, in their order.
    counts : str
        What n counts; empty where nothing is drawn.
    test_share : float, optional
        Share of the observations that each repetition is tested on, where repetitions
        overlap.
    pool : int, optional
        Number of observations that every draw is a sample of, see `Prepared`.
    layout : Layout
        Whether contenders are compared, give exact numbers, or rank named items.
    words : dict of str to dict of float to str
        What values of a metric are called, where they stand for words.
    directions : dict of str to Direction
        By metric; one that is not named is minimized.
    chance : dict of str to float
        What a coin gets, by metric; of one that is not named nobody said.
    curves : dict of str to (Split, Direction)
        By metric of a curve; see `Source.curve` for one that is not named.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    protocol: str
    dataset: str = ""
    fingerprint: str = ""
    simulated: bool = False
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    splits: dict[Split, str]
    units: dict[Split, list[str]]
    counts: str = "judgments"
    test_share: float | None = None
    pool: int | None = None
    layout: Layout = "race"
    words: dict[str, dict[float, str]] = {}
    directions: dict[str, Direction] = {}
    chance: dict[str, float] = {}
    curves: dict[str, tuple[Split, Direction]] = {}

    def shown_splits(self) -> tuple[Split, ...]:
        """Return the splits that have units, in the order in which they are shown."""
        return tuple(split for split in SPLITS if self.units.get(split))

    def fixed(self, split: Split) -> bool:
        """Return whether all is judged on one unit that stays the same: nothing tells of other ones."""
        return self.pool is not None and len(self.units.get(split, ())) == 1

    def shared(self, n: int) -> float | None:
        """Return the share of all observations that two draws of n have in common; None where draws are new.

        Subsets of a pool of N deviate less from each other than from what the pool was drawn from: by
        (1 - n/N) in variance, for means. The correction is that of splits whose parts overlap by n/N.
        """
        if self.pool is None:
            return self.test_share
        return n / self.pool if n < self.pool else None

    def short(self, split: Split) -> str:
        """Return a split's title in a few words: "design queries"."""
        title = self.splits.get(split, split).partition(" (")[0]
        return title[:1].lower() + title[1:]

    def sizes(self) -> dict[Split, int]:
        """Return the number of units of each split."""
        return {split: len(names) for split, names in self.units.items()}

    def direction(self, metric: str) -> Direction:
        """Return whether less or more of `metric` is better."""
        return self.directions.get(metric, "minimize")

    def curve(self, metric: str) -> tuple[Split, Direction]:
        """Return what a curve was recorded on, and which way is better.

        One that the protocol does not declare is a method's own, of its objective on the
        judgments that it learned from: design, minimized.
        """
        return self.curves.get(metric, ("design", "minimize"))


class SuiteRecord(BaseModel):
    """What the journal keeps of a resolved suite: all that a report has to say about it.

    Attributes
    ----------
    sources : tuple of Source
    of : dict of str to int
        Index of each experiment's source.
    left_out : dict of str to str
        Experiments that the data do not allow, and why.
    added : dict of str to tuple of str
        By experiment, the labels of contenders that are not of the suite but were added to the run.
    versions, cpu, code_digest
        What computed the cells.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    title: str
    seed: int
    sources: tuple[Source, ...]
    of: dict[str, int]
    left_out: dict[str, str] = {}
    added: dict[str, tuple[str, ...]] = {}
    experiments: tuple[Experiment, ...]
    versions: dict[str, str] = {}
    cpu: str = ""
    code_digest: str = ""

    def source(self, experiment: str) -> Source:
        """Return what an experiment is made from."""
        return self.sources[self.of[experiment]]

    def source_of(self, key: BlockKey) -> Source | None:
        """Return the source that a block was drawn from, if the plan has it."""
        made = (key.protocol, key.dataset)
        return next((source for source in self.sources if (source.protocol, source.dataset) == made), None)
