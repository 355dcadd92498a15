"""What a run says at its end: who is best, the claims, which method to use, and where to read on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rankbench.kinds.cell import SPLITS
from rankbench.reports.document.terminal import terminal_of
from rankbench.reports.document.tree import Column, Grid, Node, Paragraph
from rankbench.reports.evidence import LATE
from rankbench.reports.headline import Headline
from rankbench.reports.pages import FIGURES, PICTURES
from rankbench.store.store import REPORTED
from rankbench.text import markdown, numbered, one_line

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

__all__ = ["claims_of_a_run", "run_summary"]


def run_summary(
    directory: Path, claims: pl.DataFrame, recommendation: Sequence[str] = (), headline: Headline | None = None
) -> RenderableType:
    """Return who is best, the verdicts on a run's claims, if it declared any, what it recommends, and its files.

    Parameters
    ----------
    directory : Path
    claims : DataFrame
        As `rankbench.reports.report.frames` returns them.
    recommendation : sequence of str
        Sentences in Markdown, from `rankbench.reports.report.Report`.
    headline : Headline, optional
    """
    from rich.console import Group
    from rich.text import Text

    first = headline.nodes() if headline is not None else []
    parts: list[Node] = [*first, *claims_of_a_run(claims), *map(Paragraph, recommendation)]
    files = [str(path) for path in (directory / name for name in REPORTED) if path.exists()]
    figures = directory / FIGURES
    drawn = sum(path.suffix in PICTURES for path in figures.glob("*"))
    if drawn:
        files.append(f"{figures}/ ({drawn} picture{'s' if drawn != 1 else ''})")
    if files and not recommendation:
        files[0] = f"open {files[0]}"
    return Group(terminal_of(parts), *(Text(one_line(line)) for line in files))


def claims_of_a_run(claims: pl.DataFrame) -> list[Node]:
    """Return how many claims held, and a row for each: verdicts first, then as much of the claim as there is room for.

    A claim stands whole on the leaderboard.
    """
    if not claims.height:
        return []
    units = {split: claims.filter(about=split)["units"].unique(maintain_order=True) for split in SPLITS}
    splits = [split for split in SPLITS if len(units[split])]
    titles = [markdown(" / ".join(units[split])) for split in splits]
    rows, found, late = [], {split: Counter[str]() for split in splits}, False
    groups = claims.group_by("claim", "text", maintain_order=True)
    for (claim, text), own in sorted(groups, key=lambda group: numbered(str(group[0][0]))):
        verdicts = {row["about"]: row["verdict"] for row in own.iter_rows(named=True)}
        for split in verdicts:
            found[split][verdicts[split]] += 1
        knew = own["origin"][0] == "post hoc"
        late = late or knew
        cells = [markdown(str(verdicts.get(split, "—"))) for split in splits]
        rows.append((f"{markdown(str(claim))}{' †' if knew else ''}", *cells, markdown(str(text))))
    said = [
        f"{title}: {', '.join(f'{times} {markdown(verdict)}' for verdict, times in sorted(found[split].items()))}"
        for split, title in zip(splits, titles, strict=True)
    ]
    columns = [Column("claim"), *map(Column, titles), Column("")]
    note = [Paragraph(f"† {LATE}")] if late else []
    return [Grid.from_rows(columns, rows), *note, Paragraph(f"Claims by verdict. {'; '.join(said)}.")]
