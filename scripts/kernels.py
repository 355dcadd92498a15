"""Compile rankbench's kernels into its cache folder, each once, on all cores.

Processes that start together and need the same kernel compile it each for itself. Here a module is imported after those
that it imports and that are compiled too, by whichever process is idle. What is compiled when it is first called, the
loops of empirical risk minimization, is called by small runs: one process takes half a minute for them, so that what
they need comes first, and all else is compiled beside them.
"""

from __future__ import annotations

import ast
import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import rankbench
from rankbench.core.code_digest import compiled_sources
from rankbench.core.runtime import settle_runtime

PACKAGE = Path(rankbench.__file__).parent

SUITE = """
name = "small"
title = "Small"
dataset = "web10k-like:queries=24,features=8"
protocol = "btl:design=10,heldout=10"
[[experiments]]
name = "small"
title = "Small"
n = [100]
repetitions = 1
contenders = [{{ use = "{contender}" }}]
"""

CONTENDERS = ("erm:k=5,optimizer=composite,draws=10,curve=3", "erm:aggregator=bradley-terry,k=[1,5,inf],draws=10")
"""Of one the stochastic steps are taken, of the other targets of single and of sampled judgments are averaged."""

FIRST = (
    "rankbench.kernels.signatures.",
    "rankbench.methods.erm.",
    "rankbench.data.simulators.kernels",
    "rankbench.losses.kernels.rankings",
    "rankbench.aggregators.kernels.likelihood",
)
"""Modules that the small runs need, which would compile what is missing themselves."""


def named(path: Path) -> str:
    """Return the name of a module of ours."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> set[str]:
    """Return what a module imports at its top."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def compile_module(name: str) -> None:
    """Import a module, which compiles its functions or finds them in the cache folder."""
    import_module(name)


def run_small(contender: str) -> None:
    """Run one contender on a small block."""
    with TemporaryDirectory() as folder:
        suite = Path(folder) / "small.toml"
        suite.write_text(SUITE.format(contender=contender), encoding="utf-8")
        failures = rankbench.run(str(suite), out=Path(folder) / "out").failures
    if failures:
        raise RuntimeError(f"{contender}: {failures}")


def compile_all(pool: Executor, cores: int, small_runs: bool = False) -> None:
    """Import all modules that machine code is made from, each after what it imports itself.

    Parameters
    ----------
    pool : Executor
    cores : int
        Processes that it has.
    small_runs : bool
        Whether loops that have no signature are called too.
    """
    modules = {named(path): path for path in compiled_sources(PACKAGE)}
    needs = {name: imported(path) & modules.keys() - {name} for name, path in modules.items()}
    first = closure([name for name in modules if name.startswith(FIRST)], needs)
    order = TopologicalSorter(needs)
    order.prepare()
    ready: list[str] = []
    runs = list(CONTENDERS) if small_runs else []
    running: dict[Future[None], str] = {}

    def submit(work: Callable[[str], None], what: str) -> None:
        running[pool.submit(work, what)] = what

    while order.is_active() or runs or running:
        if order.is_active():
            ready = sorted([*ready, *order.get_ready()], key=lambda name: name not in first)
        while len(running) < cores and (ready or (runs and not first)):
            if runs and not first:
                submit(run_small, runs.pop(0))
            else:
                submit(compile_module, ready.pop(0))
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            future.result()
            name = running.pop(future)
            if name in modules:
                order.done(name)
                first.discard(name)


def closure(names: list[str], needs: dict[str, set[str]]) -> set[str]:
    """Return modules with all that they import, directly or not."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names += needs[name]
    return found


def processes(cores: int) -> Executor:
    """Return processes that compile into the cache folder."""
    return ProcessPoolExecutor(cores, multiprocessing.get_context("spawn"), initializer=settle_runtime)


def main(cores: int) -> None:
    """Compile what has a signature, and call the loops that have none."""
    with processes(cores) as pool:
        compile_all(pool, cores, small_runs=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
