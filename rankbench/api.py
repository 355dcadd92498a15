"""The Python interface to runs and reports; the command line is a thin shell over it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankbench.digest import blas_cores, code_digest, cpu_class, version
from rankbench.errors import StoreError
from rankbench.results.files import replace_file
from rankbench.results.partial import partial
from rankbench.results.report import report as make_report
from rankbench.results.schema import FAILURES, BlockResult
from rankbench.results.store import Store
from rankbench.runner.plan import BlockTask, Plan, make_plan
from rankbench.runner.prepare import Prepared, prepare
from rankbench.runner.progress import Progress, Silent
from rankbench.runtime import prepare as settle
from rankbench.suites.load import load_suite
from rankbench.suites.schema import Experiment, Suite

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Results", "planned", "report", "run"]

LIBRARIES = ("rankbench", "numpy", "scipy", "numba", "llvmlite", "polars")


@dataclass(frozen=True, repr=False)
class Results:
    """What a run left behind.

    Attributes
    ----------
    directory : Path
        Where the leaderboard, the figures and the rows are.
    leaderboard : DataFrame
        The rows of ``leaderboard.csv``.
    rows : DataFrame
        The rows of ``results.parquet``.
    claims : DataFrame
        The suite's declared claims and what became of them, a row for each contrast.
    failures : dict of str to int
        Number of cells that ended in ``error`` or ``timeout``, by reason.
    """

    directory: Path
    leaderboard: pl.DataFrame
    rows: pl.DataFrame
    claims: pl.DataFrame
    failures: dict[str, int]

    def __repr__(self) -> str:
        return f"<results of {self.rows.height} rows in {self.directory}>"


def planned(
    suite: str, *, dataset: str | None = None, reps: int | None = None, extra: Sequence[str] = ()
) -> tuple[Prepared, Plan]:
    """Load a suite and its data and plan it, without running anything.

    Parameters
    ----------
    suite : str
        Name of a registered suite, or a path to a TOML file.
    dataset : str, optional
        Another data set than the suite's, in the contender grammar.
    reps : int, optional
        At most so many repetitions: the longest experiment gets them, the others keep
        their proportion to it.
    extra : sequence of str
        Contenders to add to every experiment, in the contender grammar.

    Raises
    ------
    SpecError
        Unknown names, parameters or keys.
    InputError
        The data cannot be had or read.
    """
    loaded = load_suite(suite)
    if reps is not None:
        loaded = _limited(loaded, reps)
    prepared = prepare(loaded, _dataset(dataset or loaded.dataset))
    return prepared, make_plan(loaded, prepared, code_digest(), extra)


def _limited(suite: Suite, reps: int) -> Suite:
    from rankbench.errors import SpecError

    if reps < 1:
        raise SpecError(f"the number of repetitions must be positive, not {reps}")
    longest = max(e.repetitions for e in suite.experiments)
    if reps >= longest:
        return suite
    # Two at least, where two were asked for: one repetition says nothing about draws.
    shares = {e.name: max(min(2, reps), round(e.repetitions * reps / longest)) for e in suite.experiments}
    fewer = tuple(
        e.model_copy(update={"repetitions": min(e.repetitions, reps, shares[e.name])}) for e in suite.experiments
    )
    return suite.model_copy(update={"experiments": fewer})


def _dataset(text: str) -> Any:
    from rankbench.plugin.manager import get

    return get("dataset", text)


def run(
    suite: str = "paper",
    *,
    dataset: str | None = None,
    reps: int | None = None,
    workers: int = 1,
    extra: Sequence[str] = (),
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run a suite: every contender on exactly the same judgments, ending in a leaderboard.

    A run that was interrupted goes on where it stopped, and a run that is done already
    is only reported again, to the same bytes.

    Parameters
    ----------
    suite, dataset, reps, extra
        See `planned`.
    workers : int
        Worker processes; 1 runs everything in this one. With more, a script needs the
        usual ``if __name__ == "__main__":`` guard.
    out : path, optional
        Folder for the results; by default ``runs/<suite>``, with ``-<data set>`` behind it
        where another data set than the suite's was asked for. A folder belongs to one suite
        on one data set; its leaderboard shows what the last run asked for.
    progress : Progress, optional
        Told how the run goes.

    Returns
    -------
    Results

    Raises
    ------
    SpecError, InputError
        See `planned`.
    StoreError
        The folder is in use by another run, or holds another suite's or data set's run.
    """
    settle()
    from rankbench.runner.executors import run_here, run_in_pool

    told = progress or Silent()
    started = time.perf_counter()
    with told:
        prepared, plan = planned(suite, dataset=dataset, reps=reps, extra=extra)
        directory = Path(out) if out is not None else Path("runs") / _folder(plan.suite.name, dataset)
        store = Store.open(directory)
        try:
            _check_folder(store, directory, plan, prepared)
            store.begin(_record(plan, prepared), plan.members)
            missing = _missing(store, plan.tasks)
            told.start(len(missing), len(plan.tasks) - len(missing))
            blocks: Iterable[BlockResult]
            if workers > 1 and len(missing) > 1:
                blocks = run_in_pool(prepared, missing, min(workers, len(missing)))
            else:
                blocks = run_here(prepared, missing)
            busy = 0.0
            for index, block in enumerate(blocks):
                store.commit(block)
                busy += block.seconds
                told.advance()
                if index == 0 and len(missing) > 1:
                    told.show(partial(store))
            computed = time.perf_counter() - started
        finally:
            store.close()
        told.say("leaderboard and figures")
        results = _results(directory, make_report(directory).frames)
    seconds = {
        "total": time.perf_counter() - started,
        "until_last_block": computed,
        "blocks_all_workers": busy,
    }
    _write_facts(directory, plan, prepared, len(missing), workers, seconds)
    return results


