"""How the program starts and ends: watched over where it may run foreign code, and with somewhere to print to."""

from __future__ import annotations

import atexit
import codecs
import contextlib
import errno
import gc
import io
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

__all__ = ["start"]

_NEVER_FORKED = ("numpy", "polars", "numba")
"""With these the process has threads, which a child would not have."""


def start(main: Callable[[], object], words: Sequence[str]) -> NoReturn:
    """Run the program on the words after its name, and end the process with its exit code."""
    _standard_files()
    if not _ours_alone(words):
        from rankbench.system import collect_seldom

        collect_seldom()
        if sys.platform == "linux" and _may_fork():
            from rankbench.cli.watched import watched

            watched(partial(_code, main))
    sys.exit(_code(main))


def _ours_alone(words: Sequence[str]) -> bool:
    """Return whether nothing foreign can be imported: ``--help`` and ``--version`` before any verb."""
    return bool(words) and all(word.startswith("-") for word in words)


def _may_fork() -> bool:
    return threading.active_count() == 1 and not any(map(sys.modules.get, _NEVER_FORKED))


def _standard_files() -> None:
    """Refuse to start without standard output; give other standard files that are closed to nobody.

    A file opened later would get their numbers, and be written to by whoever prints.
    """
    printing = sys.stdout is not None
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error("rankbench-print", _printable)
        sys.stdout.reconfigure(errors="rankbench-print")
    if not printing:
        sys.stderr.write("error: standard output is closed: there is nowhere to print to\n")
        sys.exit(1)


def _printable(error: UnicodeError) -> tuple[bytes, int]:
    """Return what is printed of characters that the output has no bytes for: those of a file's name, or an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    try:
        return characters.encode(error.encoding, "surrogateescape"), error.end
    except UnicodeEncodeError:
        return characters.encode("ascii", "backslashreplace"), error.end


def _code(main: Callable[[], object]) -> int:
    """Run the program; return its exit code."""
    try:
        return _main(main)
    finally:
        atexit.register(_answered)  # the last to be registered is called first
        # As Python ends it would look for cycles in all that was imported, a seventh of a short command's time.
        gc.freeze()


def _main(main: Callable[[], object]) -> int:
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return _flushed(end.code or 0)
        raise
    except KeyboardInterrupt:  # while it starts or ends
        sys.stderr.write("interrupted\n")
        return _flushed(130)
    except OSError as error:
        # Of a file with a name the verbs' group has said it; and a closed pipe is click's business.
        if error.filename is not None or error.errno is None:
            raise
        import tempfile

        full = f"; is there space in {tempfile.gettempdir()}?" if error.errno == errno.ENOSPC else ""
        sys.stderr.write(f"error: {error.strerror}, of standard output or a temporary file{full}\n")
        _flushed(1)
        return 1
    return _flushed(0)


def _answered() -> None:
    """Have what a plugin prints as Python ends go to standard error: the answer is complete."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.dup2(2, 1)


def _flushed(code: int) -> int:
    """Print what is left to be printed, or say that it cannot be."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # Nothing more comes of it, at the interpreter's end either.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return code or 1
        sys.stderr.write(f"error: standard output: {error.strerror}\n")
        return code or 1
    return code
