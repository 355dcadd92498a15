"""What a run says at its end: the claims and where to read on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankbench.results.text import plain

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

__all__ = ["summary"]

SPLITS = {"design": "design queries", "heldout": "held-out queries"}


def summary(directory: Path, claims: pl.DataFrame) -> RenderableType:
    """Return the verdicts on a run's claims, if it declared any, and its files.

    Parameters
    ----------
    directory : Path
    claims : DataFrame
        As `rankbench.results.report.frames` returns them.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    if claims.height:
        splits = [split for split in claims["split"].unique(maintain_order=True) if split]
        table = Table("claim", "", *(SPLITS.get(split, split) for split in splits), show_lines=False)
        for (claim, text), rows in claims.group_by("claim", "text", maintain_order=True):
            verdicts = {row["split"]: row["verdict"] for row in rows.iter_rows(named=True)}
            every = verdicts.get(None) or ""
            table.add_row(plain(str(claim)), plain(str(text)), *(verdicts.get(split, every) for split in splits))
        parts.append(table)
    figures = sorted(str(path) for path in (directory / "figures").glob("*.png"))
    names = ["leaderboard.md", "leaderboard.csv", "results.parquet", "run.json"]
    parts += [Text(plain(path)) for path in (*(str(directory / name) for name in names), *figures)]
    return Group(*parts)
