"""The timing script runs under the Python of whichever version is timed.

It is no module of the rankbench that it times, which may be an older or a newer one, and imports of it only what has
long existed. Requests and answers are lines of JSON, on files that timed code does not know.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.metadata
import json
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

LIBRARIES = ("rankbench", "numpy", "scipy", "numba", "llvmlite", "polars")


class _Workload:
    """The reference: products, sorting, exponentials and gathers of fixed numbers, some 20 ms."""

    def __init__(self) -> None:
        import numpy as np

        rng = np.random.default_rng(20130501)
        self.name = f"1, NumPy {np.__version__}"
        self.np, self.x, self.y = np, rng.random((600, 136)), rng.random(60_000)
        self.order = rng.permutation(len(self.y))

    def __call__(self) -> float:
        """Compute it."""
        total = 0.0
        for _ in range(4):
            total += float((self.x.T @ self.x).sum())
            total += float(self.np.sort(self.y)[::97].sum())
            total += float(self.np.exp(self.y).sum() + self.y[self.order].cumsum()[-1])
        return total


class _Log:
    """Votes by a Bradley-Terry law on a hundred items, one in ten a tie: counted and ranked as users do.

    Parameters
    ----------
    votes : int
    """

    def __init__(self, votes: int) -> None:
        import numpy as np
        import polars as pl

        from rankbench.ranking.aggregate import aggregate

        rng = np.random.default_rng(19521201)
        score, names = rng.normal(size=100), np.array([f"item {one}" for one in range(100)])
        left = rng.integers(100, size=votes)
        right = (left + rng.integers(1, 100, size=votes)) % 100
        won = np.where(rng.random(votes) < 1 / (1 + np.exp(score[right] - score[left])), "left", "right")
        winner = np.where(rng.random(votes) < 0.1, "tie", won)
        self.frame = pl.DataFrame({"left": names[left], "right": names[right], "winner": winner})
        self.aggregate = aggregate

    def __call__(self) -> tuple[str, str]:
        """Rank it; return a status and its reason, as of a block."""
        try:
            self.aggregate(self.frame)
        except Exception as error:
            return "error", f"{type(error).__name__}: {error}"
        return "done", ""


class _Timed:
    """The contenders of a suite, each alone in its first block, and a log of the votes that it asks for.

    Parameters
    ----------
    setup : dict
        ``suite``, and ``dataset`` and ``extra``, lists.
    """

    def __init__(self, setup: dict[str, Any]) -> None:
        from rankbench.core.runtime import settle_runtime

        settle_runtime()
        from dataclasses import replace

        from rankbench.runner.blocks import run_block
        from rankbench.runner.plan import make_plan
        from rankbench.runner.prepare import dataset_of, prepare_sources
        from rankbench.suites.suite_files import load_suite

        suite = load_suite(setup["suite"])
        once = tuple(one.model_copy(update={"repetitions": 1}) for one in suite.experiments)
        suite = suite.model_copy(update={"experiments": once})
        found = prepare_sources(suite, [dataset_of(name) for name in setup["dataset"]])
        kept = tuple(one for one in suite.experiments if one.name in found.source_index)
        # An older version may not know additions: they are passed only if there are some.
        more = [setup["extra"]] if setup.get("extra") else []
        chosen = suite.model_copy(update={"experiments": kept})
        plan = make_plan(chosen, found.sources, found.source_index, "", *more)
        self.run_block, self.sources = run_block, found.sources
        self.members, self.tasks = [], []
        self.log: _Log | None = None
        of = {cell: task for task in plan.tasks for cell in task.cells}
        for member in plan.members:
            if member.repetition == 0:
                task = of[member.cell]
                self.members.append((member.experiment, member.label, member.n, member.n_declared))
                self.tasks.append(replace(task, cells={member.cell: task.cells[member.cell]}))
        # An older version's suites ask for no votes.
        self.votes = getattr(suite, "timed_votes", 0)
        if self.votes:
            self.members.append(("log", "counting and ranking", self.votes, self.votes))

    def call(self, at: int) -> tuple[str, str]:
        """Run the block with one contender, or rank the log; return a status and the reason."""
        if at == len(self.tasks):
            self.log = self.log or _Log(self.votes)
            return self.log()
        task = self.tasks[at]
        cells = self.run_block(self.sources[task.source], task).cells
        return cells[0].status, cells[0].reason


def _collect() -> None:
    """Collect garbage; what is alive is not gone through again, which would take longer than most calls."""
    gc.collect()
    gc.freeze()


def _timed(work: Callable[[], Any], loops: int) -> float:
    """Return the seconds of the fastest call of `loops`; the garbage of others is collected before."""
    _collect()
    gc.disable()
    fastest = math.inf
    try:
        for _ in range(loops):
            start = time.perf_counter()
            work()
            fastest = min(fastest, time.perf_counter() - start)
    finally:
        gc.enable()
    return fastest


def _resident(name: str) -> float:
    """Return a line of ``/proc/self/status`` in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(float(line.split()[1]) * 1024 for line in file if line.startswith(name))


def _memory(work: Callable[[], Any]) -> float | None:
    """Return the peak memory of a call in bytes, beyond the process's memory before; None if unknown here."""
    try:
        _collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
        before = _resident("VmRSS:")
        work()
        return max(0.0, _resident("VmHWM:") - before)
    except (OSError, StopIteration):
        return None


def _answered(request: dict[str, Any], loaded: _Timed, workload: _Workload) -> dict[str, Any]:
    """Return the answer to a request."""
    at, loops = request.get("at"), request.get("loops", 1)
    if at is None:
        return {"seconds": _timed(workload, loops)}
    status = ["", ""]

    def work() -> None:
        status[:] = loaded.call(at)

    if request.get("memory"):
        return {"memory": _memory(work)}
    return {"seconds": _timed(work, loops), "status": status[0], "reason": status[1]}


def main() -> None:
    """Answer requests until the last one."""
    questions, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    setup = json.loads(questions.readline())
    if setup["path"]:
        sys.path[:] = setup["path"]
    try:
        loaded, workload = _Timed(setup), _Workload()
        workload()
        versions = {}
        for name in LIBRARIES:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                versions[name] = importlib.metadata.version(name)
        answer = {"members": loaded.members, "versions": versions, "reference": workload.name}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), file=answers, flush=True)
    if "error" not in answer:
        for line in questions:
            print(json.dumps(_answered(json.loads(line), loaded, workload)), file=answers, flush=True)


if __name__ == "__main__":
    main()
