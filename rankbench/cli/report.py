"""`rankbench report DIR` makes leaderboards and figures again from stored rows."""

from __future__ import annotations

from pathlib import Path

import click

from rankbench.cli.output import heartbeat
from rankbench.cli.shown import Answer, answering


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Publish it here: the report, the rows that it is made from, and the sha256 of every file.",
)
@click.option("--verbose", "-v", is_flag=True, help="Show the traceback of what a contender raised.")
@answering
def report(directory: Path, out: Path | None, verbose: bool) -> Answer:
    """Make leaderboards and figures again from stored rows.

    Nothing is computed anew: everything comes from the journal of the run in DIRECTORY,
    which may still be going on, or from the rows of a published folder. The same rows give
    the same bytes. What was skipped, diverged, failed or left out of a figure is said on
    standard error.
    """
    from rankbench.reports.results import report as write

    with heartbeat(f"report of {directory}"):
        made = write(directory, out)
    files, notices = list(map(str, made.paths)), [one._asdict() for one in made.notices]
    record = {"files": files, **made.headline.as_dict(), "notices": notices}
    return Answer(record, files, notices=made.notices, verbose=verbose)
