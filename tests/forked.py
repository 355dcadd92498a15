"""Programs that start in a fraction of the time: forked from a process that has imported what they import.

Of a short run four fifths are imports, and the suite has hundreds of runs. A test of imports or of the interpreter's
own variables starts a process by `subprocess`; all others may ask for a forked one, which sees the same arguments,
variables, folder and standard files, and ends as any other. Where a variable that is read at import differs, as that of
the cache folder, the program is started by `subprocess`. Each worker of pytest-xdist forks from a process of its own.
"""

from __future__ import annotations

import atexit
import contextlib
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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

MAIN = "from rankbench.cli import main; main()"
"""What the program ``rankbench`` is."""

_SERVER = """
import sys
sys.path.insert(0, sys.argv[2])
import forked
code, end = forked.serve(int(sys.argv[1])), forked.end
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
    """

    def __init__(
        self, code: str, arguments: Sequence[str], environment: Mapping[str, str], folder: Path | None
    ) -> None:
        self.args, self.returncode = arguments, None
        self._said = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        self._verdict, verdict = os.pipe()
        os.umask(umask := os.umask(0))
        asked = [code, list(arguments), dict(environment), str(folder or Path.cwd()), umask]
        try:
            socket.send_fds(_server(), [json.dumps(asked).encode()], [*(one.fileno() for one in self._said), verdict])
            self.pid = int(_server().recv(16))
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


@functools.cache
def _server() -> socket.socket:
    """Start the process that forks; return the connection to it. It ends when the connection is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    folder = str(Path(__file__).resolve().parent)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(theirs.fileno()), folder],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    atexit.register(process.wait)
    atexit.register(ours.close)  # the last to be registered is called first
    return ours


def _may_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a program has all variables that are read once in common with what forks it."""
    wanted, here = (
        {name: value for name, value in each.items() if name.startswith(_READ_ONCE) and name != "PYTHONPATH"}
        for each in (environment, os.environ)
    )
    return sys.platform == "linux" and wanted == here


def start_program(
    *arguments: str, environment: Mapping[str, str], folder: Path | None = None, code: str = MAIN
) -> Forked | subprocess.Popen[str]:
    """Start ``rankbench``, or other code, in a session of its own: forked, if its variables are as they are here."""
    if _may_fork(environment):
        return Forked(code, arguments, environment, folder)
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True, cwd=folder,
    )  # fmt: skip


def run_program(
    *arguments: str,
    environment: Mapping[str, str] = os.environ,
    folder: Path | None = None,
    code: str = MAIN,
    timeout: float = 600,
) -> subprocess.CompletedProcess[str]:
    """Run ``rankbench``, or other code, to its end; return what it said and its exit code."""
    program = start_program(*arguments, environment=environment, folder=folder, code=code)
    try:
        out, err = program.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        program.kill()
        raise
    return subprocess.CompletedProcess(arguments, program.wait(), out, err)


def installed(site: Path, folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return what runs ``rankbench`` in a folder as it is with the distributions of another one."""
    environment = os.environ | {"PYTHONPATH": str(site), "COLUMNS": "200"}
    return functools.partial(run_program, environment=environment, folder=folder)


def serve(descriptor: int) -> str:
    """Import what programs import; return, in a new process each time, the code that it is to run."""
    del sys.path[0], sys.modules["forked"]
    path = [entry for entry in sys.path if entry not in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    _import_all()
    gc.collect()
    gc.freeze()  # what is shared stays shared, and is not looked through when a program ends
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how those ended that wait for programs
    asking = socket.socket(fileno=descriptor)
    while True:
        text, files, _, _ = socket.recv_fds(asking, 2**20, 3)
        if not text:
            os._exit(0)
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if not (child := os.fork()):
                asking.close()
                return _become(json.loads(text), files, path)
            asking.send(str(child).encode())
            _, status = os.waitpid(child, 0)
            with contextlib.suppress(BrokenPipeError):  # who asked for it may be gone
                os.write(files[2], str(os.waitstatus_to_exitcode(status)).encode())
            os._exit(0)
        for file in files:
            os.close(file)


def end(code: int) -> NoReturn:
    """End this process as the interpreter does, but do not take apart what was imported: it shares it with others."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _import_all() -> None:
    """Import all of rankbench and of the plugins beside it, and what they import."""
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
