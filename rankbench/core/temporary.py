"""Temporary folders are removed when they are no longer needed, and when a signal ends the process."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

_folders: set[Path] = set()
"""Folders that are there now."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that is removed when the context ends."""
    with TemporaryDirectory(prefix="rankbench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _folders.add(folder)
        try:
            yield folder
        finally:
            _folders.discard(folder)


@contextmanager
def kept_folder() -> Iterator[Path]:
    """Make a folder that is removed when the process ends, or at once if the context raises."""
    with ExitStack() as kept:
        yield kept.enter_context(temporary_folder())
        atexit.register(kept.pop_all().close)


def remove_folders() -> None:
    """Remove all folders at once, before the process is ended by force."""
    for folder in tuple(_folders):
        shutil.rmtree(folder, ignore_errors=True)


class Terminated(KeyboardInterrupt):
    """A signal asks the process to end: an interrupt with another exit code.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


_SIGNALS = ("SIGTERM", "SIGHUP")
_PATIENCE = 5.0
"""Seconds in which the process may end in order: compiled code that computes sees no signal."""


def end_in_order() -> None:
    """Have signals that would kill this process raise `Terminated` in it, and end it 5 seconds later at most.

    A signal that is ignored, as by ``nohup``, stays so. Processes that this one starts or forks are not concerned.
    """
    wanted = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    own = [number for number in wanted if signal.getsignal(number) == signal.SIG_DFL]
    if os.name != "posix" or threading.current_thread() is not threading.main_thread() or not own:
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading, own), daemon=True).start()

    def interrupt(number: int, _: object) -> NoReturn:
        for each in own:
            signal.signal(each, signal.SIG_IGN)  # it ends already
        raise Terminated(number)

    def forked() -> None:
        signal.set_wakeup_fd(-1)  # else a signal to the child would end its parent
        for each in own:
            signal.signal(each, signal.SIG_DFL)

    for number in own:
        signal.signal(number, interrupt)
    os.register_at_fork(after_in_child=forked)


def _watch(reading: int, own: list[int]) -> None:
    """End the process some seconds after one of these signals, in any state."""
    while came := os.read(reading, 1):
        if came[0] in own:
            time.sleep(_PATIENCE)
            remove_folders()
            os._exit(128 + came[0])
