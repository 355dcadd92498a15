"""Lines on standard error while something long goes on."""

from __future__ import annotations

import click

from rankbench.cli.output import visible
from rankbench.runner.heartbeat import Heartbeat

__all__ = ["heartbeat"]


def heartbeat(what: str) -> Heartbeat:
    """Return what prints a line every half minute, on standard error, as long as it is entered."""
    return Heartbeat(lambda line: click.echo(visible(line), err=True), lambda: what)
