"""Whose contenders a cell stands for."""

from __future__ import annotations

from rankbench.component import Component, build
from rankbench.kinds.protocol import BlockTask
from rankbench.plugin import manager
from rankbench.plugin.kinds import base_of
from rankbench.protocols.isolation import is_ours
from rankbench.spec import parse

__all__ = ["own_cells", "points", "trusted"]


def points(kind: str, text: str) -> list[Component]:
    """Return the components that a cell's spec stands for: one, or the points of its grid."""
    spec = parse(text)
    return list(build(manager.component_class(base_of(kind), spec.name), spec))


def trusted(kind: str, text: str) -> bool:
    """Return whether all components in a cell's spec are built in."""
    return all(is_ours(point) for point in points(kind, text))


def own_cells(task: BlockTask, kind: str) -> dict[str, str]:
    """Return the cells whose contenders are built in: foreign ones could take down the process that compiles."""
    return {cell: spec for cell, spec in task.cells.items() if trusted(kind, spec)}
