"""What a run says at its end: the claims, which method to use, and where to read on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rankbench.kinds.cell import SPLITS
from rankbench.reports.evidence import LATE
from rankbench.reports.report import FIGURES, SUFFIXES
from rankbench.store.store import REPORTED
from rankbench.text import numbered, plain

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

__all__ = ["summary"]


def summary(directory: Path, claims: pl.DataFrame, recommendation: Sequence[str] = ()) -> RenderableType:
    """Return the verdicts on a run's claims, if it declared any, what it recommends, and its files.

    Parameters
    ----------
    directory : Path
    claims : DataFrame
        As `rankbench.reports.report.frames` returns them.
    recommendation : sequence of str
        Sentences in Markdown, from `rankbench.reports.report.Report`.
    """
    import polars as pl
    from rich.console import Group
    from rich.markdown import Markdown
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    if claims.height:
        units = {split: claims.filter(about=split)["units"].unique(maintain_order=True) for split in SPLITS}
        splits = [split for split in SPLITS if len(units[split])]
        table = Table("claim", "", show_lines=False)
        # As Text: brackets in a title or a claim are no markup.
        for split in splits:
            table.add_column(Text(plain(" / ".join(units[split]))))
        late = pl.col("origin") == "post hoc"
        said = pl.when(late).then(pl.col("text") + f" ({LATE})").otherwise("text")
        groups = claims.with_columns(text=said).group_by("claim", "text", maintain_order=True)
        for (claim, text), rows in sorted(groups, key=lambda group: numbered(str(group[0][0]))):
            verdicts = {row["about"]: row["verdict"] for row in rows.iter_rows(named=True)}
            cells = (str(claim), str(text), *(str(verdicts.get(split, "—")) for split in splits))
            table.add_row(*(Text(plain(cell)) for cell in cells))
        parts.append(table)
    parts += [Markdown(sentence) for sentence in recommendation]
    files = [str(path) for path in (directory / name for name in REPORTED) if path.exists()]
    figures = directory / FIGURES
    drawn = sum(path.suffix in SUFFIXES for path in figures.glob("*"))
    if drawn:
        files.append(f"{figures}/ ({drawn} file{'s' if drawn != 1 else ''})")
    if files and not recommendation:
        files[0] = f"open {files[0]}"
    return Group(*parts, *(Text(plain(line)) for line in files))
