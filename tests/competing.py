"""The cells of a block from texts, as a plan has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rankbench.core.component import Component
from rankbench.core.spec import parse
from rankbench.interfaces.protocol import Contender
from rankbench.plugin.manager import contender


def cells(base: Callable[..., Component], given: Mapping[str, str | Component]) -> dict[str, Contender]:
    """Return contenders of a kind by cell, from their texts, or of what nobody registered from the components."""
    return {
        cell: Contender.single(one) if isinstance(one, Component) else contender(base, parse(one))
        for cell, one in given.items()
    }
