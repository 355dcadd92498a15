"""What a run says at its end: the claims and where to read on."""

from __future__ import annotations

import re
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
    import polars as pl
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    if claims.height:
        of_curves = pl.col("split").is_null()
        # Claims about curves are about the design queries' judgments.
        claims = claims.with_columns(pl.when(of_curves).then(pl.lit("design")).otherwise("split").alias("split"))
        splits = [split for split in SPLITS if split in claims["split"]]
        table = Table("claim", "", *(SPLITS.get(split, split) for split in splits), show_lines=False)
        late = pl.col("origin") == "post hoc"
        said = pl.when(late).then(pl.col("text") + " (written knowing earlier results)").otherwise("text")
        groups = claims.with_columns(text=said).group_by("claim", "text", maintain_order=True)
        for (claim, text), rows in sorted(groups, key=lambda group: _by_number(str(group[0][0]))):
            verdicts = {row["split"]: row["verdict"] for row in rows.iter_rows(named=True)}
            # As Text: brackets in a claim are no markup.
            cells = (str(claim), str(text), *(str(verdicts.get(split, "—")) for split in splits))
            table.add_row(*(Text(plain(cell)) for cell in cells))
        parts.append(table)
    figures = sorted(str(path) for path in (directory / "figures").glob("*.png"))
    names = ["leaderboard.md", "leaderboard.csv", "results.parquet", "run.json"]
    parts += [Text(plain(path)) for path in (*(str(directory / name) for name in names), *figures)]
    return Group(*parts)


def _by_number(claim: str) -> list[tuple[int, str]]:
    """Return a key that puts C2 before C10."""
    parts = re.split(r"([0-9]+)", claim)
    # A number's length first: of two numbers the one with more digits is larger.
    return [(len(p.lstrip("0")), p.lstrip("0")) if index % 2 else (0, p) for index, p in enumerate(parts)]
