"""A block is computed, timed, and turned into cells or their reason."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.core.runtime import one_blas_thread
from rankbench.core.text import duration_text, first_of
from rankbench.interfaces.cell import (
    BlockResult,
    CellResult,
    ContenderFailed,
    Curve,
    Split,
    cell_problem,
    guarded,
    printable,
    reason,
    trace_of,
)
from rankbench.interfaces.protocol import BlockTask, Prepared

_LONG = 20.0
"""Seconds from which a block is one that takes long."""

_NAMED = 3
"""Contenders of such a block that are named."""

_running: dict[int, tuple[float, BlockTask]] = {}


def begun(task: BlockTask) -> None:
    """Say that a block, or a part of it, is being computed."""
    _running[id(task)] = time.monotonic(), task


def ended(task: BlockTask) -> None:
    """Say that it is not any more."""
    _running.pop(id(task), None)


def longest_running() -> str:
    """Say which contenders' block has been running for longest; empty if that is not long."""
    since, task = min(_running.copy().values(), key=lambda each: each[0], default=(math.inf, None))
    seconds = time.monotonic() - since
    if task is None or seconds < _LONG:
        return ""
    names = first_of([contender.text for contender in task.cells.values()], _NAMED)
    return f"running for {duration_text(seconds)}: {names} (n = {task.key.n:,}, repetition {task.key.repetition + 1})"


def run_block(prepared: Prepared, task: BlockTask) -> BlockResult:
    """Compute all cells of one block, one BLAS thread.

    A cell that the protocol does not answer, or answers with what the store would refuse,
    is a failure that says so.
    """
    started = time.perf_counter()
    with one_blas_thread():
        begun(task)
        found = guarded(partial(_executed, prepared, task))
        ended(task)
    sizes = {split: len(names) for split, names in prepared.units.items()}
    cells = []
    for cell in task.cells:
        result = found if isinstance(found, Exception) else guarded(partial(_checked, found, cell, task.metrics, sizes))
        if isinstance(result, Exception):
            result = CellResult(cell, "error", reason(result), trace=trace_of(result))
        cells.append(result)
    return BlockResult(task.key, cells, time.perf_counter() - started)


def _executed(prepared: Prepared, task: BlockTask) -> dict[str, CellResult]:
    """Return what a protocol, which may be third-party code, says of each cell."""
    return {cell.cell: cell for cell in prepared.protocol.execute(prepared, replace(task, cells=dict(task.cells)))}


def _checked(
    found: Mapping[str, CellResult], cell: str, metrics: tuple[str, ...], sizes: Mapping[Split, int]
) -> CellResult:
    """Return one cell's result in plain types, which the store takes, or raise what is wrong with it."""
    if cell not in found:
        raise ContenderFailed("the protocol gave no result")
    said = found[cell]
    losses = {place: _real(values) for place, values in said.losses.items()}
    curves = {
        name: Curve(np.asarray(curve.steps).astype(np.int64, casting="safe"), _real(curve.values))
        for name, curve in said.curves.items()
    }
    info = {printable(name): float(value) for name, value in said.info.items()}
    words, optimality = printable(said.reason), float(said.optimality)
    plain = CellResult(cell, said.status, words, optimality, losses, curves, info, said.trace)
    if trouble := cell_problem(plain, sizes, metrics):
        raise ContenderFailed(trouble)
    return plain


def _real(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as floats; a `TypeError` where they are not real."""
    return np.asarray(values).astype(np.float64, casting="safe", copy=False)
