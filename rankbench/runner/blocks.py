"""One block: what a protocol makes of it, timed, and never more than its own failure."""

from __future__ import annotations

import time
from functools import partial

from rankbench.component import Component, build
from rankbench.plugin import manager
from rankbench.protocols.base import BlockTask, Prepared
from rankbench.results.schema import BlockResult, CellResult, problem_with
from rankbench.runner.isolation import guarded, is_ours, reason
from rankbench.spec import parse

__all__ = ["points", "run_block", "trusted"]


def run_block(prepared: Prepared, task: BlockTask) -> BlockResult:
    """Compute all cells of one block, one BLAS thread.

    A cell that the protocol does not answer, or answers with what the store would refuse,
    is a failure that says so.
    """
    from threadpoolctl import threadpool_limits

    started = time.perf_counter()
    with threadpool_limits(limits=1, user_api="blas"):
        found = guarded(partial(prepared.protocol.execute, prepared, task))
    sizes = {split: len(names) for split, names in prepared.units.items()}
    if isinstance(found, Exception):
        cells = [CellResult(cell, "error", reason(found)) for cell in task.cells]
    else:
        known = {cell.cell: cell for cell in found}
        missing = "the protocol gave no result"
        cells = [known.get(cell, CellResult(cell, "error", missing)) for cell in task.cells]
    checked = [CellResult(c.cell, "error", trouble) if (trouble := problem_with(c, sizes)) else c for c in cells]
    return BlockResult(task.key, checked, time.perf_counter() - started)


def points(kind: str, text: str) -> list[Component]:
    """Return the components that a cell's spec stands for: one, or the points of its grid."""
    spec = parse(text)
    return list(build(manager.component_class(kind, spec.name), spec))


def trusted(kind: str, text: str) -> bool:
    """Return whether all components in a cell's spec are built in."""
    return all(is_ours(point) for point in points(kind, text))
