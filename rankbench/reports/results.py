"""Results give what a run left: to Python, as JSON, and on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankbench.core.text import markdown, numbered, one_line
from rankbench.interfaces.cell import FAILURES, SPLITS
from rankbench.reports.claims_section import LATE
from rankbench.reports.document import Column, Grid, Node, Paragraph, terminal_of
from rankbench.reports.headline import Headline, Notice
from rankbench.reports.render import FIGURES, PICTURES, Report
from rankbench.store.store import REPORTED

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure
    from rich.console import RenderableType


@dataclass(frozen=True, repr=False)
class Results:
    """What a run left behind.

    Attributes
    ----------
    directory : Path
        Where the leaderboard, the figures and the rows are.
    leaderboard : DataFrame
        The rows of ``leaderboard.csv``.
    rows : DataFrame
        The rows of ``results.parquet``.
    claims : DataFrame
        The suite's declared claims and what became of them, a row for each contrast.
    recommendation : list of str
        Which method to use, a sentence each, in Markdown; empty where the suite does not ask.
    failures : dict of str to int
        Number of cells that ended in ``error`` or ``timeout``, by reason.
    skipped : dict of str to int
        Number of cells of contenders that could not take part, by reason.
    notices : list of Notice
        What was skipped, diverged, failed or left out of a figure, a sentence each.
    headline : Headline
        Who is best in the experiment that stands for the suite.
    """

    directory: Path
    leaderboard: pl.DataFrame
    rows: pl.DataFrame
    claims: pl.DataFrame
    recommendation: list[str]
    failures: dict[str, int]
    skipped: dict[str, int]
    notices: list[Notice]
    headline: Headline

    def __repr__(self) -> str:
        return f"<results of {self.rows.height} rows in {self.directory}>"

    def plot(self, figure: str = "") -> Figure:
        """Draw a figure of the suite, as it is in the folder ``figures``.

        Parameters
        ----------
        figure : str
            Its file without the ending, as "figure-3"; by default the one that the leaderboard begins with.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        SpecError
            The suite has no such figure.
        StoreError
            The results are not in their folder any more.
        """
        from rankbench.reports.render import figure_of
        from rankbench.store.published import open_results

        with open_results(self.directory) as results:
            return figure_of(results, figure)

    def _repr_html_(self) -> str:
        """Return where the results are and the leaderboard's rows, for a notebook."""
        return f"<p>{escape(str(self.directory))}</p>{self.leaderboard._repr_html_()}"


def results_of(directory: Path, made: Report) -> Results:
    """Return what a run left behind, from its report."""
    import polars as pl

    found = made.frames

    def reasons(statuses: Collection[str]) -> dict[str, int]:
        cells = found["rows"].filter(pl.col("status").is_in(sorted(statuses))).unique("cell")
        return dict(cells.group_by("reason").len().sort("reason").iter_rows())

    return Results(
        directory,
        found["leaderboard"],
        found["rows"],
        found["claims"],
        made.recommendation,
        reasons(FAILURES),
        reasons({"skipped"}),
        made.notices,
        made.headline,
    )


def run_record(found: Results) -> dict[str, Any]:
    """Return what a run ends in as plain values for JSON; docs/json.md documents them."""
    names = ("experiment", "claim", "text", "about", "verdict", "origin")
    claims = found.claims.select(names).unique(maintain_order=True).to_dicts() if found.claims.height else []
    return {
        "directory": str(found.directory),
        "files": [str(path) for path in (found.directory / name for name in REPORTED) if path.exists()],
        **found.headline.as_dict(),
        "recommendation": found.recommendation,
        "claims": claims,
        "notices": [one._asdict() for one in found.notices],
        "failures": found.failures,
        "skipped": found.skipped,
    }


def run_summary(
    directory: Path, claims: pl.DataFrame, recommendation: Sequence[str] = (), headline: Headline | None = None
) -> RenderableType:
    """Return who is best, the verdicts on a run's claims, if it declared any, what it recommends, and its files.

    Parameters
    ----------
    directory : Path
    claims : DataFrame
        As `rankbench.reports.render.frames` returns them.
    recommendation : sequence of str
        Sentences in Markdown, from `rankbench.reports.render.Report`.
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
