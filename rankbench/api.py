"""The Python interface to runs and reports; the command line is a thin shell over it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rankbench.core.code_digest import OURSELVES, code_digest, edited_file
from rankbench.core.runtime import settle_runtime
from rankbench.core.system import write_facts
from rankbench.errors import ExecutorError, SpecError, option
from rankbench.interfaces.cell import BlockResult
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import BlockTask
from rankbench.interfaces.suite import EVERYTHING, Suite
from rankbench.ranking.times import CalendarUnit
from rankbench.reports.rerun import rerun as compute_again
from rankbench.reports.results import PaperFiles, Results
from rankbench.reports.results import report as make_report
from rankbench.reports.verify import Verification, verify_files
from rankbench.runner.executors import run_in_pool, run_on_cluster
from rankbench.runner.experiment_check import check_suite
from rankbench.runner.plan import Planned, make_plan
from rankbench.runner.prepare import in_time_units, prepare_sources, source_names, with_parameters
from rankbench.runner.progress import Progress
from rankbench.runner.question import DEFAULTS, RunQuestion
from rankbench.runner.run_record import check_folder, check_room, default_folder, of_other_code, run_facts, suite_record
from rankbench.store.store import Store
from rankbench.suites.suite_files import load_suite
from rankbench.systems.score_ranking import rank_scores as rank

__all__ = ["Results", "planned", "rank", "report", "run", "verify"]


DatasetChoice: TypeAlias = "str | Dataset | Sequence[str | Dataset]"


def planned(suite: str, question: RunQuestion = DEFAULTS) -> Planned:
    """Load a suite and its data and plan it, without running anything.

    Raises
    ------
    SpecError
        Unknown names, parameters or keys.
    InputError
        The data cannot be had or read.
    """
    whole, part, data = load_suite(suite), question.part, question.datasets
    loaded = part.of_suite(whole)
    if question.reps is not None:
        loaded = _limited(loaded, question.reps)
    if question.parameters:
        loaded = with_parameters(loaded, question.parameters)
    by_unit: list[str] = []
    if question.time_unit is not None:
        loaded, by_unit = in_time_units(loaded, question.time_unit)
    check_suite(loaded, own_data=not data)
    found = prepare_sources(loaded, data)
    if by_unit and not found.source_index.keys() & set(by_unit):
        raise SpecError(f"{option('time_unit', question.time_unit)}: {found.left_out[by_unit[0]]}")
    kept = [experiment for experiment in loaded.experiments if experiment.name in found.source_index]
    if not kept:
        why = next(iter(found.left_out.values()))
        raise SpecError(f"the data allow no experiment of suite {loaded.name!r}: {why}")
    loaded = loaded.model_copy(update={"experiments": tuple(kept)})
    plan = make_plan(loaded, found.sources, found.source_index, code_digest(), question.extra, part)
    index = {experiment.name: found.source_index[experiment.name] for experiment in plan.suite.experiments}
    rest = tuple(experiment for experiment in whole.experiments if experiment.name not in index)
    others = source_names(whole.model_copy(update={"experiments": rest}), data) if part != EVERYTHING else {}
    return Planned(found.sources, index, found.left_out, plan, others)


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
    workers: int | None = 1,
    timeout: float | None = None,
    executor: Literal["local", "dask"] = "local",
    address: str = "",
    extra: Sequence[str] = (),
    time_unit: CalendarUnit | None = None,
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
    suite : str
        Name of a registered suite, or a path to a TOML file.
    dataset : str, Dataset, or sequence of them
        Other data sets than the suite's, in the contender grammar or as they are: each
        replaces that of every experiment whose protocol takes it.
    reps : int, optional
        At most so many repetitions: the longest experiment gets them, the others keep
        their proportion to it. Folds by time, whose number is fixed, stay as they are.
    workers : int, optional
        Worker processes; 1 runs built-in contenders in this one. Contenders of plugins run in
        worker processes, whatever the number. None: one for each processor.
    timeout : float, optional
        Seconds that a block may take; an hour by default. A contender that hangs becomes a row that says so. With a
        timeout all blocks run in workers, except blocks of a population that no plugin registers.
    executor : {"local", "dask"}
        ``dask``: blocks run on the workers of the Dask cluster whose scheduler is at
        `address`, to the same bytes; `workers` then means nothing.
    address : str
        As in ``tcp://10.0.0.1:8786``.
    extra : sequence of str
        Additions wherever they fit: a contender, or ``kind=component``, as in
        ``surrogate=mine``, which stands in the place of the built-in ones.
    time_unit : CalendarUnit, optional
        Judgments of one such unit go together, as ``day``, in experiments that go by time.
    parameters : str
        Parameters of protocols in place of the suite's, as ``design=50,heldout=200``, in every experiment whose
        protocol has them.
    only : sequence of str
        Patterns of what is computed, ``EXPERIMENT`` or ``EXPERIMENT/CONTENDER``; ``*`` stands for anything. By default
        everything. Results are those of the whole suite, to the byte.
    n : sequence of int
        Numbers of judgments, as the suite writes them, that are computed; by default all.
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
    SpecError
        Unknown names, parameters or keys.
    InputError
        The data cannot be had or read.
    ExecutorError
        The cluster cannot be used, or the code of rankbench or of a plugin in the suite changed during the run.
    StoreError
        The folder is in use by another run, or holds a run of another suite, of other data, or
        of data that have changed since.
    """
    asked = dict(locals())
    suite, out, progress = (asked.pop(name) for name in ("suite", "out", "progress"))
    return run_suite(suite, RunQuestion.from_options(**asked), out, progress)


