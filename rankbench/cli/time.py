"""`rankbench time` times contenders, or two versions of rankbench, in turns."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankbench.cli.compare import (
    FORMATS,
    comparison_answer,
    comparison_options,
    comparison_parts,
    margin_from_text,
    show_annotations,
)
from rankbench.cli.output import complete_names, visible
from rankbench.cli.shown import Answer, Table, form_or_json, show

if TYPE_CHECKING:
    from rankbench.tracking.time import TimedSuite


_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@click.command()
@click.argument("suite", shell_complete=complete_names("suite", files=True))
@click.option(
    "--against",
    default="",
    metavar="PYTHON|VERSION|GIT-REF",
    help="The other version: a Python that has one, a released one, or a commit of this checkout.",
)
@click.option("--rounds", type=click.IntRange(min=1), help="At most so many rounds.")
@click.option("--budget", metavar="10m", help="Time at most, as 90s, 10m or 1h; default: 10m, or none with --rounds.")
@click.option(
    "--precision",
    type=click.FloatRange(min=0, min_open=True),
    default=0.02,
    show_default=True,
    help="Enough once every interval is at most so much above and below its ratio.",
)
@click.option(
    "--dataset",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_names("dataset"),
    help="Another data set than the suite's, as of run.",
)
@click.option(
    "--with",
    "extra",
    multiple=True,
    metavar="CONTENDER",
    shell_complete=complete_names("method", "aggregator"),
    help="Add a contender, or, as in surrogate=NAME, a component in the place of the built-in ones, as of run.",
)
@click.option("--only", multiple=True, metavar="EXPERIMENT[/CONTENDER]", help="Time only this; * stands for anything.")
@click.option("--n", type=click.IntRange(min=1), multiple=True, help="Which n; default: each experiment's smallest.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the order of turns; default: a new one, which is kept.")
@comparison_options
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder; default: runs/SUITE-timings.")
def time(
    suite: str,
    against: str,
    rounds: int | None,
    budget: str | None,
    precision: float,
    dataset: tuple[str, ...],
    extra: tuple[str, ...],
    only: tuple[str, ...],
    n: tuple[int, ...],
    seed: int | None,
    worse_by: str | None,
    alpha: float,
    form: FORMATS | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Time contenders in turns, of one version or of two.

    SUITE is a name or a file. With --against its contenders are timed in another version too, and what is slower
    is said as by `rankbench compare`. One process computes at a time, on one thread; the first call, which compiles,
    is not counted. Exits with 0 where nothing is slower, 1 where something is, 2 where the input cannot be used, 3
    where nothing could be timed.
    """
    from rankbench.runner.progress import Heartbeat
    from rankbench.tracking.time import time_suite

    shown: FORMATS = form_or_json(form, as_json, "table")
    doing = [f"timing {suite}"]

    def say(text: str) -> None:
        doing[:] = [text]
        click.echo(visible(text), err=True)

    with Heartbeat(lambda line: click.echo(visible(line), err=True), lambda: doing[0]):
        timed = time_suite(
            suite,
            against=against,
            rounds=rounds,
            budget=_seconds(budget),
            precision=precision,
            dataset=dataset,
            extra=extra,
            only=only,
            n=n,
            seed=seed,
            margin=margin_from_text(worse_by),
            alpha=alpha,
            out=out,
            say=say,
        )
    if shown != "github":
        show(_answer(timed), shown)
    elif timed.comparison is None:
        show(_answer(timed))
    else:
        show_annotations(timed.comparison)
    sys.exit(timed.exit_code)


def _answer(timed: TimedSuite) -> Answer:
    from rankbench.tracking.time import TIME_COLUMNS, timed_json, timed_markdown

    parts = [Table(TIME_COLUMNS, [row.cells() for row in timed.rows])]
    if timed.comparison is None:
        return Answer(timed_json(timed), [*parts, *timed.notes, timed.sentence()], page=timed_markdown(timed))
    # The comparison has the notes.
    compared = comparison_parts(timed.comparison)
    return replace(comparison_answer(timed.comparison), parts=[*parts, timed.sentence(), "", *compared])


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not found or not float(found[1]):
        raise click.BadParameter(f"{text!r} is no time, as 90s, 10m or 1h", param_hint="--budget")
    return float(found[1]) * _UNITS[found[2]]
