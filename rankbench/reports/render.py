"""A report writes and publishes text, numbers and pictures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rankbench.core.system import FACTS, damaged_facts, replace_file
from rankbench.drawing.looks import assign_looks
from rankbench.errors import SpecError, StoreError
from rankbench.interfaces.figure import Drawing
from rankbench.reports.analysis import Analysis, analyze
from rankbench.reports.document import markdown_of
from rankbench.reports.figures import draw_figures, drawings_of, figure_canvas, figure_csv
from rankbench.reports.headline import Headline, Notice, headline_of, notices
from rankbench.reports.leaderboard import leaderboard
from rankbench.reports.leaderboard_intro import headline_section
from rankbench.reports.recommendation import Recommendation, recommendations
from rankbench.reports.recommendation_facts import together_level
from rankbench.reports.standings import Standing, leaderboard_csv, units_csv
from rankbench.store.export import parquet_bytes, results_frame
from rankbench.store.journal import FILE, StoredResults
from rankbench.store.published import (
    DIGESTS,
    MANIFEST,
    ROWS,
    Digests,
    open_results,
    published_rows,
    read_digests,
    rows_apart,
    sha256,
)

if TYPE_CHECKING:
    import polars as pl
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


LARGEST = 5_000_000
"""Bytes of rows that a published folder holds; more are kept beside it, as an asset of a release."""


def publish(pages: Pages, results: StoredResults, source: Path, out: Path) -> list[Path]:
    """Write a folder to be published.

    Parameters
    ----------
    pages : Pages
    results : StoredResults
        What the pages were made from.
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


class Report(NamedTuple):
    """What `report` made.

    Attributes
    ----------
    paths : list of Path
        ``leaderboard.md``, ``leaderboard.csv``, ``results.parquet``, ``units.csv`` where
        there are exact numbers or rankings, and the figures.
    frames : dict of str to polars.DataFrame
        See `frames`.
    recommendation : list of str
        Which method to use, a sentence each, in Markdown; empty where the suite does not ask.
    notices : list of Notice
        What was skipped, diverged, failed or left out of a figure.
    headline : Headline
        Who is best.
    """

    paths: list[Path]
    frames: dict[str, pl.DataFrame]
    recommendation: list[str]
    notices: list[Notice]
    headline: Headline


def report(directory: Path | str, out: Path | str | None = None, *, ended: bool = True) -> Report:
    """Write everything that a run ends in; the same results give the same bytes.

    Each file is replaced whole or not at all. Figures (``*.svg``, ``*.png`` and ``*.csv``) in the
    folder ``figures`` that the present plan does not draw are deleted.

    Parameters
    ----------
    directory : Path or str
        The run's folder, with its journal (it may still be running), or a published one, with its rows.
    out : Path or str, optional
        Publish it: the report, the rows that it is made from, ``run.json`` and ``digests.json`` go to this folder.
        A published folder is published again where it stands.
    ended : bool
        Say what is wrong with the ``run.json`` of a run's folder, which a run writes last.

    Returns
    -------
    Report

    Raises
    ------
    StoreError
        No results, damaged ones, or a journal that no run has planned anything in; or the
        files cannot be written.
    """
    folder = Path(directory)
    said = damaged_facts(folder) if ended and (folder / FILE).exists() else ""
    with open_results(folder) as results:
        pages, rows = pages_of(results), results_frame(results)
        headline = headline_of(pages.analysis)
        if out is not None or not (folder / FILE).exists():
            paths = publish(pages, results, folder, folder if out is None else Path(out))
        else:
            contents = {**pages.files, **pictures_of(pages), "results.parquet": parquet_bytes(rows)}
            try:
                paths = [replace_file(folder / name, data) for name, data in contents.items()]
                _sweep(folder / FIGURES, {path.name for path in paths if path.parent.name == FIGURES})
            except OSError as error:
                raise StoreError(f"{folder}: cannot write the report ({error}); the journal is untouched") from error
    sentences = [line for one in pages.recommended for line in one.answer]
    analysis = pages.analysis
    noticed = [*([Notice("damaged", said)] if said else []), *notices(analysis)]
    return Report(paths, _frames(analysis, rows), sentences, noticed, headline)


def frames(directory: Path | str) -> dict[str, pl.DataFrame]:
    """Return a run's tables.

    Parameters
    ----------
    directory : Path or str
        The run's folder, or a published one.

    Returns
    -------
    dict of str to polars.DataFrame
        ``rows``: those of ``results.parquet``. ``leaderboard``: those of
        ``leaderboard.csv``, not rounded. ``claims``: a row for each contrast of each claim;
        claims about curves have no ``split``, ``about`` is the one that the protocol declares for the curve.

    Raises
    ------
    StoreError
        As in `report`.
    """
    with open_results(Path(directory)) as results:
        return _frames(analyze(results), results_frame(results))


def _frames(analysis: Analysis, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    import polars as pl

    from rankbench.reports.standings import COLUMNS, values_of

    standings = [values_of(row) for row in _rows(analysis)]
    answers = [
        {
            "experiment": answer.experiment,
            "claim": answer.claim.id,
            "text": answer.claim.text,
            "kind": answer.claim.kind,
            "split": answer.split,
            "about": answer.about,
            "units": section.sampler.source.short(answer.about),
            "verdict": answer.verdict,
            "by_draws": answer.by_draws,
            "contrast": finding.text if finding else None,
            "estimate": finding.estimate if finding else None,
            "lower": finding.lower if finding else None,
            "upper": finding.upper if finding else None,
            "lower_draws": finding.lower_draws if finding else None,
            "upper_draws": finding.upper_draws if finding else None,
            "own_lower": finding.own_lower if finding else None,
            "own_upper": finding.own_upper if finding else None,
            "origin": answer.claim.origin,
        }
        for section in analysis.sections
        for answer in section.answers
        for finding in (answer.findings or (None,))
    ]
    return {
        "rows": rows,
        "leaderboard": pl.DataFrame(standings, schema=list(COLUMNS), orient="row", infer_schema_length=None),
        "claims": pl.DataFrame(answers, infer_schema_length=None),
    }


def _rows(analysis: Analysis) -> list[Standing]:
    return [row for section in analysis.sections for row in section.rows]


def _sweep(folder: Path, kept: Collection[str]) -> None:
    """Delete figures that an earlier plan drew and the present one does not."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.suffix in (*PICTURES, ".csv") and path.is_file() and path.name not in kept:
            path.unlink()
