"""The Python interface to runs and reports; the command line is a thin shell over it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from rankbench.core.code_digest import OURSELVES, code_digest, edited_file
from rankbench.core.runtime import settle_runtime
from rankbench.core.system import write_facts
from rankbench.errors import ExecutorError, SpecError, option
from rankbench.interfaces.cell import BlockResult
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import BlockTask
from rankbench.interfaces.suite import Suite, SuitePart
from rankbench.reports.document import terminal_of
from rankbench.reports.headline import partial
from rankbench.reports.rerun import rerun as compute_again
from rankbench.reports.results import PaperFiles, Results
from rankbench.reports.results import report as make_report
from rankbench.reports.verify import Verification, verify_files
from rankbench.runner.executors import LIMIT, run_in_pool, run_on_cluster
from rankbench.runner.experiment_check import check_suite
from rankbench.runner.plan import Planned, make_plan
from rankbench.runner.prepare import dataset_of, in_time_units, prepare_sources, source_names, with_parameters
from rankbench.runner.progress import Progress
from rankbench.runner.run_record import check_folder, check_room, default_folder, of_other_code, run_facts, suite_record
from rankbench.store.store import Store
from rankbench.suites.suite_files import load_suite
from rankbench.systems.score_ranking import rank_scores as rank

__all__ = ["Results", "planned", "rank", "report", "run", "verify"]


DatasetChoice: TypeAlias = "str | Dataset | Sequence[str | Dataset]"


def planned(
    suite: str,
    *,
    dataset: DatasetChoice = (),
    reps: int | None = None,
    extra: Sequence[str] = (),
    time_unit: str | None = None,
    parameters: str = "",
    only: Sequence[str] = (),
    n: Sequence[int] = (),
) -> Planned:
    """Load a suite and its data and plan it, without running anything.

    Parameters
    ----------
    suite : str
        Name of a registered suite, or a path to a TOML file.
    dataset : str, Dataset, or sequence of them
        Other data sets than the suite's, in the contender grammar or as they are: each
        replaces that of every experiment whose protocol takes it.
    reps : int, optional
        At most so many repetitions: the longest experiment gets them, the others keep
        their proportion to it. Folds by time, whose number is fixed, stay as they are.
    extra : sequence of str
        Additions wherever they fit: a contender, or ``kind=component``, as in
        ``surrogate=mine``, which stands in the place of the built-in ones.
    time_unit : str, optional
        Judgments of one such unit go together, as ``day``, in experiments that go by time.
    parameters : str
        Parameters of protocols in place of the suite's, as ``design=50,heldout=200``, in every experiment whose
        protocol has them.
    only : sequence of str
        Patterns of what is computed, ``EXPERIMENT`` or ``EXPERIMENT/CONTENDER``; ``*`` stands for anything. By default
        everything. Results are those of the whole suite, to the byte.
    n : sequence of int
        Numbers of judgments, as the suite writes them, that are computed; by default all.

    Raises
    ------
    SpecError
        Unknown names, parameters or keys.
    InputError
        The data cannot be had or read.
    """
    whole, part = load_suite(suite), SuitePart(tuple(only), tuple(n))
    loaded = part.of_suite(whole)
    if reps is not None:
        if reps < 1:
            raise SpecError(f"reps must be 1 or more, not {reps}")
        loaded = _limited(loaded, reps)
    if parameters:
        loaded = with_parameters(loaded, parameters)
    by_unit: list[str] = []
    if time_unit is not None:
        loaded, by_unit = in_time_units(loaded, time_unit)
    data = _several(dataset)
    check_suite(loaded, own_data=not data)
    found = prepare_sources(loaded, data)
    if by_unit and not found.source_index.keys() & set(by_unit):
        raise SpecError(f"{option('time_unit', time_unit)}: {found.left_out[by_unit[0]]}")
    kept = [experiment for experiment in loaded.experiments if experiment.name in found.source_index]
    if not kept:
        why = next(iter(found.left_out.values()))
        raise SpecError(f"the data allow no experiment of suite {loaded.name!r}: {why}")
    loaded = loaded.model_copy(update={"experiments": tuple(kept)})
    plan = make_plan(loaded, found.sources, found.source_index, code_digest(), extra, part)
    index = {experiment.name: found.source_index[experiment.name] for experiment in plan.suite.experiments}
    rest = tuple(experiment for experiment in whole.experiments if experiment.name not in index)
    others = source_names(whole.model_copy(update={"experiments": rest}), data) if only or n else {}
    return Planned(found.sources, index, found.left_out, plan, others)


def _several(dataset: DatasetChoice) -> list[Dataset]:
    chosen = [dataset] if isinstance(dataset, str | Dataset) else dataset
    return [dataset_of(each) if isinstance(each, str) else each for each in chosen]


def _limited(suite: Suite, reps: int) -> Suite:
    longest = max(e.repetitions for e in suite.experiments)
    if reps >= longest:
        return suite
    # Two at least, where two were asked for: one repetition says nothing about draws.
    shares = {e.name: max(min(2, reps), round(e.repetitions * reps / longest)) for e in suite.experiments}
    fewer = tuple(
        e.model_copy(update={"repetitions": min(e.repetitions, reps, shares[e.name])}) for e in suite.experiments
    )
    return suite.model_copy(update={"experiments": fewer})


def run(
    suite: str = "paper",
    *,
    dataset: DatasetChoice = (),
    reps: int | None = None,
    workers: int = 1,
    timeout: float | None = None,
    executor: Literal["local", "dask"] = "local",
    address: str = "",
    extra: Sequence[str] = (),
    time_unit: str | None = None,
    parameters: str = "",
    only: Sequence[str] = (),
    n: Sequence[int] = (),
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run a suite: every contender on exactly the same judgments, ending in a leaderboard.

    A run that was interrupted goes on where it stopped, and a run that is done already
    is only reported again, to the same bytes.

    Parameters
    ----------
    suite, dataset, reps, extra, time_unit, parameters, only, n
        See `planned`.
    workers : int
        Worker processes; 1 runs built-in contenders in this one. Contenders of plugins run in
        worker processes, whatever the number.
    timeout : float, optional
        Seconds that a block may take; an hour by default. A contender that hangs becomes a row that says so. With a
        timeout all blocks run in workers, except blocks of a population that no plugin registers.
    executor : {"local", "dask"}
        ``dask``: blocks run on the workers of the Dask cluster whose scheduler is at
        `address`, to the same bytes; `workers` then means nothing.
    address : str
        As in ``tcp://10.0.0.1:8786``.
    out : path, optional
        Folder for the results. Default: ``runs/SUITE``, or ``runs/SUITE-DATASET`` with other data than the suite's. If
        ``runs/SUITE-DATASET`` holds other results, the first 8 digits of the data's sha256 follow. A folder belongs to
        one suite and one content of its data; its leaderboard shows what the last run asked for.
    progress : Progress, optional
        Told how the run goes.

    Returns
    -------
    Results

    Raises
    ------
    SpecError, InputError
        See `planned`.
    ExecutorError
        The cluster cannot be used, or the code of rankbench or of a plugin in the suite changed during the run.
    StoreError
        The folder is in use by another run, or holds a run of another suite, of other data, or
        of data that have changed since.
    """
    if (executor == "dask") != bool(address):
        raise SpecError("the executor dask and the address of its scheduler go together")
    if workers < 1:
        raise SpecError(f"workers must be 1 or more, not {workers}")
    if timeout is not None and not timeout > 0:
        raise SpecError(f"a timeout is a number of seconds above 0, not {timeout}")
    settle_runtime()
    told = progress or Progress()
    started = time.perf_counter()
    with told:
        data = _several(dataset)
        made = planned(
            suite,
            dataset=data,
            reps=reps,
            extra=extra,
            time_unit=time_unit,
            parameters=parameters,
            only=only,
            n=n,
        )
        directory = Path(out) if out is not None else default_folder(made, data)
        with closing(Store(directory)) as store:
            check_folder(store, made)
            record = suite_record(made)
            if warning := of_other_code(store, record):
                told.warn(warning)
            missing = _missing(store, made.plan.tasks)
            if missing:
                _check_code(made.plan.plugins)
            check_room(made, missing, directory, workers)
            store.begin(record, made.plan.members)
            told.start(missing, len(made.plan.tasks) - len(missing))
            missing = [replace(task, advance=told.advance) for task in missing]
            blocks = _computed(made, missing, workers=workers, timeout=timeout, address=address)
            busy = _stored(store, made, blocks, told, first=len(missing) > 1)
            computed = time.perf_counter() - started
        told.say("leaderboard and figures")
        results = make_report(directory)
    seconds = {
        "total": time.perf_counter() - started,
        "until_last_block": computed,
        "blocks_all_workers": busy,
    }
    write_facts(directory, run_facts(made, record, len(missing), workers, seconds))
    return results


