"""A folder to be published: the report of a run, the rows that it is made from, and the sha256 of every file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from rankbench.errors import StoreError
from rankbench.reports.pages import Pages, pictures_of
from rankbench.store.files import FACTS, replace_file
from rankbench.store.published import MANIFEST, ROWS, published_rows, rows_apart, sha256
from rankbench.store.published_files import DIGESTS, Digests, read_digests
from rankbench.store.stored import StoredResults

__all__ = ["LARGEST", "publish"]

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
