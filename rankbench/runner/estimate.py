"""How long a run takes, about, before it is started."""

from __future__ import annotations

from rankbench.kinds.protocol import BlockTask, Protocol
from rankbench.protocols.isolation import is_ours
from rankbench.protocols.ownership import own_cells
from rankbench.runner.plan import Planned
from rankbench.runtime import one_blas_thread

__all__ = ["estimated_seconds", "untried_cells"]


def estimated_seconds(made: Planned) -> dict[str, float]:
    """Return how long cells take on one processor, about, by cell; those of which nobody can say are left out.

    Of the repetitions of a block one in the middle is asked for (folds by time grow from one to the
    next), and stands for all; see `rankbench.kinds.protocol.Protocol.seconds`.
    """
    alike: dict[tuple[int, int, tuple[str, ...]], list[BlockTask]] = {}
    for task in made.plan.tasks:
        alike.setdefault((task.source, task.key.n, task.metrics), []).append(task)
    known: dict[str, float] = {}
    with one_blas_thread():
        for tasks in alike.values():
            middle, prepared = tasks[len(tasks) // 2], made.sources[tasks[0].source]
            if not is_ours(prepared.protocol):
                continue
            of_cell = prepared.protocol.seconds(prepared, middle)
            of_text = {found.text: of_cell[cell] for cell, found in middle.cells.items() if cell in of_cell}
            for task in tasks:
                known |= {cell: of_text[found.text] for cell, found in task.cells.items() if found.text in of_text}
    return known


def untried_cells(made: Planned) -> set[str]:
    """Return the cells whose time would be known if they, or their protocol, were not a plugin's.

    Foreign code runs in processes of its own, and planning starts none.
    """
    found: set[str] = set()
    for task in made.plan.tasks:
        protocol = made.sources[task.source].protocol
        if type(protocol).seconds is not Protocol.seconds:
            found |= set(task.cells).difference(own_cells(task) if is_ours(protocol) else ())
    return found