def _stored(store: Store, made: Planned, blocks: Iterable[BlockResult], told: Progress, *, first: bool) -> float:
    """Store blocks as they are computed, and show the `first`; return their total seconds."""
    busy = 0.0
    for index, block in enumerate(blocks):
        _check_code(made.plan.plugins)
        store.commit(block)
        busy += block.seconds
        told.done(block)
        if first and index == 0:
            told.show(terminal_of(partial(store)))
    return busy


def _computed(
    made: Planned, tasks: Sequence[BlockTask], *, workers: int, timeout: float | None, address: str
) -> Iterable[BlockResult]:
    """Yield task results from the local machine or a Dask cluster."""
    limit = LIMIT if timeout is None else timeout
    if tasks and address:
        return run_on_cluster(made.sources, tasks, address, limit)
    pooled = timeout is not None or (workers > 1 and len(tasks) > 1)
    return run_in_pool(made.sources, tasks, min(workers, len(tasks)) if pooled else 0, limit)


def _check_code(plugins: Sequence[str]) -> None:
    """Raise if the source changed after it was imported, as the code that ran is unknown then.

    Raises
    ------
    ExecutorError
        The message names the file and a remedy.
    """
    for name in (OURSELVES, *plugins):
        if (file := edited_file(name)) is not None:
            raise ExecutorError(
                f"the code of {name} changed after this process had loaded it ({file}). rankbench stored all earlier "
                "blocks, but not this one. Run the command again in a new process, and do not edit, install or "
                "remove code meanwhile"
            )


