"""What a report consists of: words, numbers and the figures' data as text, and the pictures drawn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rankbench.errors import SpecError
from rankbench.kinds.figure import Drawing
from rankbench.reports.analysis import Analysis, analyze
from rankbench.reports.cases import together_level
from rankbench.reports.document.markdown import markdown_of
from rankbench.reports.figures import assign_looks, draw_figures, drawings_of, figure_canvas
from rankbench.reports.figures.data import figure_csv
from rankbench.reports.leaderboard import leaderboard
from rankbench.reports.leaderboard_csv import leaderboard_csv
from rankbench.reports.opening import headline_section
from rankbench.reports.recommendation import Recommendation, recommendations
from rankbench.reports.units_csv import units_csv
from rankbench.store.stored import StoredResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["FIGURES", "PICTURES", "Pages", "figure_of", "pages_of", "pictures_of"]

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
    drawings : list of list of Drawing
        Of each section.
    files : dict of str to bytes
        ``leaderboard.md``, ``leaderboard.csv``, ``units.csv`` where there are exact numbers or rankings, and
        ``figures/NAME.csv``, the numbers behind each figure.
    """

    analysis: Analysis
    recommended: list[Recommendation]
    drawings: list[list[Drawing]]
    files: dict[str, bytes]


def figure_of(results: StoredResults, file: str = "") -> Canvas:
    """Return one figure of stored results, as matplotlib has it: as `pictures_of` draws it.

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
    figures = {
        figure.file: (section, place)
        for section in analysis.sections
        for place, figure in enumerate(section.sampler.experiment.figures)
    }
    first = headline_section(analysis)
    of_first = [figure.file for figure in first.sampler.experiment.figures] if first else []
    chosen = file or next(iter([*of_first, *figures]), "")
    if chosen not in figures:
        known = ", ".join(figures) or "none"
        raise SpecError(f"the suite has no figure {chosen!r}; figures: {known}")
    section, place = figures[chosen]
    drawings = drawings_of(section.sampler, section.casts, together_level(section, analysis))
    looks = assign_looks([cast for one in analysis.sections for cast in one.casts])
    figure = section.sampler.experiment.figures[place]
    return figure_canvas(section.sampler, figure, section.casts[place], drawings[place], looks)


def pages_of(results: StoredResults) -> Pages:
    """Return the report of stored results; the same results give the same bytes."""
    analysis = analyze(results)
    recommended = recommendations(analysis)
    rows = [row for section in analysis.sections for row in section.rows]
    files = {
        "leaderboard.md": markdown_of(leaderboard(analysis, recommended)) + "\n",
        "leaderboard.csv": leaderboard_csv(rows),
    }
    units = units_csv([section.sampler for section in analysis.sections])
    if units:
        files["units.csv"] = units
    drawings = [
        drawings_of(section.sampler, section.casts, together_level(section, analysis)) for section in analysis.sections
    ]
    for section, drawn in zip(analysis.sections, drawings, strict=True):
        for figure, drawing in zip(section.sampler.experiment.figures, drawn, strict=True):
            files[f"{FIGURES}/{figure.file}.csv"] = figure_csv(drawing)
    return Pages(analysis, recommended, drawings, {name: text.encode() for name, text in files.items()})


def pictures_of(pages: Pages) -> dict[str, bytes]:
    """Return the figures of a report, each as SVG and PNG."""
    sections = pages.analysis.sections
    looks = assign_looks([cast for section in sections for cast in section.casts])
    found: dict[str, bytes] = {}
    for section, drawings in zip(sections, pages.drawings, strict=True):
        drawn = draw_figures(section.sampler, section.casts, drawings, looks)
        found |= {f"{FIGURES}/{name}": data for name, data in drawn.items()}
    return found
