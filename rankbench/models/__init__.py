"""Models: from an item's features to what its score is linear in."""

from __future__ import annotations

from rankbench.kinds.model import Model
from rankbench.models.linear import LinearModel
from rankbench.plugin.hookspecs import hookimpl

__all__ = ["LinearModel"]


@hookimpl
def rankbench_register() -> list[type[Model]]:
    """Register the built-in models."""
    return [LinearModel]
