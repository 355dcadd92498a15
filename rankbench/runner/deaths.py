"""Which contenders share a process, and what is left of a block whose process did not come back.

Foreign code may change what its process has imported. So built-in contenders share theirs
with none of it, and the plugins' contenders with those of the same plugin alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rankbench.component import Component
from rankbench.protocols.base import BlockTask, Protocol
from rankbench.results.schema import BlockResult, CellResult
from rankbench.runner.blocks import own_cells, points

__all__ = ["Dead", "apart", "failed", "grouped"]


@dataclass(frozen=True)
class Dead:
    """A block whose process did not come back."""

    status: Literal["error", "timeout"]
    reason: str


def apart(task: BlockTask, kind: str) -> list[BlockTask]:
    """Return the task's built-in contenders as one task and each foreign one as its own."""
    ours = own_cells(task, kind)
    foreign = {cell: spec for cell, spec in task.cells.items() if cell not in ours}
    if not foreign or len(task.cells) == 1:
        return []
    return [replace(task, cells=cells) for cells in (ours, *({c: s} for c, s in foreign.items())) if cells]


def grouped(tasks: Iterable[BlockTask], protocols: Sequence[Protocol]) -> tuple[list[BlockTask], list[BlockTask]]:
    """Split tasks by whose contenders they have: those without foreign code, and the others.

    Parameters
    ----------
    tasks : iterable of BlockTask
    protocols : sequence of Protocol
        Of each source.

    Returns
    -------
    ours, foreign : list of BlockTask
        In the order of `tasks`. Each foreign one has the contenders of one plugin.
    """
    ours: list[BlockTask] = []
    foreign: list[BlockTask] = []
    known: dict[tuple[str, str], tuple[str, ...]] = {}

    def packages(kind: str, text: str) -> tuple[str, ...]:
        if (kind, text) not in known:
            known[kind, text] = tuple(sorted({top for point in points(kind, text) for top in _packages(point)}))
        return known[kind, text]

    for task in tasks:
        protocol = protocols[task.source]
        # A foreign protocol or loss runs with whatever contender.
        shared = bool(_packages(protocol)) or (
            not protocol.metrics and any(packages("loss", text) for text in task.losses)
        )
        groups: dict[tuple[str, ...], dict[str, str]] = {}
        for cell, spec in task.cells.items():
            groups.setdefault(packages(protocol.contender, spec), {})[cell] = spec
        for whose, cells in groups.items():
            (foreign if shared or whose else ours).append(replace(task, cells=cells))
    return ours, foreign


def _packages(component: Component) -> set[str]:
    """Return the top-level packages of the foreign classes in a component."""
    inner = [getattr(component, attribute) for attribute in component.attributes().values()]
    found = {top for value in inner if isinstance(value, Component) for top in _packages(value)}
    top = type(component).__module__.partition(".")[0]
    return found if top == "rankbench" else found | {top}


def failed(task: BlockTask, dead: Dead) -> BlockResult:
    """Return the block with every cell a failure."""
    return BlockResult(task.key, [CellResult(cell, dead.status, dead.reason) for cell in task.cells], 0.0)
