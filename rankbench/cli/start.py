"""How the program starts and ends: with somewhere to print to, and with a line about what cannot be printed."""

from __future__ import annotations

import atexit
import codecs
import contextlib
import errno
import gc
import io
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from rankbench.system import collect_seldom

__all__ = ["start"]


def start(main: Callable[[], object]) -> NoReturn:
    """Run the program, and end the process with its exit code."""
    _standard_files()
    collect_seldom()
    try:
        sys.exit(_flushed(main))
    finally:
        atexit.register(_answered)  # the last to be registered is called first
        # As Python ends it would look for cycles in all that was imported, a seventh of a short command's time.
        gc.freeze()


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
    if not printing:
        sys.exit("error: standard output is closed: there is nowhere to print to")
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error("rankbench-print", _printable)
        sys.stdout.reconfigure(errors="rankbench-print")


def _printable(error: UnicodeError) -> tuple[bytes, int]:
    """Return what is printed of characters that the output has no bytes for: those of a file's name, or an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    try:
        return characters.encode(error.encoding, "surrogateescape"), error.end
    except UnicodeEncodeError:
        return characters.encode("ascii", "backslashreplace"), error.end


def _flushed(main: Callable[[], object]) -> int:
    """Run the program and print what is left to be printed; return its exit code."""
    code = 0
    try:
        try:
            main()
        except SystemExit as end:
            if not isinstance(end.code, int | None):
                raise
            code = end.code or 0
        sys.stdout.flush()
    except KeyboardInterrupt:  # while it starts or ends
        sys.stderr.write("interrupted\n")
        return 130
    except OSError as error:
        # Of a file with a name the group of verbs has said it.
        if error.filename is not None or error.errno is None:
            raise
        # Nothing more comes of standard output, at the interpreter's end either.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            import tempfile

            full = f"; is there space in {tempfile.gettempdir()}?" if error.errno == errno.ENOSPC else ""
            sys.stderr.write(f"error: {error.strerror}, of standard output or a temporary file{full}\n")
        return code or 1
    return code


def _answered() -> None:
    """Have what a plugin prints as Python ends go to standard error: the answer is complete."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.dup2(2, 1)
