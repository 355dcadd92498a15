"""`rankbench compare` and `time` exit with 1 where something got worse."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rankbench.cli.forms import Format, format_option, title_option
from rankbench.cli.origin import Provenance
from rankbench.cli.output import complete_names, heartbeat
from rankbench.cli.question_options import question_options
from rankbench.cli.shown import Answer, Table, finish, show
from rankbench.core.text import visible, visible_line
from rankbench.tracking.compare import compare_results
from rankbench.tracking.comparison import Change, Comparison
from rankbench.tracking.comparison_page import (
    cells_of,
    columns_of,
    comparison_json,
    how_to_read,
    shown_changes,
)
from rankbench.tracking.question import ChangeQuestion, CompareQuestion, TimeQuestion
from rankbench.tracking.time import TIME_COLUMNS, TimedSuite, time_suite, timed_json

COARSE = 0.1
"""Share of base: a comparison that finds no smaller change warns of it."""

_WORDS = (0, 1, 2)
"""Columns of a table with texts: verdict, where and contender."""

_ERRORS = 10
"""Annotations that GitHub shows of a step."""


def comparison_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a comparison's judgment and output to a command."""
    words = "Default: table. github: annotations on standard output, and the page into the job's summary."
    command = format_option(["table", "md", "html", "json", "github"], words)(command)
    return question_options(ChangeQuestion)(command)


@click.command()
@click.argument("base", type=click.Path(path_type=Path, exists=True))
@click.argument("head", type=click.Path(path_type=Path, exists=True))
@comparison_options
@question_options(CompareQuestion)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the page to this file: .html, or Markdown."
)
@title_option
def compare(base: Path, head: Path, form: Format | None, out: Path | None, title: str, **options: Any) -> None:
    """Compare two results, and report significant changes.

    BASE and HEAD are folders: of a run, of published results, or of `rankbench time`. rankbench pairs their results
    by block and unit, and never compares different data. They may also be two logs of votes, HEAD with all votes of
    BASE and later ones: rankbench then tests which items moved. Exits with 0 if nothing is worse, 1 if something is
    worse, or changed on the same judgments and nobody declared it, 2 if the input cannot be used, 3 if a row of BASE
    was not tested.
    """
    asked = CompareQuestion.from_options(**options)
    with heartbeat(f"comparing {base} and {head}"):
        found = compare_results(base, head, asked)
    answer, origin = comparison_answer(found), Provenance({str(base): "", str(head): ""})
    acts = ["--declared WHY"] * found.undeclared + ["--out comparison.html"] * bool(answer.tables)
    keep = [shlex.join(["rankbench", "history", "add", str(head), "--to", "history"])] * head.is_dir()
    answer = replace(answer, title=title, next=acts or keep, provenance=origin, question=asked)
    if out is not None:
        show(answer, "html" if out.suffix.lower() == ".html" else "md", out)
    finish(answer, form or "table")


def comparison_answer(found: Comparison) -> Answer:
    """Return the answer of a comparison."""
    shown = shown_changes(found)
    known = [one for one in shown if not math.isnan(one.change)]
    return Answer(
        comparison_json(found),
        found.sentence(),
        [_table(shown)] * bool(shown),
        [*filter(None, [how_to_read(known), found.finds()])],
        details=[f"{found.head} against {found.base}"],
        exit_code=found.exit_code,
        annotations=comparison_annotations(found),
    ).noted([*found.notes, *(f"differs: {line}" for line in found.differing)])


def _table(shown: Sequence[Change]) -> Table:
    """Return the changes; columns that are empty for all of them are left out."""
    rows = [cells_of(one) for one in shown]
    kept = [at for at, cells in enumerate(zip(*rows, strict=True)) if at in _WORDS or any(cells)]
    columns, *lines = ([cells[at] for at in kept] for cells in (columns_of(shown), *rows))
    return Table(columns, lines, _WORDS)


def comparison_annotations(comparison: Comparison) -> list[str]:
    """Return workflow commands of GitHub's runners: an error for each change to the worse, and one on the whole.

    That is a warning where something was not tested, or where only changes of more than `COARSE` could be found.
    """
    found = []
    for one in comparison.by_verdict("worse")[:_ERRORS]:
        what = "" if math.isnan(one.p) else f": {one.base:.6g} became {one.head:.6g} (p = {one.p:.2g})"
        found.append(f"::error title={_property(f'{one.what} is worse')}::{_message(one.where + what)}")
    if comparison.undeclared:
        rows = (one for one in comparison.changes if one.differs and one.verdict != "worse")
        lines = [f"{one.what}: {one.where}: {one.base:.6g} became {one.head:.6g}" for one in rows]
        for line in [*lines, *comparison.differing][: _ERRORS - len(found)]:
            found.append(f"::error title=A change of results that nobody declared::{_message(line)}")
    # A job may go on after exit code 3: the page of the change says that it was not tested, and why.
    untested = comparison.exit_code == 3
    why = comparison.notes if untested else ()
    whole = _message(" ".join(filter(None, (comparison.sentence(), comparison.finds(), "; ".join(why)))))
    unsure = (one for one in comparison.changes if one.verdict in ("changed", "not significant"))
    coarse = any(one.detectable_percent > 100 * COARSE for one in unsure)
    title = f"rankbench compare{' - not tested' if untested else ''}"
    return [*found, f"::{'warning' if untested or coarse else 'notice'} title={title}::{whole}"]


def _message(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


@click.command()
@click.argument("suite", shell_complete=complete_names("suite", files=True))
@question_options(TimeQuestion)
@comparison_options
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder; default: runs/SUITE-timings.")
def time(suite: str, form: Format | None, out: Path | None, **options: Any) -> None:
    """Time contenders in turns, of one version or of two.

    SUITE is a name or a file. With --against rankbench times its contenders in another version too, and tells which
    are slower, as `rankbench compare` does. One process computes at a time, on one thread; the first call, which
    compiles, does not count. Exits with 0 where nothing is slower, 1 where something is, 2 where the input cannot be
    used, 3 where nothing could be timed.
    """
    doing = [f"timing {suite}"]

    def say(text: str) -> None:
        doing[:] = [text]
        click.echo(visible_line(text), err=True)

    asked = TimeQuestion.from_options(**options)
    with heartbeat(lambda: doing[0]):
        timed = time_suite(suite, asked, out, say)
    finish(replace(_answer(timed), question=asked), form or "table")


def _answer(timed: TimedSuite) -> Answer:
    table = Table(TIME_COLUMNS, [row.cells() for row in timed.rows], (0, 1))
    if timed.comparison is None:
        answer = Answer(timed_json(timed), timed.headline(), [table], [timed.sentence()], exit_code=timed.exit_code)
        return answer.noted(timed.notes)
    # The comparison has the notes.
    compared = comparison_answer(timed.comparison)
    return replace(compared, tables=[*compared.tables, table], footnotes=[*compared.footnotes, timed.sentence()])
