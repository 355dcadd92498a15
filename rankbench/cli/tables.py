"""Tables and JSON on standard output, for people and for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

import click

__all__ = ["print_json", "print_table"]

PIPE_WIDTH = 10_000
"""Columns of a pipe: nothing is wrapped there, so that a row stays one line."""


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "") -> None:
    """Print a table: fitted to a terminal, one line a row in a pipe; ``NO_COLOR`` is respected.

    The header is left out if all of its cells are empty. Control characters, which a
    foreign name might contain, are taken out.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else PIPE_WIDTH, highlight=False)
    table = Table(
        box=None,
        pad_edge=False,
        title_justify="left",
        title=Text(title) if title and terminal else None,
        show_header=any(columns),
    )
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    if terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    if title:
        click.echo(title)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_json(value: object) -> None:
    """Print plain values as JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
