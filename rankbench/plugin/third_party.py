"""Functions tell whose code a component is, and give it arrays that it cannot change.

Third-party code gets copies or read-only views of all shared data, and anything it
raises or returns becomes that contender's outcome.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from rankbench.core.code_digest import OURSELVES
from rankbench.core.component import Component
from rankbench.core.text import returned_numbers
from rankbench.interfaces.cell import ContenderFailed
from rankbench.interfaces.method import Block, Fitted
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.protocol import BlockTask
from rankbench.interfaces.queries import Comparisons, Orders, Queries, Selections
from rankbench.plugin import manager

Judgments = TypeVar("Judgments", Comparisons, Orders, PairCounts, Selections)


def queries_for_plugin(queries: Queries) -> Queries:
    """Return queries that third-party code may change."""
    x = queries.x.view()
    x.flags.writeable = False
    truth = None if queries.truth is None else queries.truth.copy()
    return Queries(list(queries.ids), queries.offsets.copy(), x, truth)


def disposable_judgments(judged: Judgments) -> Judgments:
    """Return judgments that third-party code may change: every array is a copy."""
    copied: dict[str, Any] = {
        name: array.copy() for name, array in vars(judged).items() if isinstance(array, np.ndarray)
    }
    return replace(judged, **copied)


def block_for_plugin(block: Block) -> Block:
    """Return a block that third-party code may change."""
    validation = None if block.validation is None else queries_for_plugin(block.validation)
    said = disposable_judgments(block.comparisons)
    return replace(block, design=queries_for_plugin(block.design), comparisons=said, validation=validation)


def is_ours(component: Component) -> bool:
    """Return whether a component and all components in it are built in."""
    return not third_party_distributions(component)


def third_party_distributions(component: Component) -> set[str]:
    """Return the distributions (or, if unregistered, modules) of the third-party classes in a component."""
    return distributions_of(component) - {OURSELVES}


def distributions_of(component: Component) -> set[str]:
    """Return the distributions of a component and of the components in it, ours too."""
    inner = [getattr(component, attribute) for attribute in component.attributes().values()]
    nested = (distributions_of(value) for value in inner if isinstance(value, Component))
    return {manager.component_distribution(component)}.union(*nested)


def plain_fitted(fitted: object) -> Fitted:
    """Return a method's fit with its numbers in plain types, or raise an error on it."""
    if not isinstance(fitted, Fitted):
        raise ContenderFailed(f"fit returned {type(fitted).__name__}, not Fitted")
    if (fitted.model is None) != (fitted.theta is None):
        raise ContenderFailed("model and theta come together")
    theta = None if fitted.theta is None else returned_numbers(fitted.theta, "theta")
    info = {name: float(value) for name, value in fitted.info.items()}
    return replace(fitted, theta=theta, converged=bool(fitted.converged), info=info)


def without_third_party(task: BlockTask) -> BlockTask | None:
    """Return a block without third-party contenders, which could end the process that compiles.

    None: nothing is left; or a loss that judges contenders is third-party.
    """
    cells = {cell: found for cell, found in task.cells.items() if all(map(is_ours, found.points))}
    if not cells or not all(map(is_ours, task.losses)):
        return None
    return replace(task, cells=cells)
