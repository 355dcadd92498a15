"""What a run left behind, as Python gets it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankbench.kinds.cell import FAILURES
from rankbench.reports.headline import Headline
from rankbench.reports.report import Report
from rankbench.reports.run_notices import Notice
from rankbench.store.store import REPORTED

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["Results", "results_of", "run_record"]


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
        from rankbench.reports.pages import figure_of
        from rankbench.store.open import open_results

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
