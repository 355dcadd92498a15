"""Programs that start in a fraction of the time: forked from a process that has imported what they import.

Of a short run four fifths are imports, and the suite has hundreds of runs. A test of imports or of the interpreter's
own variables starts a process by `subprocess`; all others may ask for a forked one, which sees the same arguments,
variables, folder and standard files, and ends as any other. One that has to import rankbench anew, because a copy of
it is tried or what it does with numba's files, is forked from a process with numba alone. The workers of pytest-xdist
share both processes, which end with the last worker.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NoReturn

__all__ = ["MAIN", "SHARED", "Forked", "run_program", "start_program"]

SHARED = "PYTEST_FORKED_FROM"
"""The variable that names the folder with the sockets of processes that all workers fork from."""

MAIN = "from rankbench.cli import main; main()"
"""What the program ``rankbench`` is."""

_SERVER = """
import sys
sys.path.insert(0, sys.argv[2])
import forked
code, end = forked.serve(int(sys.argv[1]), sys.argv[3]), forked.end
del forked
try:
    exec(code)
except SystemExit as error:
    if not isinstance(error.code, int | None):
        raise
    end(error.code or 0)
end(0)
"""

_READ_ONCE = ("LANG", "LC_", "LD_", "MKL_", "NUMBA_", "OMP_", "OPENBLAS_", "POLARS_", "PYTHON", "RANKBENCH_CACHE")
"""What variables begin with that are read when something is imported; two of them when rankbench is."""

Imported = Literal["rankbench", "numba"]
"""What the process that forks has imported."""

_LIBRARIES = (
    "importlib.metadata",
    "multiprocessing.spawn",
    "numba",
    "packaging.requirements",
    "packaging.tags",
    "polars",
    "rich.console",
    "rich.markdown",
    "rich.table",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.sparse.linalg",
    "scipy.special",
    "sqlite3",
    "threadpoolctl",
    "tqdm",
)
"""What rankbench imports within functions."""

_PLUGINS = ("rankbench_peers", "rankbench_rankad")
"""Plugins that `make install` installs: most programs load them."""


class Forked:
    """A program that was forked; with the methods of `subprocess.Popen` that tests need.

    Parameters
    ----------
    code : str
    arguments : sequence of str
        After the program's name.
    environment : mapping of str to str
    folder : Path, optional
        Where it works; where this process does by default.
    imported : {"rankbench", "numba"}
    """

    def __init__(
        self,
        code: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path | None,
        imported: Imported,
    ) -> None:
        self.args, self.returncode = arguments, None
        self._said = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        self._verdict, verdict = os.pipe()
        os.umask(umask := os.umask(0))
        asked = [code, list(arguments), dict(environment), str(folder or Path.cwd()), umask]
        try:
            self.pid = _server(imported).fork(asked, [*(file.fileno() for file in self._said), verdict])
        finally:
            os.close(verdict)

    def poll(self) -> int | None:
        """Return the exit code if it has ended, and None if it has not."""
        return self._waited(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return the exit code."""
        code = self._waited(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end; return what it printed on standard output and standard error."""
        self.wait(timeout)
        for file in self._said:
            file.seek(0)
        out, err = (file.read().decode("utf-8", "replace") for file in self._said)
        return out, err

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def _waited(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            readable, _, _ = select.select([self._verdict], [], [], timeout)
            if readable:
                said = os.read(self._verdict, 16)
                os.close(self._verdict)
                assert said, "the process that forks is gone"
                self.returncode = int(said)
        return self.returncode


class _Server:
    """The process that forks; started by the first worker that asks for it."""

    def __init__(self, imported: Imported) -> None:
        place = Path(os.environ.get(SHARED) or tempfile.mkdtemp(), imported)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process: subprocess.Popen[bytes] | None = None
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                self.socket.connect(str(place))
            except (FileNotFoundError, ConnectionRefusedError):
                place.unlink(missing_ok=True)
                self.process = self.started(place, imported)
                self.socket.connect(str(place))
        atexit.register(self.end)

    @staticmethod
    def started(place: Path, imported: Imported) -> subprocess.Popen[bytes]:
        """Start a process that listens there; who connects before it has imported all waits for its answers."""
        environment = {k: v for k, v in os.environ.items() if imported == "rankbench" or not _of_numba(k)}
        folder = str(Path(__file__).resolve().parent)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            door.bind(str(place))
            door.listen()
            return subprocess.Popen(
                [sys.executable, "-c", _SERVER, str(door.fileno()), folder, imported], env=environment,
                pass_fds=[door.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def fork(self, asked: object, files: Sequence[int]) -> int:
        """Return the number of a new process."""
        socket.send_fds(self.socket, [json.dumps(asked).encode()], files)
        return int(self.socket.recv(16))

    def end(self) -> None:
        self.socket.close()
        if self.process and not os.environ.get(SHARED):  # others may fork from it still
            self.process.wait()


@functools.cache
def _server(imported: Imported) -> _Server:
    return _Server(imported)


def _of_numba(variable: str) -> bool:
    return variable.startswith("NUMBA_")


def _may_fork(environment: Mapping[str, str], imported: Imported) -> bool:
    """Return whether a program has all variables that are read once in common with what forks it."""
    wanted, here = (
        {name: value for name, value in each.items() if name.startswith(_READ_ONCE) and name != "PYTHONPATH"}
        for each in (environment, os.environ)
    )
    if imported == "numba":  # which is told of its folder by rankbench, and is forked without any variables of its own
        for variable in ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES"):
            wanted.pop(variable, None)
        for each in (wanted, here):
            each.pop("RANKBENCH_CACHE", None)
        here = {name: value for name, value in here.items() if not _of_numba(name)}
    return sys.platform == "linux" and wanted == here


def start_program(
    *arguments: str,
    environment: Mapping[str, str],
    folder: Path | None = None,
    code: str = MAIN,
    imported: Imported = "rankbench",
) -> Forked | subprocess.Popen[str]:
    """Start ``rankbench``, or other code, in a session of its own: forked, if its variables are as they are here."""
    if _may_fork(environment, imported):
        return Forked(code, arguments, environment, folder, imported)
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True, cwd=folder,
    )  # fmt: skip


def run_program(
    *arguments: str,
    environment: Mapping[str, str] = os.environ,
    folder: Path | None = None,
    code: str = MAIN,
    imported: Imported = "rankbench",
    timeout: float = 600,
) -> subprocess.CompletedProcess[str]:
    """Run ``rankbench``, or other code, to its end; return what it said and its exit code."""
    program = start_program(*arguments, environment=environment, folder=folder, code=code, imported=imported)
    try:
        out, err = program.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        program.kill()
        raise
    return subprocess.CompletedProcess(arguments, program.wait(), out, err)


def serve(descriptor: int, imported: Imported) -> str:
    """Import what programs import; return, in a new process each time, the code that it is to run."""
    del sys.path[0], sys.modules["forked"]
    path = [entry for entry in sys.path if entry not in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    _import_numba() if imported == "numba" else _import_all()
    gc.collect()
    gc.freeze()  # what is shared stays shared, and is not looked through when a program ends
    door, connected, running = socket.socket(fileno=descriptor), list[socket.socket](), dict[int, int]()
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    while True:
        ready, _, _ = select.select([door, woken, *connected], [], [])
        if woken in ready:
            os.read(woken, 1000)
            _tell_ends(running)
        if door in ready:
            connected.append(door.accept()[0])
        for asked in [each for each in connected if each in ready]:
            text, files, _, _ = socket.recv_fds(asked, 2**20, 3)
            if not text:
                connected.remove(asked)
                asked.close()
                continue
            child = os.fork()
            if not child:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (door, *connected):
                    each.close()
                for other in (woken, wakes, *running.values()):
                    os.close(other)
                return _become(json.loads(text), files, path)
            running[child] = files[2]
            for file in files[:2]:
                os.close(file)
            with contextlib.suppress(BrokenPipeError):
                asked.send(str(child).encode())
        if not connected and not select.select([door], [], [], 0)[0]:
            os._exit(0)


def end(code: int) -> NoReturn:
    """End this process as the interpreter does, but do not take apart what was imported: it shares it with others."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _import_all() -> None:
    """Import all of rankbench and of the plugins beside it, and what they import; load what is compiled."""
    from rankbench.core.runtime import settle_runtime

    settle_runtime()
    for package in ("rankbench", *_PLUGINS):
        if not (spec := importlib.util.find_spec(package)):
            continue
        for found in pkgutil.walk_packages(spec.submodule_search_locations, f"{package}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    for name in _LIBRARIES:
        importlib.import_module(name)
    importlib.import_module("rankbench.kernels.declared").load_declared()


def _import_numba() -> None:
    """Import numba, and compile something: the first time it imports what it compiles with."""
    import numba

    numba.njit("f8(f8)")(lambda x: x)


def _tell_ends(running: dict[int, int]) -> None:
    with contextlib.suppress(ChildProcessError):
        while running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            verdict = running.pop(child)
            with contextlib.suppress(BrokenPipeError):  # who asked for it may be gone, others are not
                os.write(verdict, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(verdict)


def _become(asked: tuple[str, list[str], dict[str, str], str, int], files: Sequence[int], path: Sequence[str]) -> str:
    """Make this process what was asked for."""
    code, arguments, environment, folder, umask = asked
    os.setsid()
    os.umask(umask)
    os.chdir(folder)
    os.dup2(files[0], 1)
    os.dup2(files[1], 2)
    for file in files:
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    more = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:] = ["", *more, *path[1:]] if path and path[0] == "" else ["", *more, *path]
    sys.argv[:] = ["-c", *arguments]
    tempfile.tempdir = None
    time.tzset()
    return code
