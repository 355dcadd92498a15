"""The notices of a run on a terminal: as they are; in a pipe on one line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankbench.cli.output import visible

if TYPE_CHECKING:
    from rich.console import Console

    from rankbench.reports.run_notices import Notice

__all__ = ["print_notices"]

LONGEST = 600
"""Characters of a notice that are shown; all of a reason is in the results."""

MOST = 20
"""Notices that are shown."""


def print_notices(console: Console, notices: Sequence[Notice], *, verbose: bool = False) -> None:
    """Print notices, failures first and in red; nothing in them is markup; lines are folded on a terminal alone.

    Parameters
    ----------
    console : Console
    notices : sequence of Notice
    verbose : bool
        With the traceback of each, where there is one.
    """
    ordered = sorted(notices, key=lambda notice: notice.kind != "failed")
    for notice in ordered[:MOST]:
        shown = visible(notice.text)
        shown = shown if len(shown) <= LONGEST else shown[:LONGEST] + "…"
        style = "red" if notice.kind == "failed" else "yellow"
        console.print(shown, style=style, markup=False, soft_wrap=not console.is_terminal, highlight=False)
        if verbose and notice.trace:
            console.print(visible(notice.trace), markup=False, soft_wrap=True, highlight=False)
    if not verbose and any(notice.trace for notice in ordered):
        console.print("--verbose shows the tracebacks", soft_wrap=True, highlight=False)
    if len(ordered) > MOST:
        console.print(f"and {len(ordered) - MOST} more such lines: see leaderboard.md", soft_wrap=True, highlight=False)
