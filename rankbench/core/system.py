"""Tell the memory and disk of this machine, work in threads, connect to Dask, and replace files whole."""

from __future__ import annotations

import gc
import json
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self, cast

from rankbench.core.code_digest import code_digest, plugins_digest
from rankbench.core.text import duration_text
from rankbench.errors import ExecutorError, SpecError, StoreError

GB = 1e9


def free_memory() -> int | None:
    """Return the bytes of memory that a process may still take; None where the system does not say.

    The minimum of the machine's free memory and of the limits of the process's group (containers) and of the process.
    """
    found = [limit for limit in (_machine(), _group(), _own()) if limit is not None]
    return min(found, default=None)


def _machine() -> int | None:
    for line in _text("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return None


def _group() -> int | None:
    most, used = _text("/sys/fs/cgroup/memory.max").strip(), _text("/sys/fs/cgroup/memory.current").strip()
    return max(0, int(most) - int(used)) if most.isdigit() and used.isdigit() else None


def _own() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def free_disk(folder: Path) -> int | None:
    """Return the bytes that can be written to a folder, which need not be there yet; None: unknown."""
    for place in (folder, *folder.absolute().parents):
        if place.exists():
            try:
                return shutil.disk_usage(place).free
            except OSError:
                return None
    return None


def peak_memory() -> int:
    """Return the peak memory of this process in bytes, without mapped files; 0 if unknown."""
    lines = (line.partition(":") for line in _text("/proc/self/status").splitlines())
    found = {name: int(value.split()[0]) * 1024 for name, _, value in lines if name in _PEAK}
    return found["VmHWM"] - found["RssFile"] - found["RssShmem"] if len(found) == len(_PEAK) else 0


_PEAK = ("VmHWM", "RssFile", "RssShmem")


def check_memory(needed: float, what: str, less: str) -> None:
    """Refuse what needs more memory than there is.

    Parameters
    ----------
    needed : float
        Bytes, at least.
    what : str
        Subject of the sentence: the thing that needs them.
    less : str
        Quantity to reduce.

    Raises
    ------
    SpecError
        With both numbers.
    """
    free = free_memory()
    if free is not None and needed > free:
        raise SpecError(
            f"{what} takes {needed / GB:,.1f} GB of memory or more, and {free / GB:,.1f} GB are free; take {less}"
        )


def check_disk(needed: float, folder: Path, what: str, less: str) -> None:
    """Refuse what needs more space in a folder than there is; see `check_memory`."""
    free = free_disk(folder)
    if free is not None and needed > free:
        raise SpecError(
            f"{what} takes {needed / GB:,.1f} GB in {os.fspath(folder)} or more, and {free / GB:,.1f} GB are free there"
            f"; take {less}"
        )


_COLLECTED = 250_000
"""Objects in containers that are made before Python looks for cycles; it does so after 700 by default."""


_DEATH_SIGNAL = 1
"""Option of Linux's `prctl`."""


def exit_with_parent(parent: int) -> None:
    """Have this process killed at once when its parent `parent` ends; on Linux only."""
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)


def release_memory() -> None:
    """Return to the system the freed memory that the C library keeps."""
    if sys.platform != "linux":
        return
    import ctypes

    gc.collect()
    # Another C library than GNU's has no such function.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def collect_seldom() -> None:
    """Have this process collect cycles seldom: most of its objects are imported modules, which stay.

    An eighth of a small run's time went into looking through modules that are never collected.
    """
    gc.set_threshold(_COLLECTED, *gc.get_threshold()[1:])


