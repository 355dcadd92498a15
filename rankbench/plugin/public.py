"""What plugins may import: everything else may change from one version to the next."""

from __future__ import annotations

__all__ = ["PUBLIC"]

PUBLIC: dict[str, str] = {
    "rankbench": "base classes, containers, `get`, `run`, `hookimpl`, `reference`",
    "rankbench.testing": "the conformance checks",
    "rankbench.errors": "errors to raise, `nearest`",
    "rankbench.component": "types of declarations: `Property`, `StructureKind`, `Order`",
    "rankbench.kernels": "signatures of compiled forms, `Kernel`",
    "rankbench.aggregators.base": "the interface of aggregators",
    "rankbench.surrogates.base": "the interfaces of surrogates",
    "rankbench.losses.base": "the interface of losses",
    "rankbench.models.base": "the interface of models",
    "rankbench.optimizers.base": "the interfaces of optimizers, `Fit`, `Problem`",
    "rankbench.optimizers.penalties": "`Penalty`, which steps are handed",
    "rankbench.methods.base": "the interface of methods, `Block`, `Fitted`",
    "rankbench.protocols.base": "the interface of protocols, `Prepared`, `BlockTask`",
    "rankbench.results.schema": "what protocols return: `CellResult`, `Curve`",
    "rankbench.data.queries": "containers of items and judgments",
    "rankbench.data.dataset": "the interface of data sets",
    "rankbench.data.schema": "the columnar schema, validation",
    "rankbench.data.checks": "`checked`, which brings a lazy frame into the schema",
    "rankbench.data.readers.base": "the interface of readers, `existing`",
    "rankbench.plugin.resolve": "`reference`, for component-valued parameters",
    "rankbench.cli": "`main`, for tests of commands",
}
"""Public modules and what they are for; of each, the names in its ``__all__``."""
