"""``rankbench rank``: the systems of a score table, by several methods side by side."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import click

from rankbench.seeds import LOG_SEED

if TYPE_CHECKING:
    from rankbench.cli.formats import Format

    Shown: TypeAlias = Format | Literal["table"]

__all__ = ["rank"]

_FORMS: dict[str, Shown] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".json": "json", ".md": "md"}


@click.command()
@click.argument("scores", metavar="SCORES")
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Aggregator of score tables, NAME:param=...; repeatable. Default: mean-score, mean-rank and borda-count.",
)
@click.option("--lower", multiple=True, metavar="TASK", help="A task of which less is better, as latency; repeatable.")
@click.option("--top", default=3, show_default=True, type=click.IntRange(1), help="k of P(top k).")
@click.option("--replicates", default=10_000, show_default=True, type=click.IntRange(2, 100_000), help="Resamples.")
@click.option("--seed", default=LOG_SEED, show_default=True, type=click.IntRange(0), help="Of the resamples.")
@click.option(
    "--columns",
    default="",
    metavar="ROLE=NAME,..",
    help="What columns mean: system=model,task=dataset,score=accuracy,seed=run; system or task alone: its row holds "
    "all scores of it.",
)
@click.option("--reader", default="", help="Reader, as csv; chosen by ending by default.")
@click.option(
    "--missing",
    type=click.Choice(["tasks", "systems"]),
    default="tasks",
    show_default=True,
    help="What is left out where cells are missing: tasks that not all systems have, or systems without all tasks.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "parquet", "json", "md"]),
    help="Default: what the ending of --out says, else table.",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write a file, whole or not at all.")
def rank(
    scores: str,
    methods: tuple[str, ...],
    lower: tuple[str, ...],
    top: int,
    replicates: int,
    seed: int,
    columns: str,
    reader: str,
    missing: Literal["tasks", "systems"],
    form: Shown | None,
    out: Path | None,
) -> None:
    """Rank the systems of a score table.

    SCORES is a table of systems by tasks, with or without seeds: a row a cell, a row a system, or a row a task. Rank
    ranges hold for all systems together at 95%; systems of tier 1 are not told apart from the first. P(first) is the
    share of resamples of tasks (and seeds) in which a system is first.
    """
    from rankbench.cli.output import visible
    from rankbench.cli.score_formats import encoded_scores, side_by_side_cells
    from rankbench.errors import SpecError
    from rankbench.ranking.score_ranking import rank_scores

    chosen: Shown = form or (_FORMS.get(out.suffix.lower(), "table") if out else "table")
    if chosen == "parquet" and out is None and sys.stdout.isatty():
        raise SpecError("Parquet is nothing for a terminal; give a file with --out")
    if chosen == "table" and out is not None:
        raise SpecError(f"--out {out} ends in no format; endings: {', '.join(_FORMS)}, or say --format")
    if out is not None and os.path.isfile(out) and os.path.exists(scores) and os.path.samefile(scores, out):
        raise SpecError(f"--out {out} is the table itself, which would be lost; choose another file")
    found = rank_scores(
        scores,
        methods,
        lower=lower,
        top=top,
        replicates=replicates,
        seed=seed,
        columns=columns,
        reader=reader,
        missing=missing,
    )
    for note in found.notes:
        click.echo(f"note: {visible(note)}", err=True)
    if chosen == "table":
        from rankbench.cli.output import print_table

        names, rows = side_by_side_cells(found)
        print_table(names, [[cell.replace("\n", "\\n").replace("\t", "\\t") for cell in row] for row in rows])
    elif out is not None:
        from rankbench.store.files import replace_file

        replace_file(out, encoded_scores(found, chosen))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(encoded_scores(found, chosen))