def in_two_threads(work: Callable[[slice], None], length: int) -> None:
    """Run compiled code that releases the interpreter's lock on the two halves of a range, in two threads."""
    if length < 2:
        work(slice(0, length))
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, (slice(0, length // 2), slice(length // 2, length))))


BEAT = 30.0
"""Seconds between two lines of a `Heartbeat`."""


class Heartbeat:
    """Context manager that prints a line every 30 seconds.

    Parameters
    ----------
    write : callable
        Prints a line; its errors are ignored.
    doing : callable
        Returns the current step as a short text; if it is empty, nothing is printed.
    """

    def __init__(self, write: Callable[[str], None], doing: Callable[[], str]) -> None:
        self._write, self._doing = write, doing
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def elapsed(self) -> float:
        """Seconds since it was entered."""
        return time.monotonic() - self._started

    def _beat(self) -> None:
        beats = 0
        while not self._over.wait(max(0.0, self._started + (beats + 1) * BEAT - time.monotonic())):
            beats += 1
            try:
                if doing := self._doing():
                    self._write(f"{duration_text(self.elapsed)}: {doing}")
            except (OSError, ValueError):  # its reader is gone
                return


@contextmanager
def replacement(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file beside `path` and, at the end, replace `path` by it atomically.

    Its name cannot be guessed, and it is opened only if it does not exist. A process that is killed leaves it.

    Parameters
    ----------
    path : Path
        In a folder that is there.

    Raises
    ------
    OSError
        It cannot be written; the former file is unchanged.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        stream = temporary.open("xb")
        try:
            with stream:
                yield stream
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        if not error.strerror:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error  # by the name that was asked for


FACTS = "run.json"

_DEVICES = (Path("/dev"), Path("/proc"))
_FILES = (Path("/dev/shm"),)


def replace_file(path: Path, data: bytes) -> Path:
    """Write a new file beside `path` and put it in its place.

    The new file has a name that cannot be guessed and is opened only if it does not exist,
    so that no planted link is followed; its permissions are those that the
    process's umask leaves. A link to a file at `path` itself is replaced, not followed. A
    device or a pipe, as ``/dev/stdout``, also by a link, is written to.

    Parameters
    ----------
    path : Path
        Folders on the way are made.
    data : bytes

    Returns
    -------
    Path
        `path`.

    Raises
    ------
    OSError
        It cannot be written; a file that was there before is untouched.
    """
    if _is_device(path):
        with path.open("wb") as stream:
            stream.write(data)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacement(path) as stream:
        stream.write(data)
    return path


def _is_device(path: Path) -> bool:
    """Return whether `path` is a device or pipe, which must not be replaced by a file.

    ``/dev/stdout`` may lead to a file, where the shell sent the output to one: to replace the
    name would break it for every other program.
    """
    if path.exists() and not path.is_file():
        return True
    where = path.parent.resolve()
    return any(map(where.is_relative_to, _DEVICES)) and not any(map(where.is_relative_to, _FILES))


def write_facts(directory: Path, facts: dict[str, Any]) -> None:
    """Write ``run.json``, last: the results are complete.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    try:
        replace_file(directory / FACTS, (json.dumps(facts, indent=2, sort_keys=True) + "\n").encode())
    except OSError as error:
        raise StoreError(f"{directory}: cannot write run.json ({error}); the results are complete") from error


PATIENCE = 30
"""Seconds to wait for a scheduler, and for its first worker."""

_DIGEST = (
    "from rankbench.core.runtime import settle_runtime; settle_runtime(); "
    "from rankbench.core.code_digest import code_digest, plugins_digest; print(code_digest() + plugins_digest())"
)


def connected_client(address: str) -> Any:
    """Return a client of the scheduler at `address`, with at least one worker that has our code.

    Raises
    ------
    ExecutorError
        `distributed` is not installed, the address does not answer, there is no worker,
        or a worker has other code: its numbers might be others.
    """
    watched = "distributed" in sys.modules
    try:
        import distributed
    except ImportError as error:
        raise ExecutorError("the executor dask needs the package distributed: pip install 'rankbench[dask]'") from error
    if not watched:
        _silence()
    try:
        client = cast(Any, distributed).Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ExecutorError(f"no Dask scheduler answers at {address!r} ({error})") from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        digests = client.run(_digest)
    except (OSError, TimeoutError) as error:
        client.close()
        raise ExecutorError(f"the Dask cluster at {address!r} has no worker that answers ({error})") from error
    strangers = sorted(worker for worker, digest in digests.items() if digest != code_digest() + plugins_digest())
    if strangers:
        client.close()
        raise ExecutorError(
            f"{len(strangers)} of {len(digests)} Dask workers have other code, libraries or processors than this "
            f"machine (first: {strangers[0]}). Install the same rankbench, plugins and pins there"
        )
    return client


def _silence() -> None:
    """Let Dask log only critical errors: rankbench raises errors of its own about the cluster.

    Where a program has imported Dask before, its log is that program's, and stays. Dask writes tracebacks to standard
    error when a scheduler dies.
    """
    names = ["distributed", *(name for name in logging.root.manager.loggerDict if name.startswith("distributed."))]
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _digest() -> str:
    """Return the digests of rankbench's and all plugins' code, computed in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", _DIGEST], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    return done.stdout.strip()
