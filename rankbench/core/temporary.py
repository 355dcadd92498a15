"""Temporary folders are removed when they are no longer needed, and when the process is told to end."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_folders: set[Path] = set()
"""Folders that are there now."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that is there as long as the context lasts."""
    with TemporaryDirectory(prefix="rankbench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _folders.add(folder)
        try:
            yield folder
        finally:
            _folders.discard(folder)


@contextmanager
def kept_folder() -> Iterator[Path]:
    """Make a folder that is there until the process ends, unless the context ends by an exception."""
    with ExitStack() as kept:
        yield kept.enter_context(temporary_folder())
        atexit.register(kept.pop_all().close)


def remove_folders() -> None:
    """Remove all folders at once, for a process that can wait for nothing."""
    for folder in tuple(_folders):
        shutil.rmtree(folder, ignore_errors=True)
