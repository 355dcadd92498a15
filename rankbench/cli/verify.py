"""`rankbench verify DIR` tells whether a published folder follows from its rows, and rows from a new run."""

from __future__ import annotations

from pathlib import Path

import click

from rankbench.cli.output import say
from rankbench.cli.shown import Answer, answering


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--rows",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The published rows; default: DIRECTORY/rows, or DIRECTORY-rows.",
)
@click.option("--rerun", metavar="N|all", help="Compute so many blocks again, drawn at random, or all.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the draw of blocks; default: a new one, which is printed.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes.")
@answering
def verify(directory: Path, rows: Path | None, rerun: str | None, seed: int | None, workers: int) -> Answer:
    """Verify that a published folder is what its rows give.

    CSV, Markdown and the numbers behind the figures in DIRECTORY are made again from its rows and compared to
    the byte: this shows that the folder is consistent, not that it is honest. With --rerun, blocks
    are computed again and compared with the rows. Exits with 1 if anything differs, each difference on a line.
    """
    from rich.console import Console

    from rankbench import api
    from rankbench.runner.progress import ConsoleProgress

    console = Console(stderr=True)
    found = api.verify(
        directory,
        rows=rows,
        rerun=_blocks(rerun),
        seed=seed,
        workers=workers,
        progress=ConsoleProgress(console),
    )
    record = {"differences": [one._asdict() for one in found.differences], "shown": list(found.shown)}
    if found.differences:
        for sentence in found.shown:
            say(sentence, err=True)
        return Answer(record, map(str, found.differences), exit_code=1)
    return Answer(record, [*found.shown, f"{directory}: nothing differs"])


def _blocks(rerun: str | None) -> int | None:
    """Return how many blocks to compute again; None: all."""
    if rerun is None:
        return 0
    if rerun == "all":
        return None
    if not rerun.isdecimal() or int(rerun) < 1:
        raise click.BadParameter(f"{rerun!r} is no whole number above 0, nor all", param_hint="--rerun")
    return int(rerun)
