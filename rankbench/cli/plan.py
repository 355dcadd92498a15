"""`rankbench plan` shows what a run would do."""

from __future__ import annotations

from collections import Counter

import click

from rankbench.cli.output import complete_names
from rankbench.cli.run import log_options, with_log
from rankbench.cli.shown import Answer, Table, answering


@click.command()
@click.option(
    "--suite",
    show_default="paper",
    shell_complete=complete_names("suite", files=True),
    help="A suite by name, or a TOML file.",
)
@log_options
@click.option(
    "--dataset",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_names("dataset"),
    help="Another data set, for every experiment that takes it.",
)
@click.option(
    "--reps",
    type=click.IntRange(min=1),
    help="At most so many repetitions, others in proportion (folds by time keep their five).",
)
@click.option(
    "--with",
    "extra",
    multiple=True,
    metavar="CONTENDER",
    shell_complete=complete_names("method", "aggregator"),
    help="Add a contender, or kind=COMPONENT, wherever it fits.",
)
@answering
def plan(
    suite: str | None,
    log: str | None,
    columns: str,
    control: str,
    reader: str,
    time_unit: str | None,
    dataset: tuple[str, ...],
    reps: int | None,
    extra: tuple[str, ...],
) -> Answer:
    """Show what a run would do, without doing it."""
    from rankbench import api
    from rankbench.core.text import duration_text
    from rankbench.runner.machine import estimated_seconds, untried_cells

    chosen, data, more = with_log(suite, dataset, log, columns, reader, control)
    made = api.planned(chosen, dataset=data, reps=reps, extra=(*extra, *more), time_unit=time_unit)
    planned = made.plan
    shown = Counter((m.experiment, m.n, m.label, m.spec) for m in planned.members)
    taken = estimated_seconds(made)
    left = untried_cells(made)
    of_member: dict[tuple[str, int, str, str], float] = {}
    untried: set[tuple[str, int, str, str]] = set()
    for m in planned.members if taken or left else ():
        key = (m.experiment, m.n, m.label, m.spec)
        if m.cell in taken:
            of_member[key] = of_member.get(key, 0.0) + taken[m.cell]
        elif m.cell in left:
            untried.add(key)
    record = {
        "suite": planned.suite.name,
        "sources": [
            {
                "experiments": [name for name, of in made.source_index.items() if of == index],
                "protocol": str(source.protocol),
                "dataset": str(source.dataset) if source.dataset else "",
                "units": {split: len(names) for split, names in source.units.items()},
                "notes": list(source.notes),
            }
            for index, source in enumerate(made.sources)
        ],
        "left_out": made.left_out,
        "blocks": len(planned.tasks),
        "cells": sum(len(task.cells) for task in planned.tasks),
        "contenders": [
            {"experiment": e, "n": n, "label": label, "spec": spec, "repetitions": count}
            | ({"seconds": round(of_member[e, n, label, spec], 1)} if (e, n, label, spec) in of_member else {})
            | ({"untried": True} if (e, n, label, spec) in untried else {})
            for (e, n, label, spec), count in shown.items()
        ],
    }
    rows: dict[tuple[str, str, str, int], list[str]] = {}
    times: dict[tuple[str, str, str, int], float] = {}
    without: set[tuple[str, str, str, int]] = set()
    for (experiment, n, label, spec), count in shown.items():
        row = (experiment, label, spec, count)
        rows.setdefault(row, []).append(f"{n:,}")
        if (experiment, n, label, spec) in of_member:
            times[row] = times.get(row, 0.0) + of_member[experiment, n, label, spec]
        elif (experiment, n, label, spec) in untried:
            without.add(row)
    timed = ("about",) if taken or untried else ()
    titles = ("experiment", "contender", "repetitions", "n", *timed, "spec")
    cells = [
        (
            *row[:2],
            str(row[3]),
            " ".join(ns),
            *([duration_text(times[row]) if row in times else "not tried" * (row in without)] * len(timed)),
            row[2],
        )
        for row, ns in rows.items()
    ]
    parts: list[Table | str] = [Table(titles, cells)]
    for index, source in enumerate(made.sources):
        experiments = ", ".join(name for name, of in made.source_index.items() if of == index)
        sizes = ", ".join(
            f"{len(names)} {source.splits[split].partition(' (')[0].lower()}"
            for split, names in source.units.items()
            if source.test_share is None
        )
        parts.append(f"{experiments}: {source.dataset or source.protocol}{', ' if sizes else ''}{sizes}")
        parts += [f"  {note}" for note in source.notes]
    parts += [f"{name} is left out: {why}" for name, why in made.left_out.items()]
    parts.append(f"{len(planned.tasks)} blocks, {sum(len(task.cells) for task in planned.tasks)} cells")
    if taken:
        whole = duration_text(sum(taken.values()))
        parts.append(
            f"about {whole} of one processor for the contenders with a time: an estimate, from one fit of each"
        )
    if untried:
        parts.append(
            "not tried: contenders of plugins, which run in processes of their own, and none is started for a plan"
        )
    return Answer(record, parts)
