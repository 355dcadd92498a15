"""The machine's memory bounds workers; versions, CPU and folders are recorded."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankbench.core import code_digest, runtime
from rankbench.core.code_digest import OURSELVES
from rankbench.core.runtime import one_blas_thread
from rankbench.core.system import check_disk, check_memory
from rankbench.core.text import count_text
from rankbench.interfaces.protocol import BlockTask
from rankbench.plugin import manager
from rankbench.plugin.third_party import is_ours
from rankbench.runner.plan import Planned


def check_room(made: Planned, tasks: Sequence[BlockTask], folder: Path, workers: int) -> None:
    """Refuse blocks that need more memory or disk than there is, before the first one begins.

    Parameters
    ----------
    made : Planned
    tasks : sequence of BlockTask
        Blocks to compute.
    folder : Path
        Of the results.
    workers : int

    Raises
    ------
    SpecError
        Memory or disk space is missing: need and supply.
    """
    placed = [(made.sources[task.source], task) for task in tasks]
    drawn = sorted((source.protocol.draw_bytes(source, task), task.key.n) for source, task in placed)[-workers:]
    at_once = sum(needed for needed, _ in drawn)
    if at_once > 1 << 20:
        check_memory(at_once, f"judgments of {len(drawn)} blocks at once, n = {max(n for _, n in drawn):,},", "fewer n")
    losses = sum(len(task.cells) * len(task.metrics) * sum(map(len, source.units.values())) for source, task in placed)
    check_disk(8 * losses, folder, f"the journal of {len(tasks):,} blocks", "fewer repetitions (--reps) or contenders")
    if workers > 1 or made.plan.plugins:
        arrays = {id(array): array.nbytes for source in made.sources for array in source.arrays.values()}
        shared = Path(tempfile.gettempdir())
        check_disk(sum(arrays.values()), shared, "what workers share", "a folder with more room (TMPDIR)")


def estimated_seconds(made: Planned) -> dict[str, float]:
    """Return estimated seconds on one processor, by cell; cells without an estimate are absent.

    Of the repetitions of a block one in the middle is asked for (folds by time grow from one to the
    next), and stands for all; see `rankbench.interfaces.protocol.Protocol.seconds`.
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


def environment() -> dict[str, Any]:
    """Return where and with what a program runs.

    ``rankbench``, ``python`` and ``platform`` are versions, ``libraries`` those of rankbench's dependencies and of
    llvmlite, ``plugins`` those of distributions of third parties. Equal ``cpu_class`` and equal ``code_digest`` give
    equal bytes. ``cpus`` are logical processors that this process may use, ``cache`` is the folder of downloads and
    compiled code, ``data`` is ``RANKBENCH_DATA``.
    """
    return {
        "rankbench": importlib.metadata.version("rankbench"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": _libraries(),
        "plugins": {s.distribution: s.version for s in manager.statuses() if s.distribution != OURSELVES},
        "cpu_class": code_digest.cpu_class(),
        "cpus": runtime.available_cores(),
        "blas": _blas(),
        "code_digest": code_digest.code_digest(),
        "cache": str(runtime.cache_root()),
        "data": os.environ.get("RANKBENCH_DATA", ""),
    }


def _libraries() -> dict[str, str]:
    required = importlib.metadata.requires("rankbench") or []
    names = {re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line}
    return {name: code_digest.version(name) for name in sorted(names | {"llvmlite"})}


def _blas() -> list[str]:
    import numpy as np  # noqa: F401  (loads its BLAS, which is what is asked about)
    from threadpoolctl import threadpool_info

    described = (
        f"{found['internal_api']} {found['version']} ({found.get('architecture', '?')}), "
        + count_text(found["num_threads"], "thread")
        for found in threadpool_info()
        if found["user_api"] == "blas"
    )
    return list(dict.fromkeys(described))
