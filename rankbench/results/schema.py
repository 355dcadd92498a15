"""What a run produces: cells, their results, and the columns of the exported rows.

A *cell* is one contender on one block. Its id is a hash of everything that determines
its value (contender with all parameters, block, data sha256, code digest), so a cell is
computed once however many experiments show it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ANSWERS", "FAILURES", "BlockKey", "BlockResult", "CellResult", "Curve", "Split", "Status"]

Split: TypeAlias = Literal["design", "heldout"]
Status: TypeAlias = Literal["done", "diverged", "skipped", "error", "timeout"]

ANSWERS: frozenset[Status] = frozenset({"done", "diverged", "skipped"})
"""Statuses that are kept; a run that has only these exits with 0."""

FAILURES: frozenset[Status] = frozenset({"error", "timeout"})
"""Statuses that the next run tries again; a run that has one exits with 1."""


@dataclass(frozen=True, order=True)
class BlockKey:
    """Which matched draw: data set (canonical spec), n, repetition and the suite's seed."""

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
    losses : dict of (metric, split) to ndarray of float64, shape (Q_split,)
        Loss of every query, in the order of the split's queries. Empty unless done.
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


@dataclass(frozen=True)
class BlockResult:
    """All cells of one block that were computed together, and how long that took."""

    key: BlockKey
    cells: list[CellResult]
    seconds: float
