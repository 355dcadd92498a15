"""Whether this machine has room for a run: memory for its draws, disk for its results."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rankbench.kinds.protocol import BlockTask
from rankbench.resources import check_disk, check_memory
from rankbench.runner.plan import Planned

__all__ = ["check_room"]

JUDGMENT = 12
"""Bytes of a drawn judgment, at least: query, winner and loser."""

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
    drawn = [task.key.n for task in tasks if made.sources[task.source].pool is None]
    if drawn and max(drawn) * JUDGMENT > 1 << 20:
        at_once = sum(sorted(drawn)[-workers:])
        check_memory(
            at_once * JUDGMENT,
            f"the draws of {min(workers, len(drawn))} blocks at once, n = {max(drawn):,},",
            "fewer n",
        )
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
