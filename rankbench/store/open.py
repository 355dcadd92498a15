"""Opening the results of a folder: of a run, or a published one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankbench.errors import StoreError
from rankbench.store.file import FILE
from rankbench.store.journal import Journal
from rankbench.store.published import PublishedRows, rows_apart, rows_folder
from rankbench.store.published_files import DIGESTS, check_listed
from rankbench.store.stored import StoredResults

__all__ = ["holds_results", "open_results"]


def holds_results(directory: Path) -> bool:
    """Return whether a folder has results: a journal, or published rows in it or beside it."""
    return (directory / FILE).exists() or rows_folder(directory) is not None


@contextmanager
def open_results(directory: Path, rows: Path | None = None, *, listed: bool = True) -> Iterator[StoredResults]:
    """Open the results of a run's folder, or of a published one.

    Parameters
    ----------
    directory : Path
        A folder with a journal, which then counts, or with published rows in it or beside it.
    rows : Path, optional
        Folder of published rows that are kept elsewhere.
    listed : bool
        Refuse rows in the folder, or beside it, that are not those that it says it was published with.

    Raises
    ------
    StoreError
        There are neither, or they are damaged, or others.
    """
    if rows is None and (directory / FILE).exists():
        with Journal(directory) as journal:
            yield journal
        return
    found = rows or rows_folder(directory)
    if found is None:
        if (directory / DIGESTS).exists():
            raise StoreError(
                f"{directory}: its rows are not here: put them beside it, as "
                f"{rows_apart(directory).name} (or say where they are: rankbench verify --rows FOLDER)"
            )
        raise StoreError(
            f"{directory}: there are no results here: neither {FILE} (a run's folder, its --out) nor rows (a published "
            "one)"
        )
    opened = PublishedRows(found)
    if listed and rows is None:
        check_listed(directory, opened)
    yield opened
