"""Pages and pictures of a report are made, written and published."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rankbench.core.system import FACTS, replace_file
from rankbench.drawing.canvas import picture_bytes
from rankbench.drawing.looks import ON_PAPER, assign_looks
from rankbench.errors import SpecError, StoreError
from rankbench.reports.analysis import Analysis, analyze
from rankbench.reports.claims_section import contrast_rows
from rankbench.reports.document import Node, csv_of, markdown_of
from rankbench.reports.figures import DrawnFigure, drawn_figures, figure_csv
from rankbench.reports.leaderboard import leaderboard
from rankbench.reports.leaderboard_intro import headline_section
from rankbench.reports.recommendation import Recommendation, recommendations
from rankbench.reports.recommendation_facts import together_level
from rankbench.reports.standings import COLUMNS, units_csv, values_of
from rankbench.store.journal import StoredResults
from rankbench.store.published import (
    DIGESTS,
    MANIFEST,
    ROWS,
    Digests,
    published_rows,
    read_digests,
    rows_apart,
    sha256,
)

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
    of_first = [figure.file for figure in first.sampler.experiment.figures] if first else []
    chosen = file or next(iter([*of_first, *figures]), "")
    if chosen not in figures:
        raise SpecError(f"the suite has no figure {chosen!r}; figures: {', '.join(figures) or 'none'}")
    return figures[chosen].canvas(assign_looks([one.drawing for one in figures.values()]))


def _figures(analysis: Analysis) -> list[DrawnFigure]:
    return [
        one
        for section in analysis.sections
        for one in drawn_figures(section.sampler, together_level(section, analysis))
    ]


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
    claims = contrast_rows(analysis)
    if claims:
        files["claims.csv"] = csv_of([*claims[0]], [[*row.values()] for row in claims])
    units = units_csv([section.sampler for section in analysis.sections])
    if units:
        files["units.csv"] = units
    files |= {f"{FIGURES}/{one.figure.file}.csv": figure_csv(one.drawing) for one in figures}
    return Pages(analysis, recommended, figures, documents, {name: text.encode() for name, text in files.items()})


def pictures_of(pages: Pages) -> dict[str, bytes]:
    """Return the figures of a report, each as SVG and PNG."""
    looks = assign_looks([one.drawing for one in pages.figures])
    return {
        f"{FIGURES}/{one.figure.file}.{suffix}": data
        for one in pages.figures
        for suffix, data in picture_bytes(one.canvas(looks)).items()
    }


def paper_figures(pages: Pages) -> dict[str, bytes]:
    """Return the figures of a report for a paper, by file: PDF, and SVG whose letters are text."""
    looks = assign_looks([one.drawing for one in pages.figures])
    return {
        f"{one.figure.file}.{suffix}": data
        for one in pages.figures
        for suffix, data in picture_bytes(one.canvas(looks), ON_PAPER).items()
    }


LARGEST = 5_000_000
"""Bytes of rows that a published folder holds; more are kept beside it, as an asset of a release."""


def publish(pages: Pages, results: StoredResults, source: Path, out: Path) -> list[Path]:
    """Write a folder to be published.

    Parameters
    ----------
    pages : Pages
    results : StoredResults
        Source of the pages.
    source : Path
        Folder whose ``run.json`` is published too.
    out : Path
        A new folder, an empty one, or one that was published before, whose files are replaced. Rows of more than
        `LARGEST` bytes go to ``OUT-rows`` beside it.

    Returns
    -------
    list of Path

    Raises
    ------
    StoreError
        The run has not ended, the folder holds anything else, or a file cannot be written.
    """
    facts = source / FACTS
    if not facts.is_file():
        raise StoreError(f"{source}: it has no {FACTS}, which a run writes at its end; let the run end first")
    former = read_digests(out)
    if former is None and out.exists() and any(out.iterdir()):
        raise StoreError(f"{out}: it holds what nobody published ({next(out.iterdir()).name}); give another --out")
    rows = published_rows(results)
    files = {**pages.files, **pictures_of(pages), FACTS: facts.read_bytes()}
    digests = Digests(rows=sha256(rows[MANIFEST]), files={name: sha256(data) for name, data in sorted(files.items())})
    inside, apart = out / ROWS, rows_apart(out)
    try:
        for name in former.files if former else ():
            if name not in files:
                (out / name).unlink(missing_ok=True)
        for folder in (inside, apart):
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
        place = inside if sum(map(len, rows.values())) <= LARGEST else apart
        paths = _written(out, files) + _written(place, rows)
        text = json.dumps(digests.model_dump(), indent=1, sort_keys=True) + "\n"
        return [*paths, replace_file(out / DIGESTS, text.encode())]
    except OSError as error:
        raise StoreError(f"{out}: cannot write the report ({error}); the results are untouched") from error


def _written(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    return [replace_file(folder / name, data) for name, data in files.items()]
