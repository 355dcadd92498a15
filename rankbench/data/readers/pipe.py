"""What is piped in, as a file: a log is read more than once, a pipe cannot be."""

from __future__ import annotations

import atexit
import shutil
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from rankbench.errors import InputError
from rankbench.scratch import scratch

__all__ = ["piped"]


@cache
def piped() -> Path:
    """Return a file with all that comes through standard input; it is there until the program ends.

    Its ending is that of what its first bytes look like: where no reader knows them, of CSV.

    Raises
    ------
    InputError
        Nothing is piped in.
    """
    from rankbench.data.readers.choose import choose_reader

    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- is what is piped in, as in `cat votes.csv | rankbench aggregate -`, and nothing is")
    kept = ExitStack()
    atexit.register(kept.close)
    path = kept.enter_context(scratch()) / "stdin"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    try:
        choose_reader(path)
    except InputError:
        return path.rename(path.with_suffix(".csv")) if path.stat().st_size else path
    return path
