"""``rankbench report DIR``: leaderboards and figures again, from stored rows alone."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["report"]


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
def report(directory: Path) -> None:
    """Make leaderboards and figures again from stored rows.

    Nothing is computed anew: everything comes from the journal of the run in DIRECTORY,
    which may still be going on. The same journal gives the same bytes.
    """
    from rankbench.results.report import report as write

    for path in write(directory).paths:
        click.echo(path)
