"""Results of a run go to Python, to JSON, to a terminal, and to a folder that is published with its rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from rankbench.core.system import FACTS, replace_file
from rankbench.core.text import count_text, one_line
from rankbench.drawing.looks import ON_PAPER
from rankbench.errors import SpecError, StoreError, option
from rankbench.html.page import WEB_PAGE
from rankbench.interfaces.cell import FAILURES, Split
from rankbench.reports.claims_section import claims_in_short, contrast_rows
from rankbench.reports.document import Paragraph, TerminalNode, terminal_of
from rankbench.reports.headline import Headline, Notice, headline_of, notices
from rankbench.reports.latex import latex_tables
from rankbench.reports.references import bibliography
from rankbench.reports.render import FIGURES, PICTURES, Pages, figure_of, pages_of, pictures_of
from rankbench.reports.standings import COLUMNS, values_of
from rankbench.reports.trec_files import trec_files
from rankbench.reports.web_page import PAGE_DATA, leaderboard_html, page_data
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
from rankbench.store.results_frame import parquet_bytes, results_frame
from rankbench.store.store import REPORTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Results:
    """Results of a run.

    Attributes
    ----------
    directory : Path
        Where the leaderboard, the figures and the rows are.
    paths : list of Path
        Files that were written.
    leaderboard : DataFrame
        The rows of ``leaderboard.csv``, not rounded.
    rows : DataFrame
        The rows of ``results.parquet``.
    claims : DataFrame
        The suite's declared claims and their verdicts, a row for each contrast. Claims about curves have no
        ``split``; ``about`` is the one that the protocol declares for the curve.
    recommendation : list of str
        Sentences on the method to use, in Markdown; empty where the suite does not ask.
    failures : dict of str to int
        Number of cells that ended in ``error`` or ``timeout``, by reason.
    skipped : dict of str to int
        Number of cells of contenders that could not take part, by reason.
    notices : list of Notice
        Contenders that were skipped, diverged, failed or are missing in a figure, a sentence each.
    headline : Headline
        Best contenders of the experiment that stands for the suite.
    verdicts : list of TerminalNode
        The claims and their verdicts, for a terminal.
    """

    directory: Path
    paths: list[Path]
    leaderboard: pl.DataFrame
    rows: pl.DataFrame
    claims: pl.DataFrame
    recommendation: list[str]
    failures: dict[str, int]
    skipped: dict[str, int]
    notices: list[Notice]
    headline: Headline
    verdicts: list[TerminalNode]

    def __repr__(self) -> str:
        return f"<results of {self.rows.height} rows in {self.directory}>"

    def plot(self, figure: str = "") -> Figure:
        """Draw a figure of the suite, as in the folder ``figures``.

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
        with open_results(self.directory) as results:
            return figure_of(results, figure)

    def _repr_html_(self) -> str:
        """Return the results' folder and the leaderboard's rows, for a notebook."""
        return f"<p>{escape(str(self.directory))}</p>{self.leaderboard._repr_html_()}"


@dataclass(frozen=True)
class PaperFiles:
    """Places of files for a paper; None: they are not written.

    Attributes
    ----------
    latex : path, optional
        Folder of the tables of the report, each a LaTeX file.
    figures : path, optional
        Folder of the figures as PDF, and as SVG whose letters are text.
    bib : path, optional
        File of BibTeX: rankbench, the data, and the works that contenders, losses and protocols cite.
    trec : path, optional
        Folder of TREC runs and qrels; see `rankbench.reports.trec_files.trec_files`.
    split : {"design", "heldout"}, optional
        Split whose tables LaTeX gets; by default all tables.
    """

    latex: Path | str | None = None
    figures: Path | str | None = None
    bib: Path | str | None = None
    trec: Path | str | None = None
    split: Split | None = None

    def contents(self, pages: Pages, results: StoredResults) -> dict[Path, bytes]:
        """Return the files to write, by path."""
        folders: list[tuple[Path | str | None, Callable[[], Mapping[str, bytes]]]] = [
            (self.latex, lambda: latex_tables(pages.documents, self.split)),
            (self.figures, lambda: pictures_of(pages, ON_PAPER, folder="")),
            (self.trec, lambda: trec_files(results)),
        ]
        found = {Path(folder) / name: data for folder, made in folders if folder for name, data in made().items()}
        return found | ({Path(self.bib): bibliography(pages.analysis).encode()} if self.bib else {})


