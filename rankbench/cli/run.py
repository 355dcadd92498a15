"""``rankbench run``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from rankbench.cli.completion import complete_names
from rankbench.cli.log_options import log_options, with_log
from rankbench.cli.output import json_option, print_json, standard_output

__all__ = ["run"]


@click.command()
@click.option(
    "--suite",
    show_default="paper",
    shell_complete=complete_names("suite", files=True),
    help="A suite by name, or a TOML file.",
)
@log_options
@click.option(
    "--dataset",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_names("dataset"),
    help="Another data set than the suite's, NAME or NAME:param=value,...; for every experiment that takes it.",
)
@click.option(
    "--reps",
    type=click.IntRange(min=1),
    help="At most so many repetitions, others in proportion (folds by time keep their five).",
)
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes; default: one for each processor.")
@click.option("--executor", type=click.Choice(["local", "dask"]), default="local", show_default=True)
@click.option("--address", default="", help="Of a Dask scheduler, as tcp://10.0.0.1:8786.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds after which a block is given up.")
@click.option(
    "--with",
    "extra",
    multiple=True,
    metavar="CONTENDER",
    shell_complete=complete_names("method", "aggregator"),
    help="Add a contender; or, as in surrogate=NAME, a component in the place of the built-in ones, wherever it fits.",
)
@click.option("--strict", is_flag=True, help="A contender that was skipped is an error: exit with 1.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder; default: runs/SUITE.")
@click.option("--verbose", "-v", is_flag=True, help="Show the traceback of what a contender raised.")
@json_option
def run(
    suite: str | None,
    log: str | None,
    columns: str,
    control: str,
    reader: str,
    time_unit: str | None,
    dataset: tuple[str, ...],
    reps: int | None,
    workers: int | None,
    executor: Literal["local", "dask"],
    address: str,
    timeout: float | None,
    extra: tuple[str, ...],
    strict: bool,
    out: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Run a suite: every contender on the same judgments.

    Ends in DIR/leaderboard.md, leaderboard.csv, figures, results.parquet and run.json. An
    interrupted run goes on where it stopped. What was skipped, diverged, failed or left out
    of a figure is said at the end, on standard error, where a line every half minute tells how
    far it is if that is no terminal. Exits with 1 if a contender failed,
    with --strict also if one was skipped.
    """
    from rich.console import Console

    from rankbench import api
    from rankbench.cli.terminal_notices import print_notices
    from rankbench.reports.run_results import run_record
    from rankbench.reports.summary import run_summary
    from rankbench.runner.progress import ConsoleProgress
    from rankbench.runtime import available_cores

    console = Console(stderr=True)
    chosen, data, more = with_log(suite, dataset, log, columns, reader, control)
    results = api.run(
        chosen,
        dataset=data,
        reps=reps,
        workers=workers or available_cores(),
        timeout=timeout,
        executor=executor,
        address=address,
        extra=(*extra, *more),
        time_unit=time_unit,
        out=out,
        progress=ConsoleProgress(console),
    )
    code = 1 if results.failures or (strict and results.skipped) else 0
    if as_json:
        print_json(run_record(results) | {"exit_code": code})
    else:
        summary = run_summary(results.directory, results.claims, results.recommendation, results.headline)
        Console(file=standard_output()).print(summary)
        print_notices(console, results.notices, verbose=verbose)
    sys.exit(code)
