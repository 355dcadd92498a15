"""`rankbench verify` makes published results again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from rankbench import api
from rankbench.cli.shown import Answer, answering
from rankbench.core.text import count_text
from rankbench.runner.progress import ConsoleProgress


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--rerun", metavar="N|all", help="Number of blocks, drawn at random, to compute again; or all.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the choice of blocks; default: a new one, printed.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes.")
@answering
def verify(directory: Path, rerun: str | None, **options: Any) -> Answer:
    """Verify a published folder against its rows.

    rankbench makes the pages, CSV and the numbers behind the figures in DIRECTORY again from its rows, in it or in
    DIRECTORY-rows, and compares them to the byte: this shows that the folder is consistent, not that it is honest. With
    --rerun it computes blocks again, and compares them with the rows. Exits with 1 if anything differs, each difference
    on a line.
    """
    progress = ConsoleProgress(Console(stderr=True))
    found = api.verify(directory, rerun=_blocks(rerun), progress=progress, **options)
    record = {"differences": [one._asdict() for one in found.differences], "shown": list(found.shown)}
    different = len(found.differences)
    said = f"{directory}: {count_text(different, 'difference') if different else 'nothing differs'}"
    again = ["--rerun 2"] * (rerun is None and not different)
    answer = Answer(record, said, [*map(str, found.differences)], next=again, exit_code=int(different > 0))
    return answer.noted(found.shown)


def _blocks(rerun: str | None) -> int | None:
    """Return the number of blocks to compute again; None: all."""
    if rerun is None:
        return 0
    if rerun == "all":
        return None
    if not rerun.isdecimal() or int(rerun) < 1:
        raise click.BadParameter(f"{rerun!r} is no whole number above 0, nor all", param_hint="--rerun")
    return int(rerun)
