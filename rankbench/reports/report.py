"""A run's leaderboards, figures and rows, from what it stored alone."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rankbench.errors import StoreError
from rankbench.reports.analysis import Analysis, analyze
from rankbench.reports.headline import Headline, headline_of
from rankbench.reports.pages import FIGURES, PICTURES, pages_of, pictures_of
from rankbench.reports.publish import publish
from rankbench.reports.run_notices import Notice, notices
from rankbench.reports.standings import Standing
from rankbench.store.export import parquet_bytes, results_frame
from rankbench.store.file import FILE
from rankbench.store.files import damaged_facts, replace_file
from rankbench.store.open import open_results

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Report", "frames", "report"]


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

    from rankbench.reports.leaderboard_csv import COLUMNS, values_of

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
