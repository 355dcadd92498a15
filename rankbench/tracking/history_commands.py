"""`rankbench history add|show` keeps results of runs and shows when they changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from rankbench.cli.forms import Format, title_option
from rankbench.cli.shown import Answer, Table, answering
from rankbench.cli.shown import show as write
from rankbench.core.text import count_text
from rankbench.tracking.change_points import FEWEST_RUNS
from rankbench.tracking.history import History, Series, add_entry, entry_of, history_figure, read_history
from rankbench.tracking.other_version import git_says


@click.group()
def history() -> None:
    """Record results of runs, and show when they changed."""


@history.command("add")
@click.argument("result", type=click.Path(path_type=Path, exists=True))
@click.option("--to", "folder", required=True, type=click.Path(path_type=Path, file_okay=False), help="The history.")
@click.option("--commit", help="Commit of the run; default: HEAD of the working folder.")
@click.option("--date", metavar="DATE", type=datetime.fromisoformat, help="With a time zone; default: the commit's.")
@answering
def add(result: Path, folder: Path, commit: str | None, date: datetime | None) -> Answer:
    """Append a run to a history.

    RESULT is the folder of a run, a published one, or one of `rankbench time`. The history gets a small file with
    the commit, the date, the class of machine, and means or ratios of times.
    """
    commit = commit or _git("%H", "--commit")
    entry = entry_of(result, commit, date or datetime.fromisoformat(_git("%cI", "--date", commit)))
    path = add_entry(folder, entry)
    return Answer(
        {"path": str(path), "commit": entry.commit, "date": entry.date.isoformat(), "numbers": len(entry.values)},
        f"{path}: {count_text(len(entry.values), 'number')} of commit {entry.commit}",
    )


@history.command("show")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--series", "patterns", multiple=True, metavar="NAME", help="Series to show; * stands for anything.")
@click.option(
    "--false-changes",
    "alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Chance of any false change, over all series.",
)
@click.option("--all", "everything", is_flag=True, help="Show also series that did not change.")
@answering
@title_option
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write a page (.html) or a picture (.png, .svg)."
)
def show(
    folder: Path, patterns: tuple[str, ...], alpha: float, everything: bool, out: Path | None, title: str
) -> Answer:
    """Show when the numbers of a history changed, and between which commits.

    Runs on two classes of machines are two series. A series needs 8 runs before rankbench looks for changes.
    """
    forms: dict[str, Format] = {".html": "html", ".png": "png", ".svg": "svg"}
    if out is not None and out.suffix not in forms:
        raise click.BadParameter(f"{out} ends with none of {', '.join(forms)}", param_hint="--out")
    found = read_history(folder, patterns, alpha)
    answer = replace(shown_history(found, alpha, everything=everything), title=title, long=everything)
    if out is not None:
        if not found.series:
            raise click.BadParameter("no series has such a name", param_hint="--series")
        write(answer, forms[out.suffix], out)
    return answer


def shown_history(found: History, alpha: float, *, everything: bool) -> Answer:
    """Return the answer of a history: a row for each change, with `everything` also for series without one."""
    rows = []
    for one in found.series:
        told = [one.told(change) for change in one.changes] or [""] * everything
        rows += [(one.name, one.machine, str(len(one.values)), f"{one.values[-1]:.6g}", words) for words in told]
    columns = ("series", "machine", "runs", "last", "change")
    tables = [Table(columns, rows, (0, 1, 4))] if rows else []
    changed = sum(bool(one.changes) for one in found.series)
    short = sum(len(one.values) < FEWEST_RUNS for one in found.series)
    chance = f"chance of any false change {alpha:g}"
    said = f"{changed} of {len(found.series)} series changed ({count_text(found.entries, 'run')}; {chance})."
    notes = [f"nothing is said of {short} series with fewer than {FEWEST_RUNS} runs"] * bool(short)
    record = {"alpha": alpha, "series": [_series_record(one) for one in found.series]}
    figure = partial(history_figure, found.series)
    return Answer(record, said, tables, drawing=figure).noted(notes)


def _series_record(one: Series) -> dict[str, Any]:
    changes = [
        {
            "commit": one.commits[change.at],
            "first_possible": one.commits[change.low],
            "last_possible": one.commits[change.high],
            "before": change.before,
            "after": change.after,
            "worse": one.worse(change),
        }
        for change in one.changes
    ]
    facts = {name: getattr(one, name) for name in ("name", "machine", "direction", "commits", "values")}
    return {**facts, "dates": [date.isoformat() for date in one.dates], "changes": changes}


def _git(form: str, option: str, commit: str = "HEAD") -> str:
    if not (found := git_says("log", "-1", f"--format={form}", commit, "--")):
        raise click.UsageError(f"git knows no commit here; say which with {option}")
    return found
