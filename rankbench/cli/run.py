"""`rankbench run` computes a suite or shows its plan, `report` makes its pages again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import click
import polars as pl
from rich.console import Console

from rankbench import api
from rankbench.cli.forms import title_option
from rankbench.cli.help import FILTER, READING, SectionedCommand
from rankbench.cli.output import complete_names, heartbeat
from rankbench.cli.question_options import no_empty_text, question_options
from rankbench.cli.shown import Answer, Table, answering
from rankbench.core.question import DifferentNames, Offered
from rankbench.core.spec import Spec
from rankbench.core.text import count_text, duration_text
from rankbench.data.tables.covariates import parse_predictions
from rankbench.errors import OptionError
from rankbench.interfaces.cell import Split
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.reading import with_told
from rankbench.logs.open import own_log, suite_of
from rankbench.logs.question import LogQuestion, ReadingQuestion, RowsQuestion
from rankbench.reports.results import PaperFiles, Results, run_record, run_summary
from rankbench.reports.results import report as write
from rankbench.runner.estimate import PATIENCE, Estimate, estimate
from rankbench.runner.plan import Planned
from rankbench.runner.progress import ConsoleProgress
from rankbench.runner.question import RunQuestion

_WITH_AND_WITHOUT = ("bradley-terry", "bradley-terry:control=true")
"""Contenders of a log with covariates: the same penalty, so that they differ by the covariates alone."""

_MB, _GB = 1e6, 1e9


class LogRunQuestion(RunQuestion, LogQuestion):
    """Options of `rankbench run`: the run, and how a log of one's own is read."""

    control: Annotated[str, Offered(metavar="TERM,..")] = ""
    """Covariates of the log that may help to predict, as 'side:unless=neutral, log(length)'."""

    predictions: Annotated[DifferentNames, Offered(metavar="COLUMN[:of=ITEM]")] = ()
    """Column of the log with chances that compete, as elo_prob1 or prob:of=home_team; repeatable."""


@click.command(
    cls=SectionedCommand,
    sections={
        "Which judgments": f"suite log {READING} {FILTER} predictions control time_unit dataset",
        "Which contenders": "extra only",
        "How many": "n reps parameters workers timeout",
        "How shown": "dry_run strict out verbose as_json",
    },
)
@click.option(
    "--suite",
    show_default="paper",
    shell_complete=complete_names("suite", files=True),
    callback=no_empty_text,
    help="A suite by name, or a TOML file.",
)
@click.option(
    "--log",
    metavar="FILE|NAME",
    shell_complete=complete_names("dataset", files=True),
    help="Your own votes, ballots or clicks: a file, a folder of shards or a data set. Suite own-log or own-clicks "
    "judges contenders by held-out ones.",
)
@question_options(ReadingQuestion, RowsQuestion, LogQuestion, LogRunQuestion, RunQuestion)
@click.option("--strict", is_flag=True, help="A contender that was skipped is an error: exit with 1.")
@click.option("--dry-run", is_flag=True, help="Show blocks, contenders, time and memory of the run, and run nothing.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder; default: runs/SUITE.")
@click.option("--verbose", "-v", is_flag=True, help="Show the traceback of what a contender raised.")
@answering
def run(
    suite: str | None, log: str | None, strict: bool, dry_run: bool, out: Path | None, verbose: bool, **options: Any
) -> Answer:
    """Run a suite: every contender on the same judgments.

    The folder gets leaderboard.html, leaderboard.md, leaderboard.csv, figures, results.parquet and run.json. An
    interrupted run continues where it stopped. Standard error lists contenders that were skipped, diverged,
    failed or left out of a figure. If it is no terminal, it has a line on the progress every half minute.
    Exits with 1 if a contender failed, with --strict also if one was skipped.
    """
    asked = question = LogRunQuestion.from_options(**options)
    if log is not None:
        own, extra = _own_log(log, asked)
        suite = suite or suite_of(own)
        question = asked.model_copy(update={"dataset": (*asked.dataset, own), "extra": (*asked.extra, *extra)})
    elif given := asked.given("control", "predictions", *LogQuestion.model_fields):
        raise OptionError(given[0], "says how to read a log", needs="log=FILE")
    if dry_run:
        return replace(_plan(api.planned(suite or "paper", question), question.processes), question=asked)
    results = api.run_suite(suite or "paper", question, out, ConsoleProgress(Console(stderr=True)))
    code = 1 if results.failures or (strict and results.skipped) else 0
    record = run_record(results) | {"exit_code": code}
    notices = [one for one in results.notices if one.kind != "smaller"]  # the summary has these
    answer = Answer(record, tables=[run_summary(results)], exit_code=code, notices=notices, verbose=verbose)
    return replace(answer, question=asked, next=_next(results))


def _next(results: Results) -> list[str]:
    """Return what to do after a run: see why contenders failed, repeat it more often, verify or publish it."""
    if results.failures:
        return ["--verbose"]
    few, folder = results.headline.repetitions, str(results.directory)
    commands = (["verify", folder], ["report", folder, "--out", "published"])
    return [*([f"--reps {few['needed']}"] if few else []), *(shlex.join(["rankbench", *one]) for one in commands)]


def _own_log(log: str, asked: LogRunQuestion) -> tuple[Dataset, Sequence[str]]:
    """Return a user's log as a data set, and the contenders that its covariates and predictions add."""
    columns, named = with_told(asked.told, "control", asked.control), ", ".join(asked.predictions)
    extra = [*_WITH_AND_WITHOUT] * bool(asked.control)
    if named:
        columns = with_told(columns, "predictions", named)
        extra += [str(Spec("predictions", {"column": one.column})) for one in parse_predictions(named)]
    return own_log(log, columns=columns, reader=asked.reader, keep=asked.keep), extra


