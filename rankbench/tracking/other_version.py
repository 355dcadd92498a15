"""Another version of rankbench comes from a Python that has one, a release, or a commit of this checkout.

Environments are built in the cache folder, once: a released version by pip, a commit from its own hash-checked pins.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rankbench.core.runtime import cache_root
from rankbench.errors import InputError, option
from rankbench.tracking.timed_versions import TimedVersion

PINS = "requirements/dev.txt"
"""Of a commit: everything that it is built and run with, each file by its hash."""

READY = "ready"
"""A file in an environment that is whole; one without is made again."""

_LAST_LINES = 15

_VERSION = re.compile(r"(?:rankbench==)?(\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*)")


def other_version(text: str, say: Callable[[str], None] = lambda text: None) -> TimedVersion:
    """Return the version of a text, built if needed.

    Parameters
    ----------
    text : str
        Path of a Python, a version (``0.1.0`` or ``rankbench==0.1.0``), or what git knows as a commit here.
    say : callable
        Told what takes long.

    Raises
    ------
    InputError
        It is none of these, or cannot be built: with the last lines of the output.
    """
    path = Path(text).expanduser()
    if path.is_file() and os.access(path, os.X_OK):
        # Not resolved: the Python of an environment is a link to another one, and knows its own by its name.
        return TimedVersion(os.path.abspath(path), text)
    if version := _VERSION.fullmatch(text):
        return _released(version[1], say)
    if commit := git_says("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}"):
        return _committed(commit, text, say)
    raise InputError(
        f"{option('against', text)}: it is no Python that can be run, no version, and git knows no such commit here"
    )


def _released(version: str, say: Callable[[str], None]) -> TimedVersion:
    with _environment(f"rankbench-{version}", say) as (folder, empty):
        if empty:
            _pip(folder, "--only-binary", ":all:", f"rankbench=={version}")
    return TimedVersion(str(_python(folder)), version)


def _committed(commit: str, text: str, say: Callable[[str], None]) -> TimedVersion:
    if not git_says("ls-tree", "--full-tree", "--name-only", commit, "--", PINS):
        raise InputError(
            f"{option('against', text)}: commit {commit[:12]} has no {PINS}, from which to install it. Name a commit "
            "of rankbench, or the Python of an environment that has the other version"
        )
    with _environment(f"commit-{commit[:16]}", say) as (folder, empty):
        if empty:
            source = str(folder / "source")
            _run(folder, "git", "clone", "--quiet", "--no-checkout", git_says("rev-parse", "--show-toplevel"), source)
            _run(folder, "git", "-C", source, "checkout", "--quiet", "--detach", commit)
            _pip(folder, "--require-hashes", "--only-binary", ":all:", "-r", f"{source}/{PINS}")
            _pip(folder, "--no-index", "--no-deps", "--no-build-isolation", "-e", source)
    short = commit[:12]
    return TimedVersion(str(_python(folder)), short if commit.startswith(text) else f"{text} ({short})")


def git_says(*arguments: str) -> str:
    """Return git's output; empty if it fails or is missing."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _python(folder: Path) -> Path:
    return folder / "venv" / "bin" / "python"


def _pip(folder: Path, *arguments: str) -> None:
    _run(folder, str(_python(folder)), "-m", "pip", "install", "--disable-pip-version-check", *arguments)


def _run(folder: Path, *command: str) -> None:
    """Run a command that fills an environment, and write its output to ``build.log``.

    Raises
    ------
    InputError
        It fails: with the last lines of the output.
    """
    ours = ("PYTHONPATH", "PYTHONHOME", "NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    said = folder / "build.log"
    with said.open("ab") as log:
        log.write(f"$ {' '.join(command)}\n".encode())
        log.flush()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=kept, check=False)
    if done.returncode:
        lines = said.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:]
        raise InputError(f"{folder.name} cannot be built:" + "".join(f"\n  {line}" for line in lines))


@contextmanager
def _environment(name: str, say: Callable[[str], None]) -> Iterator[tuple[Path, bool]]:
    """Yield the folder of an environment, and whether it is empty and must be filled, under a lock."""
    tag = f"py{sys.version_info[0]}.{sys.version_info[1]}"
    folder = Path(os.path.abspath(cache_root())) / "environments" / f"{name}-{tag}"
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder.parent / f".{folder.name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / READY).exists() and _python(folder).exists():
            yield folder, False
            return
        say(f"building {name} in {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        _run(folder, sys.executable, "-m", "venv", str(folder / "venv"))
        yield folder, True
        (folder / READY).touch()
