"""`rankbench history add|show` keeps results of runs and shows when they changed."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from rankbench.cli.shown import Answer, Table, answering
from rankbench.core.system import replace_file
from rankbench.core.text import count_text
from rankbench.tracking.change_points import FEWEST_RUNS
from rankbench.tracking.history import Series, add_entry, draw_history, entry_of, read_history
from rankbench.tracking.other_version import git_says


@click.group()
def history() -> None:
    """Record results of runs, and show when they changed."""


@history.command("add")
@click.argument("result", type=click.Path(path_type=Path, exists=True))
@click.option("--to", "folder", required=True, type=click.Path(path_type=Path, file_okay=False), help="The history.")
@click.option("--commit", help="Commit of the run; default: HEAD of the working folder.")
@click.option("--date", metavar="DATE", type=datetime.fromisoformat, help="With a time zone; default: the commit's.")
@click.option("--reference", default="", help="The benchmark that the others' times are divided by.")
@answering
def add(result: Path, folder: Path, commit: str | None, date: datetime | None, reference: str) -> Answer:
    """Append a run to a history.

    RESULT is the folder of a run, a published one, or JSON of pytest-benchmark. The history gets a small file with
    the commit, the date, the class of machine, and means or ratios of times.
    """
    commit = commit or _git("%H", "--commit")
    entry = entry_of(result, commit, date or datetime.fromisoformat(_git("%cI", "--date", commit)), reference)
    path = add_entry(folder, entry)
    return Answer(
        {"path": str(path), "commit": entry.commit, "date": entry.date.isoformat(), "numbers": len(entry.values)},
        [f"{path}: {count_text(len(entry.values), 'number')} of commit {entry.commit}"],
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
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Draw the series: a file, .png or .svg.")
def show(folder: Path, patterns: tuple[str, ...], alpha: float, everything: bool, out: Path | None) -> Answer:
    """Show when the numbers of a history changed, and between which commits.

    Runs on two classes of machines are two series. A series needs 8 runs before rankbench looks for changes.
    """
    if out is not None and out.suffix not in (".png", ".svg"):
        raise click.BadParameter(f"{out} ends neither with .png nor with .svg", param_hint="--out")

    found = read_history(folder, patterns, alpha)
    if out is not None:
        if not found.series:
            raise click.BadParameter("no series has such a name", param_hint="--series")
        replace_file(out, draw_history(found.series)[out.suffix.removeprefix(".")])
    rows = []
    for one in found.series:
        told = [one.told(change) for change in one.changes] or [""] * everything
        rows += [(one.name, one.machine, str(len(one.values)), f"{one.values[-1]:.6g}", words) for words in told]
    parts: list[Table | str] = [Table(("series", "machine", "runs", "last", "change"), rows)] if rows else []
    changed = sum(bool(one.changes) for one in found.series)
    short = sum(len(one.values) < FEWEST_RUNS for one in found.series)
    chance = f"chance of any false change {alpha:g}"
    parts.append(f"{changed} of {len(found.series)} series changed ({count_text(found.entries, 'run')}; {chance})")
    if short:
        parts.append(f"nothing is said of {short} series with fewer than {FEWEST_RUNS} runs")
    return Answer({"alpha": alpha, "series": [_series_record(one) for one in found.series]}, parts)


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
    found = git_says("log", "-1", f"--format={form}", commit, "--")
    if not found:
        raise click.UsageError(f"git knows no commit here; say which with {option}")
    return found