def _folder(suite: str, dataset: str | None) -> str:
    """Name the folder of a run: data sets other than the suite's get one of their own."""
    return suite if dataset is None else f"{suite}-{re.sub(r'[^A-Za-z0-9._=-]+', '-', dataset)}"


def _check_folder(store: Store, directory: Path, plan: Plan, prepared: Prepared) -> None:
    """Refuse a folder with the results of another suite or data set."""
    if not store.planned():
        return
    held = store.record()
    if (held.name, held.dataset) != (plan.suite.name, str(prepared.dataset)):
        raise StoreError(
            f"{directory} holds suite {held.name!r} on {held.dataset}; give another folder with --out, or remove it"
        )


def _missing(store: Store, tasks: Sequence[BlockTask]) -> list[BlockTask]:
    """Return the tasks with the cells that have no answer yet."""
    known = store.known(cell for task in tasks for cell in task.cells)
    left = [
        replace(task, cells={cell: spec for cell, spec in task.cells.items() if cell not in known}) for task in tasks
    ]
    return [task for task in left if task.cells]


def report(directory: Path | str) -> Results:
    """Make leaderboard and figures again, from the stored rows alone.

    Raises
    ------
    StoreError
        The folder holds no results of a run.
    """
    return _results(Path(directory), make_report(directory).frames)


def _results(directory: Path, found: dict[str, pl.DataFrame]) -> Results:
    import polars as pl

    failed = found["rows"].filter(pl.col("status").is_in(sorted(FAILURES)))
    reasons = failed.unique("cell").group_by("reason").len().sort("reason")
    return Results(directory, found["leaderboard"], found["rows"], found["claims"], dict(reasons.iter_rows()))


def _record(plan: Plan, prepared: Prepared) -> dict[str, Any]:
    """Return what the journal keeps about the suite, see `SuiteRecord`."""
    from rankbench.losses.base import Loss
    from rankbench.plugin.manager import get

    suite = plan.suite
    losses = [get("loss", text) for experiment in suite.experiments for text in experiment.losses]
    return {
        "name": suite.name,
        "title": suite.title,
        "seed": suite.seed,
        "dataset": str(prepared.dataset),
        "simulated": prepared.dataset.simulated,
        "fingerprint": prepared.fingerprint,
        "queries": {"design": len(prepared.design), "heldout": len(prepared.heldout)},
        "query_ids": {"design": prepared.design.ids, "heldout": prepared.heldout.ids},
        "experiments": [_canonical(experiment) for experiment in suite.experiments],
        "assumptions": prepared.dataset.assumptions(),
        "notes": list(prepared.notes),
        "transforms": list(suite.transforms),
        "directions": {str(loss): loss.direction for loss in losses if isinstance(loss, Loss)},
        "versions": {name: version(name) for name in LIBRARIES},
        "cpu": cpu_class(),
        "blas": blas_cores(),
        "code_digest": code_digest(),
    }


def _canonical(experiment: Experiment) -> dict[str, Any]:
    """Return an experiment with its losses as cells name them."""
    from rankbench.plugin.manager import get

    losses = [str(get("loss", text)) for text in experiment.losses]
    return experiment.model_dump(mode="json") | {"losses": losses}


def _write_facts(
    directory: Path, plan: Plan, prepared: Prepared, computed: int, workers: int, seconds: dict[str, float]
) -> None:
    """Write ``run.json``: what ran, on what, with what, and how long it took."""
    record = _record(plan, prepared)
    kept = ("dataset", "simulated", "notes", "transforms", "versions", "cpu", "blas", "code_digest", "seed")
    facts = {
        "suite": plan.suite.name,
        **{key: record[key] for key in kept},
        "dataset_sha256": prepared.fingerprint,
        "queries": record["queries"],
        "repetitions": {e.name: e.repetitions for e in plan.suite.experiments},
        "n": {e.name: [prepared.scaled(n) for n in e.n] for e in plan.suite.experiments},
        "blocks": {"computed": computed, "reused": len(plan.tasks) - computed},
        "workers": workers,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
    }
    text = json.dumps(facts, indent=2, sort_keys=True) + "\n"
    try:
        replace_file(directory / "run.json", text.encode())
    except OSError as error:
        raise StoreError(f"{directory}: cannot write run.json ({error}); the results are complete") from error
