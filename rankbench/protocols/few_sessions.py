"""What the protocols on selections have in common."""

from __future__ import annotations

from dataclasses import replace

from rankbench.kinds.protocol import BlockTask, Prepared
from rankbench.protocols.isolation import is_ours
from rankbench.protocols.ownership import own_cells

__all__ = ["few_sessions"]

_FEW = 50
"""Sessions that compile everything."""


def few_sessions(prepared: Prepared, task: BlockTask) -> tuple[Prepared, BlockTask] | None:
    """Return a block with a few sessions, without foreign contenders, for compiling.

    None: nothing is left; or one of the losses that contenders are judged by is foreign.
    """
    cells = own_cells(task)
    if not cells or not all(map(is_ours, task.losses)):
        return None
    return prepared, replace(task, key=replace(task.key, n=min(task.key.n, _FEW)), cells=cells)
