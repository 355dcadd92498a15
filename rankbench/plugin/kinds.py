"""The kinds of components that plugins may bring, with the base class of each."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from rankbench.component import Component
from rankbench.errors import SpecError, nearest

__all__ = ["KINDS", "SUITE", "Kind", "kind_of"]

SUITE = "suite"
"""Suites are listed beside components, but they are files, not classes."""


@dataclass(frozen=True)
class Kind:
    """A kind of component.

    Attributes
    ----------
    name, plural : str
        ``aggregator``, ``aggregators``.
    base : str
        ``module:class`` of the base class, imported when first asked for.
    """

    name: str
    plural: str
    base: str

    @property
    def hook(self) -> str:
        """Name of the hook that registers components of this kind."""
        return f"rankbench_register_{self.plural}"

    def base_class(self) -> type[Component]:
        """Import and return the class that components of this kind derive from."""
        module, _, attribute = self.base.partition(":")
        base: type[Component] = getattr(importlib.import_module(module), attribute)
        return base


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("aggregator", "aggregators", "rankbench.kinds.aggregator:Aggregator"),
        Kind("surrogate", "surrogates", "rankbench.kinds.surrogate:Surrogate"),
        Kind("loss", "losses", "rankbench.kinds.loss:Loss"),
        Kind("optimizer", "optimizers", "rankbench.kinds.optimizer:Optimizer"),
        Kind("model", "models", "rankbench.kinds.model:Model"),
        Kind("method", "methods", "rankbench.kinds.method:Method"),
        Kind("protocol", "protocols", "rankbench.kinds.protocol:Protocol"),
        Kind("reader", "readers", "rankbench.kinds.reader:Reader"),
        Kind("dataset", "datasets", "rankbench.kinds.dataset:Dataset"),
    )
}


def kind_of(word: str) -> str:
    """Return the kind, or ``suite``, that a singular or plural word names.

    Raises
    ------
    SpecError
        There is no such kind.
    """
    words = {name: kind.name for kind in KINDS.values() for name in (kind.name, kind.plural)}
    words |= {SUITE: SUITE, "suites": SUITE}
    if word not in words:
        raise SpecError(f"there is no kind {word!r}{nearest(word, [*KINDS, SUITE])}")
    return words[word]
