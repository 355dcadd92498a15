"""A program watched over by the process that was started, which runs nothing foreign.

Foreign code is imported and called in the program's own process here and there (a plugin's module, its hook, a
protocol's preparation), and may end it: `os._exit(0)` looks like success. So on Linux the program runs in a child, and
the process that was started waits for its verdict: an end without one is a failure, which says what was going on.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from rankbench.lifeline import Lifeline, hold
from rankbench.system import die_with

__all__ = ["watched"]

_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def watched(program: Callable[[], int]) -> NoReturn:
    """Run a program in a child, and end as it does: with the exit code that it returns."""
    line, parent = Lifeline(), os.getpid()
    passed = {getattr(signal, name) for name in _PASSED_ON}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*passed, signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        die_with(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, _once())
        hold(line)
        command = " ".join(["rankbench", *sys.argv[1:]])
        line.says(f"`{''.join(c if c.isprintable() else '?' for c in command)}` was going on")
        try:
            code = program()
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
