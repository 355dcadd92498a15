"""What the protocols on selections have in common."""

from __future__ import annotations

from dataclasses import replace

from rankbench.data.queries import Selections
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.plugin import manager
from rankbench.protocols.base import BlockTask
from rankbench.results.schema import CellResult
from rankbench.runner.isolation import is_ours, reason

__all__ = ["failed", "few_sessions", "lent_selections"]


def failed(cell: str, error: Exception) -> CellResult:
    """Return the result of a contender that went wrong."""
    if isinstance(error, ContenderDiverged):
        return CellResult(cell, "diverged", str(error))
    if isinstance(error, SpecError):
        return CellResult(cell, "skipped", str(error))
    return CellResult(cell, "error", reason(error))


def lent_selections(log: Selections) -> Selections:
    """Return selections that a contender may do with as it likes."""
    return Selections(log.offsets.copy(), log.starts.copy(), log.items.copy(), log.clicked.copy())


def few_sessions(task: BlockTask) -> BlockTask | None:
    """Return a block without foreign contenders, for compiling; None: nothing is left, or a loss is foreign."""
    cells = {cell: spec for cell, spec in task.cells.items() if is_ours(manager.get("aggregator", spec))}
    metrics = [loss for loss in task.losses if loss != "click-log-loss"]
    if not cells or not all(is_ours(manager.get("loss", loss)) for loss in metrics):
        return None
    return replace(task, cells=cells)
