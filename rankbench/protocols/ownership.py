"""Whose contenders a block's cells have."""

from __future__ import annotations

from rankbench.kinds.contender import Contender
from rankbench.kinds.protocol import BlockTask
from rankbench.protocols.isolation import is_ours

__all__ = ["own_cells"]


def own_cells(task: BlockTask) -> dict[str, Contender]:
    """Return the cells whose contenders are built in: foreign ones could take down the process that compiles."""
    return {cell: found for cell, found in task.cells.items() if all(map(is_ours, found.points))}
