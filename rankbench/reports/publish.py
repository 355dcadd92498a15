"""A report is published with its rows, digests of all files, and data of a page without rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from rankbench.core.system import FACTS, replace_file
from rankbench.errors import StoreError
from rankbench.reports.render import Pages, pictures_of
from rankbench.reports.web_page import PAGE_DATA, page_data
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
        raise StoreError(f"{out}: it holds what nobody published ({next(out.iterdir()).name}); give another --out")
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
