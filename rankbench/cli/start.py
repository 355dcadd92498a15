"""How the program starts and ends: watched over, and with somewhere to print to.

Foreign code is imported and called in the program's own process here and there (a plugin's module, its hook, a
protocol's preparation), and may end it: `os._exit(0)` looks like success. So on Linux the program runs in a child, and
the process that was started waits for its verdict: an end without one is a failure, which says what was going on.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from rankbench.lifeline import Lifeline

__all__ = ["start"]

_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")

_NEVER_FORKED = ("numpy", "polars", "numba")
"""With these the process has threads, which a child would not have."""


def start(main: Callable[[], object]) -> NoReturn:
    """Run the program, and end the process with its exit code."""
    from rankbench.system import collect_seldom

    _standard_files()
    collect_seldom()
    if sys.platform == "linux" and threading.active_count() == 1 and not any(map(sys.modules.get, _NEVER_FORKED)):
        _watched(main)
    sys.exit(_code(main))


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
        sys.stderr.write("error: standard output is closed: there is nowhere to print to\n")
        sys.exit(1)


def _code(main: Callable[[], object]) -> int:
    """Run the program; return its exit code."""
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


def _watched(main: Callable[[], object]) -> NoReturn:
    """Run the program in a child, and end as it does."""
    from rankbench.lifeline import Lifeline, hold

    line, parent = Lifeline(), os.getpid()
    passed = {getattr(signal, name) for name in _PASSED_ON}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*passed, signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        from rankbench.system import die_with

        die_with(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, _once())
        hold(line)
        command = " ".join(["rankbench", *sys.argv[1:]])
        line.says(f"`{''.join(c if c.isprintable() else '?' for c in command)}` was going on")
        try:
            code = _code(main)
        except BaseException:
            line.ends(1)
            raise
        line.ends(code)
        sys.exit(code)
    sent = 0
    while True:
        told = signal.sigwaitinfo({*passed, signal.SIGCHLD})
        if told.si_signo != signal.SIGCHLD:
            # The terminal has sent it to the child, too; somebody else has not.
            if told.si_code <= 0:
                sent = told.si_signo
                os.kill(child, sent)
            continue
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            _end(line, os.waitstatus_to_exitcode(status), sent)


def _once() -> Callable[[int, object], None]:
    """Return what interrupts the program, not twice where a group is sent a signal that is passed on, too."""
    last = -math.inf

    def interrupt(number: int, frame: object) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last > before + 1:
            raise KeyboardInterrupt

    return interrupt


def _end(line: Lifeline, code: int, sent: int) -> NoReturn:
    """End as the child did."""
    verdict = line.verdict()
    if -code in (sent, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT) and code:
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    if verdict is None:
        how = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        during = line.words() or "it was starting"
        hint = "; perhaps there was not enough memory" if -code == signal.SIGKILL else ""
        sys.stderr.write(f"error: the program was ended {how}, before it was done, while {during}{hint}\n")
    os._exit((code if code > 0 else verdict) or (1 if verdict is None or code else 0))
