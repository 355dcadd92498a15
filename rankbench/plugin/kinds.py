"""The kinds of components that plugins may bring, with the base class of each."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass

from rankbench.component import Component
from rankbench.errors import PluginError, SpecError, nearest

__all__ = ["KINDS", "SUITE", "Kind", "base_of", "kind_of", "kind_of_class", "plural_of"]

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

    def base_class(self) -> type[Component]:
        """Import and return the class that components of this kind derive from."""
        module, _, attribute = self.base.partition(":")
        base: type[Component] = getattr(importlib.import_module(module), attribute)
        return base

    def known_base(self) -> type[Component] | None:
        """Return that class if it has been imported; as long as it has not, no class derives from it."""
        module, _, attribute = self.base.partition(":")
        return getattr(sys.modules.get(module), attribute, None)


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
        Kind("table", "tables", "rankbench.kinds.table:TableKind"),
        Kind("claim", "claims", "rankbench.kinds.claim:ClaimKind"),
        Kind("figure", "figures", "rankbench.kinds.figure:FigureKind"),
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


def plural_of(kind: str) -> str:
    """Return the plural of a kind, or of ``suite``."""
    return KINDS[kind].plural if kind in KINDS else "suites"


def base_of(kind: str) -> type[Component]:
    """Return the base class of a kind, where only a text says which.

    Raises
    ------
    SpecError
        There is no such kind; the message has the nearest one.
    """
    if kind not in KINDS:
        raise SpecError(f"there is no kind {kind!r} of component{nearest(kind, KINDS)}")
    return KINDS[kind].base_class()


def kind_of_class(found: type) -> str:
    """Return the kind of a component class: that of the one kind's base class that it derives from.

    Raises
    ------
    PluginError
        It derives from none of them, or from several.
    """
    kinds = [kind.name for kind in KINDS.values() if kind.known_base() in found.__mro__]
    if len(kinds) == 1:
        return kinds[0]
    bases = ", ".join(f"rankbench.{KINDS[name].base.rpartition(':')[2]}" for name in kinds or KINDS)
    where = f"{found.__module__}.{found.__qualname__}"
    if kinds:
        raise PluginError(f"{where} derives from several kinds ({bases}); write a class for each")
    raise PluginError(f"{where} derives from the base class of no kind; derive it from one of {bases}")
