"""Blocks whose process did not come back: find the guilty contender, keep the others' numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from rankbench.protocols.base import BlockTask
from rankbench.results.schema import BlockResult, CellResult
from rankbench.runner.blocks import trusted

__all__ = ["Dead", "apart", "failed"]


@dataclass(frozen=True)
class Dead:
    """A block whose process did not come back."""

    status: Literal["error", "timeout"]
    reason: str


def apart(task: BlockTask, kind: str) -> list[BlockTask]:
    """Return the task's built-in contenders as one task and each foreign one as its own."""
    foreign = {cell: spec for cell, spec in task.cells.items() if not trusted(kind, spec)}
    if not foreign or len(task.cells) == 1:
        return []
    ours = {cell: spec for cell, spec in task.cells.items() if cell not in foreign}
    return [replace(task, cells=cells) for cells in (ours, *({c: s} for c, s in foreign.items())) if cells]


def failed(task: BlockTask, dead: Dead) -> BlockResult:
    """Return the block with every cell a failure."""
    return BlockResult(task.key, [CellResult(cell, dead.status, dead.reason) for cell in task.cells], 0.0)
