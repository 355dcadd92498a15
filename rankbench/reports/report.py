"""A run's leaderboards, figures and rows, from the journal alone."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rankbench.errors import StoreError
from rankbench.reports.analysis import Analysis, analyze
from rankbench.reports.document.markdown import markdown_of
from rankbench.reports.figures import assign_looks, draw_figures
from rankbench.reports.leaderboard import leaderboard
from rankbench.reports.leaderboard_csv import leaderboard_csv
from rankbench.reports.recommendation import recommendations
from rankbench.reports.run_notices import Notice, notices
from rankbench.reports.standings import Standing
from rankbench.reports.units_csv import units_csv
from rankbench.store.export import parquet_bytes, results_frame
from rankbench.store.files import replace_file
from rankbench.store.journal import Journal

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Report", "frames", "report"]

FIGURES = "figures"
SUFFIXES = (".svg", ".png")


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
    """

    paths: list[Path]
    frames: dict[str, pl.DataFrame]
    recommendation: list[str]
    notices: list[Notice]


def report(directory: Path | str) -> Report:
    """Write everything that a run ends in; the same journal gives the same bytes.

    Each file is replaced whole or not at all. Figures (``*.svg`` and ``*.png``) in the
    folder ``figures`` that the present plan does not draw are deleted.

    Parameters
    ----------
    directory : Path or str
        The run's folder, with its journal. It may still be running.

    Returns
    -------
    Report

    Raises
    ------
    StoreError
        No journal, a damaged one, or one that no run has planned anything in; or the
        files cannot be written.
    """
    folder = Path(directory)
    with Journal(folder) as journal:
        analysis, rows = analyze(journal), results_frame(journal)
        recommended = recommendations(analysis)
        contents: dict[str, bytes] = {
            "leaderboard.md": (markdown_of(leaderboard(analysis, recommended)) + "\n").encode(),
            "leaderboard.csv": leaderboard_csv(_rows(analysis)).encode(),
            "results.parquet": parquet_bytes(rows),
        }
        units = units_csv([section.sampler for section in analysis.sections])
        if units:
            contents["units.csv"] = units.encode()
        looks = assign_looks([cast for section in analysis.sections for cast in section.casts])
        for section in analysis.sections:
            drawn = draw_figures(section.sampler, section.casts, looks)
            contents |= {f"{FIGURES}/{name}": data for name, data in drawn.items()}
    try:
        paths = [replace_file(folder / name, data) for name, data in contents.items()]
        _sweep(folder / FIGURES, {path.name for path in paths if path.parent.name == FIGURES})
    except OSError as error:
        raise StoreError(f"{folder}: cannot write the report ({error}); the journal is untouched") from error
    sentences = [line for one in recommended for line in one.answer]
    return Report(paths, _frames(analysis, rows), sentences, notices(analysis))


def frames(directory: Path | str) -> dict[str, pl.DataFrame]:
    """Return a run's tables.

    Parameters
    ----------
    directory : Path or str
        The run's folder.

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
    with Journal(Path(directory)) as journal:
        return _frames(analyze(journal), results_frame(journal))


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
        if path.suffix in SUFFIXES and path.is_file() and path.name not in kept:
            path.unlink()
