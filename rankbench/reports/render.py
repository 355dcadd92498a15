"""Pages and pictures of a report are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rankbench.drawing.canvas import picture_bytes
from rankbench.drawing.looks import ON_SCREEN, FileForms, assign_looks
from rankbench.errors import SpecError
from rankbench.reports.analysis import Analysis, analyze
from rankbench.reports.claims_section import contrast_rows
from rankbench.reports.document import Node, csv_of, markdown_of
from rankbench.reports.figures import DrawnFigure, drawn_figures, figure_csv, figure_in_short
from rankbench.reports.leaderboard import leaderboard
from rankbench.reports.leaders import headline_section
from rankbench.reports.over_logs import over_logs
from rankbench.reports.over_page import figures_over_logs
from rankbench.reports.recommendation import Recommendation, recommendations
from rankbench.reports.recommendation_facts import together_level
from rankbench.reports.standings import COLUMNS, units_csv, values_of
from rankbench.store.journal import StoredResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


FIGURES = "figures"
"""Folder of figures."""

PICTURES = (".svg", ".png")
"""Endings of files that fonts and the version of matplotlib have a part in; all others are text."""


class Pages(NamedTuple):
    """A report, but for its pictures.

    Attributes
    ----------
    analysis : Analysis
    recommended : list of Recommendation
    figures : list of DrawnFigure
    documents : dict of str to list of Node
        The leaderboard and the details, by file.
    files : dict of str to bytes
        ``leaderboard.md``, ``details.md``, ``leaderboard.csv``, ``claims.csv`` where something was claimed,
        ``units.csv`` where there are exact numbers or rankings, and ``figures/NAME.csv``, the numbers behind each
        figure.
    """

    analysis: Analysis
    recommended: list[Recommendation]
    figures: list[DrawnFigure]
    documents: dict[str, list[Node]]
    files: dict[str, bytes]


def figure_of(results: StoredResults, file: str = "") -> Canvas:
    """Return one figure of stored results, as `pictures_of` draws it.

    Parameters
    ----------
    results : StoredResults
    file : str
        Without its ending; by default the figure that the leaderboard begins with, or else the first.

    Raises
    ------
    SpecError
        There is no such figure.
    """
    analysis = analyze(results)
    figures = {one.figure.file: one for one in _figures(analysis)}
    first = headline_section(analysis)
    of_first = [figure.file for figure in first.data.experiment.figures] if first else []
    chosen = file or next(iter([*of_first, *figures]), "")
    if chosen not in figures:
        raise SpecError(f"the suite has no figure {chosen!r}; figures: {', '.join(figures) or 'none'}")
    return figures[chosen].canvas(assign_looks([one.drawing for one in figures.values()]))


def _figures(analysis: Analysis) -> list[DrawnFigure]:
    own = [
        one for section in analysis.sections for one in drawn_figures(section.data, together_level(section, analysis))
    ]
    first = headline_section(analysis)
    short = [part for one in own if first and one.data is first.data for part in figure_in_short(one)]
    return [*figures_over_logs(over_logs(analysis.sections)), *own, *short[:1]]


def pages_of(results: StoredResults) -> Pages:
    """Return the report of stored results; the same results give the same bytes."""
    analysis = analyze(results)
    recommended, figures = recommendations(analysis), _figures(analysis)
    rows = [row for section in analysis.sections for row in section.rows]
    documents = leaderboard(analysis, recommended, figures)
    files = {
        **{name: f"{markdown_of(blocks)}\n" for name, blocks in documents.items()},
        "leaderboard.csv": csv_of(COLUMNS, map(values_of, rows), {"optimality"}),
    }
    if claims := contrast_rows(analysis):
        files["claims.csv"] = csv_of([*claims[0]], [[*row.values()] for row in claims])
    if units := units_csv([section.data for section in analysis.sections]):
        files["units.csv"] = units
    files |= {f"{FIGURES}/{one.figure.file}.csv": figure_csv(one.drawing) for one in figures}
    return Pages(analysis, recommended, figures, documents, {name: text.encode() for name, text in files.items()})


def pictures_of(pages: Pages, forms: FileForms = ON_SCREEN, folder: str = f"{FIGURES}/") -> dict[str, bytes]:
    """Return the figures of a report by file, as SVG and PNG by default."""
    looks = assign_looks([one.drawing for one in pages.figures])
    return {
        f"{folder}{one.figure.file}.{suffix}": data
        for one in pages.figures
        for suffix, data in picture_bytes(one.canvas(looks), forms).items()
    }
