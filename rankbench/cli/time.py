"""`rankbench time` times contenders, or two versions of rankbench, in turns."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankbench.cli.compare import comparison_answer, comparison_options
from rankbench.cli.output import complete_names, heartbeat, visible
from rankbench.cli.run import dataset_option, with_option
from rankbench.cli.shown import Answer, Format, Part, Table, finish

if TYPE_CHECKING:
    from rankbench.tracking.time import TimedSuite


_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(ctx: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not found or not float(found[1]):
        raise click.BadParameter(f"{text!r} is no time, as 90s, 10m or 1h")
    return float(found[1]) * _UNITS[found[2]]


@click.command()
@click.argument("suite", shell_complete=complete_names("suite", files=True))
@click.option(
    "--against",
    default="",
    metavar="PYTHON|VERSION|GIT-REF",
    help="The other version: a Python that has one, a released one, or a commit of this checkout.",
)
@click.option("--rounds", type=click.IntRange(min=1), help="At most so many rounds.")
@click.option(
    "--budget",
    metavar="10m",
    callback=_seconds,
    help="Time at most, as 90s, 10m or 1h; default: 10m, or none with --rounds.",
)
@click.option(
    "--precision",
    type=click.FloatRange(min=0, min_open=True),
    default=0.02,
    show_default=True,
    help="Enough once every interval is at most so much above and below its ratio.",
)
@dataset_option
@with_option
@click.option("--only", multiple=True, metavar="EXPERIMENT[/CONTENDER]", help="Time only this; * stands for anything.")
@click.option("--n", type=click.IntRange(min=1), multiple=True, help="Which n; default: each experiment's smallest.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the order of turns; default: a new one, which is kept.")
@comparison_options
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder; default: runs/SUITE-timings.")
def time(suite: str, form: Format | None, **options: Any) -> None:
    """Time contenders in turns, of one version or of two.

    SUITE is a name or a file. With --against its contenders are timed in another version too, and what is slower
    is said as by `rankbench compare`. One process computes at a time, on one thread; the first call, which compiles,
    is not counted. Exits with 0 where nothing is slower, 1 where something is, 2 where the input cannot be used, 3
    where nothing could be timed.
    """
    from rankbench.tracking.time import time_suite

    doing = [f"timing {suite}"]

    def say(text: str) -> None:
        doing[:] = [text]
        click.echo(visible(text), err=True)

    with heartbeat(lambda: doing[0]):
        timed = time_suite(suite, say=say, **options)
    finish(_answer(timed), form or "table")


def _answer(timed: TimedSuite) -> Answer:
    from rankbench.tracking.time import TIME_COLUMNS, timed_json

    parts: list[Part] = [Table(TIME_COLUMNS, [row.cells() for row in timed.rows], (0, 1))]
    if timed.comparison is None:
        said = [*timed.notes, timed.sentence()]
        return Answer(timed_json(timed), [*parts, *said], exit_code=timed.exit_code, below=said)
    # The comparison has the notes.
    compared = comparison_answer(timed.comparison)
    return replace(compared, parts=[*parts, timed.sentence(), "", *compared.parts])