def _missing(store: Store, tasks: Sequence[BlockTask]) -> list[BlockTask]:
    """Return the tasks with the cells that have no answer yet."""
    known = store.known(cell for task in tasks for cell in task.cells)
    left = [replace(task, cells={cell: one for cell, one in task.cells.items() if cell not in known}) for task in tasks]
    return [task for task in left if task.cells]


def report(
    directory: Path | str,
    out: Path | str | None = None,
    *,
    latex: Path | str | None = None,
    figures: Path | str | None = None,
    bib: Path | str | None = None,
    trec: Path | str | None = None,
) -> Results:
    """Make leaderboard and figures again, from the stored rows alone.

    Parameters
    ----------
    directory : path
        A run's folder, or a published one.
    out : path, optional
        Publish it: the report, the rows that it is made from and the sha256 of every file go to this folder.
    latex, figures, bib, trec : path, optional
        Files for a paper, see `rankbench.reports.results.PaperFiles`: folders of tables, of figures, and of TREC runs;
        ``bib`` is a file.

    Raises
    ------
    StoreError
        The folder holds no results of a run, or TREC runs cannot be made of them.
    """
    return make_report(directory, out, PaperFiles(latex, figures, bib, trec))


def verify(
    directory: Path | str,
    *,
    rows: Path | str | None = None,
    rerun: int | None = 0,
    seed: int | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verification:
    """Check that a published folder follows from its rows, and that recomputed blocks equal the rows.

    Parameters
    ----------
    directory : path
        A published folder, or that of a run.
    rows : path, optional
        The published rows, if they are neither in the folder nor beside it.
    rerun : int or None
        So many blocks are computed again, drawn at random; None: all.
    seed : int, optional
        Of that draw; a new one by default, which the answer names.
    workers : int
        Worker processes.
    progress : Progress, optional

    Returns
    -------
    Verification
        All differences, and what was compared.

    Raises
    ------
    StoreError
        There are no rows.
    SpecError, InputError
        Blocks cannot be computed here: a contender or the data are missing.
    """
    folder, apart = Path(directory), None if rows is None else Path(rows)
    found = verify_files(folder, apart)
    if rerun == 0 or not found.shown:
        return found
    drawn = secrets.randbelow(2**32) if seed is None else seed
    again = compute_again(folder, rerun, drawn, rows=apart, workers=workers, progress=progress)
    return Verification(found.differences + again.differences, found.shown + again.shown)
