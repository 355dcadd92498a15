"""Blocks as a run has them: contenders from texts, and what a protocol makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rankbench.core.component import Component
from rankbench.core.spec import parse
from rankbench.interfaces.cell import BlockKey, CellResult
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin.manager import contender, get
from rankbench.plugin.registry import base_of


def cells(base: Callable[..., Component], given: Mapping[str, str | Component]) -> dict[str, Contender]:
    """Return contenders of a kind by cell, from their texts, or of what nobody registered from the components."""
    return {
        cell: Contender.single(one) if isinstance(one, Component) else contender(base, parse(one))
        for cell, one in given.items()
    }


Contenders = Mapping[str, str | Component] | Iterable[str | Component]
"""By cell, or by their texts."""


def task_of(
    prepared: Prepared,
    given: Contenders,
    metrics: Iterable[str] = (),
    *,
    n: int = 1,
    repetition: int = 0,
    seed: int = 1,
) -> BlockTask:
    """Return a block of contenders by cell, or by their texts, judged by metrics of the protocol or by losses."""
    protocol, wanted = prepared.protocol, tuple(metrics) or prepared.protocol.metric_names()
    named = given if isinstance(given, Mapping) else {str(one): one for one in given}
    losses = () if protocol.metrics else tuple(get(Loss, loss) for loss in wanted)
    key = BlockKey(str(protocol), str(prepared.dataset or ""), n, repetition, seed)
    return BlockTask(key, 0, wanted, cells(base_of(protocol.contender), named), losses)


def executed(prepared: Prepared, given: Contenders, metrics: Iterable[str] = (), **key: int) -> dict[str, CellResult]:
    """Return what each contender did on a block, by cell: see `task_of`."""
    task = task_of(prepared, given, metrics, **key)
    found = {result.cell: result for result in prepared.protocol.execute(prepared, task)}
    assert list(found) == list(task.cells)
    return found
