"""Another version of rankbench comes from a Python that has one, a release, or a commit of this checkout.

Environments are built in the cache folder, once: a released version by pip, a commit from its own hash-checked pins.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rankbench.core.runtime import cache_root
from rankbench.errors import InputError
from rankbench.tracking.timed_versions import TimedVersion

PINS = "requirements/dev.txt"
"""Of a commit: everything that it is built and run with, each file by its hash."""

READY = "ready"
"""A file in an environment that is whole; one without is made again."""

_LAST_LINES = 15

_VERSION = re.compile(r"(?:rankbench==)?(\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*)")


def other_version(text: str, say: Callable[[str], None] = lambda text: None) -> TimedVersion:
    """Return the version that a text names, built if it must be.

    Parameters
    ----------
    text : str
        Path of a Python, a version (``0.1.0`` or ``rankbench==0.1.0``), or what git knows as a commit here.
    say : callable
        Told what takes long.

    Raises
    ------
    InputError
        It is none of these, or cannot be built: with the last lines of what was said.
    """
    path = Path(text).expanduser()
    if path.is_file() and os.access(path, os.X_OK):
        # Not resolved: the Python of an environment is a link to another one, and knows its own by its name.
        return TimedVersion(os.path.abspath(path), text)
    if version := _VERSION.fullmatch(text):
        return _released(version[1], say)
    if commit := _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}"):
        return _committed(commit, text, say)
    raise InputError(
        f"--against {text}: it is no Python that can be run, no version, and git knows no such commit here"
    )


def _released(version: str, say: Callable[[str], None]) -> TimedVersion:
    with _environment(f"rankbench-{version}", say) as build:
        if build is not None:
            build.pip("--only-binary", ":all:", f"rankbench=={version}")
    return TimedVersion(str(_python(_folder(f"rankbench-{version}"))), version)


def _committed(commit: str, text: str, say: Callable[[str], None]) -> TimedVersion:
    if not _git("ls-tree", "--full-tree", "--name-only", commit, "--", PINS):
        raise InputError(
            f"--against {text}: commit {commit[:12]} has no {PINS}, which it is built from: name a commit of "
            "rankbench, or the Python of an environment that has the other version"
        )
    name = f"commit-{commit[:16]}"
    with _environment(name, say) as build:
        if build is not None:
            source = build.folder / "source"
            build.check_out(commit, source)
            build.pip("--require-hashes", "--only-binary", ":all:", "-r", str(source / PINS))
            build.pip("--no-index", "--no-deps", "--no-build-isolation", "-e", str(source))
    short = commit[:12]
    return TimedVersion(str(_python(_folder(name))), short if commit.startswith(text) else f"{text} ({short})")


def _git(*arguments: str) -> str:
    """Return what git says; empty if it fails, or there is none."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _folder(name: str) -> Path:
    tag = f"py{sys.version_info[0]}.{sys.version_info[1]}"
    return Path(os.path.abspath(cache_root())) / "environments" / f"{name}-{tag}"


def _python(folder: Path) -> Path:
    return folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"


class _Build:
    """An environment that is being built; what is said on the way goes to ``build.log``."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "build.log"

    def check_out(self, commit: str, source: Path) -> None:
        """Write the files of a commit to a folder."""
        done = subprocess.run(["git", "archive", "--format=tar", commit], capture_output=True, check=False)
        if done.returncode:
            self._failed(["git archive", *done.stderr.decode("utf-8", "replace").splitlines()])
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(source, filter="data")

    def pip(self, *arguments: str) -> None:
        """Install something."""
        self.run(str(_python(self.folder)), "-m", "pip", "install", "--disable-pip-version-check", *arguments)

    def run(self, *command: str) -> None:
        """Run a command; raise what it said last if it fails."""
        ours = ("PYTHONPATH", "PYTHONHOME", "NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES")
        kept = {name: value for name, value in os.environ.items() if name not in ours}
        with self.log.open("ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode())
            log.flush()
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=kept, check=False)
        if code.returncode:
            self._failed(self.log.read_text(encoding="utf-8", errors="replace").splitlines())

    def _failed(self, lines: Sequence[str]) -> None:
        last = "".join(f"\n  {line}" for line in lines[-_LAST_LINES:])
        raise InputError(f"{self.folder.name} cannot be built:{last}")


@contextmanager
def _environment(name: str, say: Callable[[str], None]) -> Iterator[_Build | None]:
    """Make an empty environment to be filled; None if it is there already. Others who want it wait."""
    folder = _folder(name)
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder.parent / f".{folder.name}.lock").open("wb") as lock:
        if os.name == "posix":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / READY).exists() and _python(folder).exists():
            yield None
            return
        say(f"building {name} in {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        build = _Build(folder)
        build.run(sys.executable, "-m", "venv", str(folder / "venv"))
        yield build
        (folder / READY).touch()
