"""What is piped in, as a file: a log is read more than once, a pipe cannot be."""

from __future__ import annotations

import atexit
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from rankbench.errors import InputError
from rankbench.resources import GB, free_disk

__all__ = ["piped"]

_BLOCK = 1 << 20

_SHARE = 2
"""One part in so many of what is free may be taken: others need room there, too."""

_ELSEWHERE = "give a file, or set TMPDIR to where there is room"


@cache
def piped() -> Path:
    """Return a file with all that comes through standard input; it is there until the program ends.

    Its ending is that of what its first bytes look like: where no reader knows them, of CSV.

    Raises
    ------
    InputError
        Nothing is piped in; it is no text and of no format that is known; or more comes than there is room for.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- is what is piped in, as in `cat votes.csv | rankbench aggregate -`, and nothing is")
    with ExitStack() as kept:
        folder = kept.enter_context(TemporaryDirectory(prefix="rankbench-", ignore_cleanup_errors=True))
        path = _filled(Path(folder) / "stdin", sys.stdin.buffer)
        atexit.register(kept.pop_all().close)
    return path


def _filled(path: Path, source: IO[bytes]) -> Path:
    """Write all that comes to a file; return it under the name that says its format."""
    from rankbench.data.readers.choose import choose_reader

    room = free_disk(path.parent)
    size = 0
    try:
        with path.open("wb") as file:
            while block := source.read(_BLOCK):
                size += len(block)
                if room is not None and size > room // _SHARE:
                    raise InputError(
                        f"-: more than {room / _SHARE / GB:,.3f} GB were piped in, and {room / GB:,.3f} GB are free in "
                        f"{path.parent.parent}, of which half is taken; {_ELSEWHERE}"
                    )
                file.write(block)
                if size == len(block):
                    file.flush()
                    try:
                        choose_reader(path)
                    except InputError:
                        path = path.rename(path.with_suffix(".csv"))
                        _check_text(path)
    except OSError as error:
        raise InputError(
            f"-: what is piped in cannot be kept in {path.parent.parent} ({error.strerror}, after "
            f"{size / GB:,.3f} GB); {_ELSEWHERE}"
        ) from error
    return path


def _check_text(path: Path) -> None:
    """Refuse what is no text, as it may have no end; what else is wrong with it is said by who reads it."""
    from rankbench.data.readers.text_lines import NULLS, head

    try:
        first = head(path, _BLOCK)
    except InputError:
        return
    if 0 in first:
        raise InputError(f"-: {NULLS}")
