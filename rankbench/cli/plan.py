"""`rankbench plan` shows what a run would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from rankbench.cli.run import suite_options
from rankbench.cli.shown import Answer, Table, answering

if TYPE_CHECKING:
    import polars as pl

    from rankbench.runner.plan import Planned


@click.command()
@suite_options
@answering
def plan(suite: str, **options: Any) -> Answer:
    """Show what a run would do, without doing it."""
    from rankbench import api
    from rankbench.runner.machine import estimated_seconds

    made = api.planned(suite, **options)
    taken = estimated_seconds(made)
    contenders = _contenders(made, taken)
    record = {
        "suite": made.plan.suite.name,
        "sources": [
            {
                "experiments": _experiments(made, index),
                "protocol": str(source.protocol),
                "dataset": str(source.dataset) if source.dataset else "",
                "units": {split: len(names) for split, names in source.units.items()},
                "notes": list(source.notes),
            }
            for index, source in enumerate(made.sources)
        ],
        "left_out": made.left_out,
        "blocks": len(made.plan.tasks),
        "cells": sum(len(task.cells) for task in made.plan.tasks),
        "contenders": [_known(row) for row in contenders.iter_rows(named=True)],
    }
    return Answer(record, _parts(made, contenders, sum(taken.values())))


def _experiments(made: Planned, source: int) -> list[str]:
    return [name for name, of in made.source_index.items() if of == source]


def _contenders(made: Planned, taken: Mapping[str, float]) -> pl.DataFrame:
    """Return a row for each contender at each n, with the seconds of its cells; null where nobody can say."""
    import polars as pl

    from rankbench.runner.machine import untried_cells

    left = untried_cells(made)
    rows = [
        (m.experiment, m.n, m.label, m.spec, taken.get(m.cell), m.cell in left and m.cell not in taken)
        for m in made.plan.members
    ]
    names, known = ("experiment", "n", "label", "spec"), pl.col("seconds")
    types = dict(zip(names, (pl.String, pl.Int64, pl.String, pl.String), strict=True))
    frame = pl.DataFrame(rows, {**types, "seconds": pl.Float64, "untried": pl.Boolean}, orient="row")
    return frame.group_by(names, maintain_order=True).agg(
        pl.len().alias("repetitions"),
        pl.when(known.count() > 0).then(known.sum()).alias("seconds"),
        pl.col("untried").any(),
    )


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """Return a contender without what is not known of it."""
    seconds, untried = row.pop("seconds"), row.pop("untried")
    more = {} if seconds is None else {"seconds": round(seconds, 1)}
    return row | more | ({"untried": True} if untried else {})


def _parts(made: Planned, contenders: pl.DataFrame, total: float) -> Iterator[Table | str]:
    import polars as pl

    from rankbench.core.text import duration_text

    known = pl.col("seconds")
    rows = contenders.group_by("experiment", "label", "spec", "repetitions", maintain_order=True).agg(
        pl.col("n"), pl.when(known.count() > 0).then(known.sum()).alias("seconds"), pl.col("untried").any()
    )
    timed, untried = total > 0, rows["untried"].any()
    cells = []
    for row in rows.iter_rows(named=True):
        about = duration_text(row["seconds"]) if row["seconds"] is not None else "not tried" * row["untried"]
        ns = " ".join(f"{n:,}" for n in row["n"])
        last = [about, row["spec"]] if timed or untried else [row["spec"]]
        cells.append([row["experiment"], row["label"], str(row["repetitions"]), ns, *last])
    about_column = ["about"] if timed or untried else []
    yield Table(["experiment", "contender", "repetitions", "n", *about_column, "spec"], cells)
    for index, source in enumerate(made.sources):
        what = f"{', '.join(_experiments(made, index))}: {source.dataset or source.protocol}"
        sizes = [
            f"{len(names)} {source.splits[split].partition(' (')[0].lower()}"
            for split, names in source.units.items()
            if source.test_share is None
        ]
        yield ", ".join([what, *sizes])
        yield from (f"  {note}" for note in source.notes)
    yield from (f"{name} is left out: {why}" for name, why in made.left_out.items())
    yield f"{len(made.plan.tasks)} blocks, {sum(len(task.cells) for task in made.plan.tasks)} cells"
    if timed:
        whole = duration_text(total)
        yield f"about {whole} of one processor for the contenders with a time: an estimate, from one fit of each"
    if untried:
        yield "not tried: contenders of plugins, which run in processes of their own, and none is started for a plan"
