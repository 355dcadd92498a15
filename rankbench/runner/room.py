"""Whether this machine has room for a run: memory for its draws, disk for its results."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rankbench.errors import PluginError
from rankbench.kinds.protocol import BlockTask
from rankbench.resources import check_disk, check_memory
from rankbench.runner.plan import Planned
from rankbench.text import short_repr

__all__ = ["check_room"]

NUMBER = 8
"""Bytes of a loss."""


def check_room(made: Planned, tasks: Sequence[BlockTask], folder: Path, workers: int) -> None:
    """Refuse blocks that need more memory or disk than there is, before the first one begins.

    Parameters
    ----------
    made : Planned
    tasks : sequence of BlockTask
        What is to be computed.
    folder : Path
        Of the results.
    workers : int

    Raises
    ------
    SpecError
        What is needed, and what there is.
    """
    drawn = sorted((_draw_bytes(made, task), task.key.n) for task in tasks)[-workers:]
    at_once = sum(needed for needed, _ in drawn)
    if at_once > 1 << 20:
        check_memory(at_once, f"the draws of {len(drawn)} blocks at once, n = {max(n for _, n in drawn):,},", "fewer n")
    losses = sum(
        len(task.cells) * len(task.metrics) * sum(map(len, made.sources[task.source].units.values())) for task in tasks
    )
    check_disk(
        losses * NUMBER, folder, f"what {len(tasks):,} blocks end in", "fewer repetitions (--reps) or contenders"
    )
    if workers > 1:
        arrays = {id(array): array.nbytes for source in made.sources for array in source.arrays.values()}
        shared = Path(tempfile.gettempdir())
        check_disk(sum(arrays.values()), shared, "what workers share", "one worker (--workers 1), or set TMPDIR")


def _draw_bytes(made: Planned, task: BlockTask) -> int:
    prepared = made.sources[task.source]
    needed: object = prepared.protocol.draw_bytes(prepared, task)
    if isinstance(needed, bool) or not isinstance(needed, int) or needed < 0:
        raise PluginError(
            f"draw_bytes of protocol {prepared.protocol!s} returned {short_repr(needed)}, no number of bytes"
        )
    return needed
