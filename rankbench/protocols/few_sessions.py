"""What the protocols on selections have in common."""

from __future__ import annotations

from dataclasses import replace

from rankbench.kinds.protocol import BlockTask, Prepared
from rankbench.protocols.ownership import own_cells, trusted

__all__ = ["few_sessions"]

_FEW = 50
"""Sessions that compile everything."""


def few_sessions(prepared: Prepared, task: BlockTask) -> tuple[Prepared, BlockTask] | None:
    """Return a block with a few sessions, without foreign contenders, for compiling.

    None: nothing is left; or what contenders are judged by are loss components, one of them foreign.
    """
    protocol = prepared.protocol
    cells = own_cells(task, protocol.contender)
    if not cells or not (protocol.metrics or all(trusted("loss", loss) for loss in task.losses)):
        return None
    return prepared, replace(task, key=replace(task.key, n=min(task.key.n, _FEW)), cells=cells)