def _plan(made: Planned, workers: int) -> Answer:
    """Return the plan of a run; small blocks, computed by a worker process in some seconds, give time and memory."""
    cost = estimate(made, workers)
    contenders = _contenders(made)
    record: dict[str, Any] = {
        "suite": made.plan.suite.name,
        "sources": [
            {
                "experiments": _experiments(made, index),
                "protocol": str(source.protocol),
                "dataset": str(source.dataset) if source.dataset else "",
                "units": {split: len(names) for split, names in source.units.items()},
                "notes": list(source.notes),
            }
            for index, source in enumerate(made.sources)
        ],
        "left_out": made.left_out,
        "blocks": len(made.plan.tasks),
        "cells": sum(len(task.cells) for task in made.plan.tasks),
        "contenders": contenders.to_dicts(),
        "seconds": {name: round(getattr(cost, name), 1) for name in ("low", "seconds", "high")},
        "memory": {name: getattr(cost, name) for name in ("data", "worker", "program", "all")}
        | {"workers": cost.workers},
        "unknown": cost.unknown,
    }
    blocks = f"{count_text(record['blocks'], 'block')}, {count_text(record['cells'], 'cell')}"
    said = f"The run has {blocks}."
    if cost.seconds > 0:
        ends = f"from {duration_text(cost.low)} to {duration_text(cost.high)}, by small blocks"
        said = f"The run takes about {duration_text(cost.seconds)} ({ends}) of one processor: {blocks}."
    return Answer(record, said, _parts(made, contenders, cost))


def _experiments(made: Planned, source: int) -> list[str]:
    return [name for name, of in made.source_index.items() if of == source]


def _contenders(made: Planned) -> pl.DataFrame:
    """Return a row for each contender at each n."""
    names = ("experiment", "n", "label", "spec")
    types = dict(zip(names, (pl.String, pl.Int64, pl.String, pl.String), strict=True))
    frame = pl.DataFrame([(m.experiment, m.n, m.label, m.spec) for m in made.plan.members], types, orient="row")
    return frame.group_by(names, maintain_order=True).agg(pl.len().alias("repetitions"))


def _parts(made: Planned, contenders: pl.DataFrame, cost: Estimate) -> Iterator[Table | str]:
    rows = contenders.group_by("experiment", "label", "spec", "repetitions", maintain_order=True).agg(pl.col("n"))
    cells = []
    for row in rows.iter_rows(named=True):
        ns = " ".join(f"{n:,}" for n in row["n"])
        cells.append([row["experiment"], row["label"], str(row["repetitions"]), ns, row["spec"]])
    yield Table(["experiment", "contender", "repetitions", "n", "spec"], cells)
    said = set[str]()
    for index, source in enumerate(made.sources):
        what = f"{', '.join(_experiments(made, index))}: {source.dataset or source.protocol}"
        sizes = [
            f"{len(names)} {source.splits[split].partition(' (')[0].lower()}"
            for split, names in source.units.items()
            if source.test_share is None
        ]
        yield ", ".join([what, *sizes])
        yield from (f"  {note}" for note in source.notes if note not in said)
        said.update(source.notes)
    yield from (text for text in made.plan.smaller if text not in said)
    yield from (f"rankbench leaves out {name}: {why}" for name, why in made.left_out.items())
    if cost.unknown:
        yield (
            f"rankbench does not know the time of {count_text(cost.unknown, 'block')}: their contenders failed, or a "
            f"small part took more than {PATIENCE:g} s"
        )
    worker = f", and {cost.worker / _MB:,.0f} MB for each worker" if cost.worker else ""
    yield (
        f"memory about {cost.all / _GB:.2g} GB with {count_text(cost.workers, 'worker')}: {cost.program / _MB:,.0f} MB "
        f"for the program, {cost.data / _MB:,.0f} MB of data{worker}"
    )


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Publish into this folder, with rows.")
@click.option("--latex", type=click.Path(file_okay=False), help="Write tables for LaTeX (booktabs) into this folder.")
@click.option("--figures", type=click.Path(file_okay=False), help="Write figures as PDF and SVG into this folder.")
@click.option(
    "--bib", type=click.Path(dir_okay=False), help="Write BibTeX of the data and of cited works to this file."
)
@click.option("--trec", type=click.Path(file_okay=False), help="Write scores of items as TREC runs into this folder.")
@click.option("--split", type=click.Choice(["held-out", "design"]), help="With --latex: tables of these units alone.")
@title_option
@click.option("--verbose", "-v", is_flag=True, help="Show the traceback of what a contender raised.")
@answering
def report(
    directory: Path, out: Path | None, verbose: bool, title: str, split: str | None, **paper: str | None
) -> Answer:
    """Make leaderboards and figures again from stored rows, and publish them.

    Everything comes from the journal of the run in DIRECTORY, which may still be going on, or from the rows of a
    published folder. The same rows give the same bytes. Only --trec fits contenders again, those of one repetition, and
    compares their losses with the rows. Standard error lists contenders that were skipped, diverged, failed or left out
    of a figure.
    """
    chosen: Split | None = "heldout" if split == "held-out" else "design" if split else None
    with heartbeat(f"report of {directory}"):
        made = write(directory, out, PaperFiles(**paper, split=chosen), title)
    files, notices = list(map(str, made.paths)), [one._asdict() for one in made.notices]
    record = {"files": files, **made.headline.as_dict(), "notices": notices}
    check = [shlex.join(["rankbench", "verify", str(out)])] if out is not None else []
    return Answer(record, tables=files, next=check, notices=made.notices, verbose=verbose)
