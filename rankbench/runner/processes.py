"""Which contenders share a process, and what is left of a block whose process did not come back.

Foreign code may change what its process has imported. So built-in contenders share theirs
with none of it, and the plugins' contenders with those of the same plugin alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rankbench.kinds.cell import BlockResult, CellResult
from rankbench.kinds.click_population import ClickPopulation
from rankbench.kinds.contender import Contender
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.protocol import BlockTask, Prepared, Protocol
from rankbench.protocols.isolation import strangers
from rankbench.protocols.ownership import own_cells
from rankbench.text import duration_text, first_of

__all__ = [
    "LostProcess",
    "Places",
    "begun",
    "ended",
    "failed_block",
    "isolate_foreign",
    "longest_running",
    "place_tasks",
    "split_foreign",
]

_LONG = 20.0
"""Seconds from which a block is one that takes long."""

_NAMED = 3
"""Contenders of such a block that are named."""

_running: dict[int, tuple[float, BlockTask]] = {}


def begun(task: BlockTask) -> None:
    """Say that a block, or a part of it, is being computed."""
    _running[id(task)] = time.monotonic(), task


def ended(task: BlockTask) -> None:
    """Say that it is not any more."""
    _running.pop(id(task), None)


def longest_running() -> str:
    """Name the contenders of the block that has been computed for longest; empty if that is not long."""
    since, task = min(_running.copy().values(), key=lambda each: each[0], default=(math.inf, None))
    seconds = time.monotonic() - since
    if task is None or seconds < _LONG:
        return ""
    names = first_of([contender.text for contender in task.cells.values()], _NAMED)
    return f"for {duration_text(seconds)}: {names} (n = {task.key.n:,}, repetition {task.key.repetition + 1})"


@dataclass(frozen=True)
class LostProcess:
    """A block whose process did not come back."""

    status: Literal["error", "timeout"]
    reason: str
    died: bool = False
    """Whether its process ended, perhaps by no fault of the block."""


def isolate_foreign(task: BlockTask) -> list[BlockTask]:
    """Return the task's built-in contenders as one task and each foreign one as its own."""
    ours = own_cells(task)
    foreign = {cell: found for cell, found in task.cells.items() if cell not in ours}
    if not foreign or len(task.cells) == 1:
        return []
    return [
        replace(task, cells=cells) for cells in (ours, *({cell: found} for cell, found in foreign.items())) if cells
    ]


def split_foreign(
    tasks: Iterable[BlockTask], protocols: Sequence[Protocol], datasets: Sequence[Dataset | None] = ()
) -> tuple[list[BlockTask], list[BlockTask]]:
    """Split tasks by whose contenders they have: those without foreign code, and the others.

    Parameters
    ----------
    tasks : iterable of BlockTask
    protocols : sequence of Protocol
        Of each source.
    datasets : sequence of Dataset or None, optional
        Of each source. A population is asked in every block; other data sets only at first.

    Returns
    -------
    ours, foreign : list of BlockTask
        In the order of `tasks`. Each foreign one has the contenders of one plugin.
    """
    from rankbench.runner.share import spec_of

    ours: list[BlockTask] = []
    foreign: list[BlockTask] = []
    known: dict[tuple[str, str], tuple[str, ...]] = {}

    def whose(contender: Contender) -> tuple[str, ...]:
        key = (contender.points[0].kind, contender.text)
        if key not in known:
            known[key] = tuple(sorted({each for point in contender.points for each in strangers(point)}))
        return known[key]

    for task in tasks:
        protocol = protocols[task.source]
        # A foreign protocol, registered population or loss runs with whatever contender.
        dataset = datasets[task.source] if datasets else None
        asked = bool(_asked(dataset)) and bool(spec_of(dataset))
        shared = asked or bool(strangers(protocol)) or any(map(strangers, task.losses))
        groups: dict[tuple[str, ...], dict[str, Contender]] = {}
        for cell, contender in task.cells.items():
            groups.setdefault(whose(contender), {})[cell] = contender
        for them, cells in groups.items():
            (foreign if shared or them else ours).append(replace(task, cells=cells))
    return ours, foreign


def _asked(dataset: Dataset | None) -> set[str]:
    """Return whose a population is, which is asked in every block; of other data sets nothing runs there."""
    return strangers(dataset) if isinstance(dataset, ClickPopulation) else set()


@dataclass(frozen=True)
class Places:
    """Where tasks may run.

    Attributes
    ----------
    here : list of BlockTask
        They ask a population that is an object of this process alone.
    ours : list of BlockTask
        Without foreign code: here, or in any worker.
    foreign : list of BlockTask
        With foreign code: each in a process of its own.
    nowhere : list of BlockResult
        They would need both, and are failures.
    """

    here: list[BlockTask]
    ours: list[BlockTask]
    foreign: list[BlockTask]
    nowhere: list[BlockResult]


def place_tasks(tasks: Iterable[BlockTask], sources: Sequence[Prepared]) -> Places:
    """Say where tasks may run: the same place whatever the number of workers."""
    from rankbench.runner.share import spec_of

    ours, foreign = split_foreign(tasks, [prepared.protocol for prepared in sources], [p.dataset for p in sources])
    places = Places([], [], [], [])
    bound = [isinstance(p.dataset, ClickPopulation) and not spec_of(p.dataset) for p in sources]
    for task in ours:
        (places.here if bound[task.source] else places.ours).append(task)
    for task in foreign:
        if bound[task.source]:
            population = sources[task.source].dataset
            why = (
                f"a plugin's contender runs in a process of its own, and the population {population!s} is an object of "
                "this one: register it, so that another process can make it again"
            )
            places.nowhere.append(failed_block(task, LostProcess("error", why)))
        else:
            places.foreign.append(task)
    return places


def failed_block(task: BlockTask, dead: LostProcess) -> BlockResult:
    """Return the block with every cell a failure."""
    return BlockResult(task.key, [CellResult(cell, dead.status, dead.reason) for cell in task.cells], 0.0)
