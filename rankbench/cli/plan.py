"""``rankbench plan``."""

from __future__ import annotations

import json
from collections import Counter

import click

__all__ = ["plan"]


@click.command()
@click.option("--suite", default="paper", show_default=True, help="A suite by name, or a TOML file.")
@click.option("--dataset", help="Another data set than the suite's.")
@click.option("--reps", type=click.IntRange(min=1), help="At most so many repetitions of each experiment.")
@click.option("--with", "extra", multiple=True, metavar="CONTENDER", help="Add a contender to every experiment.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def plan(suite: str, dataset: str | None, reps: int | None, extra: tuple[str, ...], as_json: bool) -> None:
    """Show what a run would do, without doing it."""
    from rich.console import Console
    from rich.table import Table

    from rankbench import api

    prepared, planned = api.planned(suite, dataset=dataset, reps=reps, extra=extra)
    shown = Counter((m.experiment, m.n, m.label, m.spec) for m in planned.members)
    if as_json:
        facts = {
            "suite": planned.suite.name,
            "dataset": str(prepared.dataset),
            "queries": {"design": len(prepared.design), "heldout": len(prepared.heldout)},
            "notes": list(prepared.notes),
            "blocks": len(planned.tasks),
            "cells": sum(len(task.cells) for task in planned.tasks),
            "contenders": [
                {"experiment": e, "n": n, "label": label, "spec": spec, "repetitions": count}
                for (e, n, label, spec), count in shown.items()
            ],
        }
        click.echo(json.dumps(facts, indent=2))
        return
    console = Console()
    table = Table("experiment", "n", "contender", "spec", "repetitions")
    for (experiment, n, label, spec), count in shown.items():
        table.add_row(experiment, f"{n}", label, spec, f"{count}")
    console.print(table)
    for note in prepared.notes:
        console.print(note, markup=False)
    console.print(
        f"{prepared.dataset}: {len(prepared.design)} design and {len(prepared.heldout)} held-out queries; "
        f"{len(planned.tasks)} blocks, {sum(len(task.cells) for task in planned.tasks)} cells",
        markup=False,
    )