def report(
    directory: Path | str, out: Path | str | None = None, paper: PaperFiles = PaperFiles(), title: str = ""
) -> Results:
    """Write the report of a run; the same results give the same bytes.

    Each file is replaced whole or not at all. Figures (``*.svg``, ``*.png`` and ``*.csv``) in the
    folder ``figures`` that the present plan does not draw are deleted.

    Parameters
    ----------
    directory : Path or str
        The run's folder, with its journal (it may still be running), or a published one, with its rows.
    out : Path or str, optional
        Publish it: the report, the rows that it is made from, ``run.json`` and ``digests.json`` go to this folder.
        A published folder is published again where it stands.
    paper : PaperFiles, optional
        Files for a paper, which are written too.
    title : str
        Of the published page, and of its rows; that of the suite by default.

    Returns
    -------
    Results

    Raises
    ------
    StoreError
        No results, damaged ones, or a journal that no run has planned anything in; or the
        files cannot be written.
    SpecError
        A title for the page of a run, whose journal stays.
    """
    folder = Path(directory)
    of_run = (folder / FILE).exists()
    if title and of_run and out is None:
        raise SpecError(f"{option('title')} is stored with published rows: give {option('out')} too")
    with open_results(folder) as results:
        if title and (suite := results.contents.suite):
            results.contents.suite = json.dumps({**json.loads(suite), "title": title}, sort_keys=True)
        pages, rows = pages_of(results), results_frame(results)
        analysis, headline = pages.analysis, headline_of(pages.analysis)
        if out is not None or not of_run:
            paths = publish(pages, results, folder, folder if out is None else Path(out))
        else:
            files = {**pages.files, **pictures_of(pages)}
            page = leaderboard_html({**files, PAGE_DATA: page_data(pages)})
            contents = {**files, "results.parquet": parquet_bytes(rows), WEB_PAGE: page}
            try:
                paths = [replace_file(folder / name, data) for name, data in contents.items()]
                _sweep(folder / FIGURES, {path.name for path in paths if path.parent.name == FIGURES})
            except OSError as error:
                raise StoreError(f"{folder}: cannot write the report ({error}); the journal is untouched") from error
        try:
            paths += [replace_file(path, data) for path, data in paper.contents(pages, results).items()]
        except OSError as error:
            raise StoreError(f"cannot write files for a paper: {error}") from error
    standings = [values_of(row) for section in analysis.sections for row in section.rows]

    def reasons(statuses: Collection[str]) -> dict[str, int]:
        cells = rows.filter(pl.col("status").is_in(sorted(statuses))).unique("cell")
        return dict(cells.group_by("reason").len().sort("reason").iter_rows())

    return Results(
        folder if out is None else Path(out),
        paths,
        pl.DataFrame(standings, schema=list(COLUMNS), orient="row", infer_schema_length=None),
        rows,
        pl.DataFrame(contrast_rows(analysis), infer_schema_length=None),
        [line for one in pages.recommended for line in one.answer],
        reasons(FAILURES),
        reasons({"skipped"}),
        notices(analysis, pages.figures),
        headline,
        claims_in_short(analysis),
    )


def _sweep(folder: Path, kept: Collection[str]) -> None:
    """Delete figures that an earlier plan drew and the present one does not."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.suffix in (*PICTURES, ".csv") and path.is_file() and path.name not in kept:
            path.unlink()


def run_record(found: Results) -> dict[str, Any]:
    """Return the results of a run as plain values for JSON; docs/reference/json.md documents them."""
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


def run_summary(found: Results) -> RenderableType:
    """Return a run's recommendation, best contenders, verdicts on claims and files, for a terminal."""
    parts = [*map(Paragraph, found.recommendation), *found.headline.nodes(), *found.verdicts]
    page, *others = [name for name in REPORTED if (found.directory / name).exists()] or ["."]
    if drawn := sum(path.suffix in PICTURES for path in (found.directory / FIGURES).glob("*")):
        others.append(f"{FIGURES}/ ({count_text(drawn, 'picture')})")
    files = [str(found.directory / page), f"beside it: {', '.join(others)}"]
    return Group(terminal_of(parts), *(Text(one_line(line)) for line in files))


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
        `LARGEST` bytes go to ``OUT-rows`` beside it, and the folder gets `PAGE_DATA`.

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
        raise StoreError(
            f"{out}: it holds what nobody published ({next(out.iterdir()).name}); give another {option('out')}"
        )
    rows = published_rows(results)
    inside, apart = out / ROWS, rows_apart(out)
    place = inside if sum(map(len, rows.values())) <= LARGEST else apart
    files = {**pages.files, **pictures_of(pages), FACTS: facts.read_bytes()}
    if place == apart:
        files[PAGE_DATA] = page_data(pages)
    digests = Digests(rows=sha256(rows[MANIFEST]), files={name: sha256(data) for name, data in sorted(files.items())})
    try:
        for name in former.files if former else ():
            if name not in files:
                (out / name).unlink(missing_ok=True)
        for folder in (inside, apart):
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
        paths = _written(out, files) + _written(place, rows)
        text = json.dumps(digests.model_dump(), indent=1, sort_keys=True) + "\n"
        return [*paths, replace_file(out / DIGESTS, text.encode())]
    except OSError as error:
        raise StoreError(f"{out}: cannot write the report ({error}); the results are untouched") from error


def _written(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    return [replace_file(folder / name, data) for name, data in files.items()]