def run_suite(
    suite: str, question: RunQuestion, out: Path | str | None = None, progress: Progress | None = None
) -> Results:
    """Run a suite as a question asks: see `run`."""
    settle_runtime()
    told, started = progress or Progress(), time.perf_counter()
    with told:
        made = planned(suite, question)
        directory = Path(out) if out is not None else default_folder(made, question.datasets)
        record, blocks, busy = _run(made, question, directory, told)
        computed = time.perf_counter() - started
        told.say("leaderboard and figures")
        results = make_report(directory)
    seconds = {
        "total": time.perf_counter() - started,
        "until_last_block": computed,
        "blocks_all_workers": busy,
    }
    write_facts(directory, run_facts(made, record, blocks, question.processes, seconds))
    return results


def _run(made: Planned, question: RunQuestion, directory: Path, told: Progress) -> tuple[dict[str, Any], int, float]:
    """Compute and store blocks without a result; return the record, their number, and their total seconds."""
    with closing(Store(directory)) as store:
        check_folder(store, made)
        record = suite_record(made)
        if warning := of_other_code(store, record):
            told.warn(warning)
        missing = _missing(store, made.plan.tasks)
        if missing:
            _check_code(made.plan.plugins)
        check_room(made, missing, directory, question.processes)
        store.begin(record, made.plan.members)
        told.start(missing, len(made.plan.tasks) - len(missing))
        missing = [replace(task, advance=told.advance) for task in missing]
        busy = 0.0
        for block in _computed(made, missing, question):
            _check_code(made.plan.plugins)
            store.commit(block)
            busy += block.seconds
            told.done(block)
        return record, len(missing), busy


def _computed(made: Planned, tasks: Sequence[BlockTask], question: RunQuestion) -> Iterable[BlockResult]:
    """Yield task results from the local machine or a Dask cluster."""
    if tasks and question.address:
        return run_on_cluster(made.sources, tasks, question.address, question.limit)
    pooled = question.timeout is not None or (question.processes > 1 and len(tasks) > 1)
    return run_in_pool(made.sources, tasks, min(question.processes, len(tasks)) if pooled else 0, question.limit)


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
    title: str = "",
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
    title : str
        Of the published page; that of the suite by default.

    Raises
    ------
    StoreError
        The folder holds no results of a run, or TREC runs cannot be made of them.
    """
    return make_report(directory, out, PaperFiles(latex, figures, bib, trec), title)


def verify(
    directory: Path | str,
    *,
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
    found = verify_files(Path(directory))
    if rerun == 0 or not found.shown:
        return found
    drawn = secrets.randbelow(2**32) if seed is None else seed
    again = compute_again(Path(directory), rerun, drawn, workers=workers, progress=progress)
    return Verification(found.differences + again.differences, found.shown + again.shown)
