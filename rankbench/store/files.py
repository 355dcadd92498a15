"""How files of a run's folder are written: whole or not at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from rankbench.errors import StoreError
from rankbench.system import replacement

__all__ = ["FACTS", "damaged_facts", "replace_file", "write_facts"]

FACTS = "run.json"

_SEAL = "sha256"

_DEVICES = (Path("/dev"), Path("/proc"))
_FILES = (Path("/dev/shm"),)


def replace_file(path: Path, data: bytes) -> Path:
    """Write a new file beside `path` and put it in its place.

    The new file has a name that nobody can guess and is opened only if it does not exist,
    so that no link that somebody planted is followed; its permissions are those that the
    process's umask leaves. A link to a file at `path` itself is replaced, not followed. What
    is there and is no file (a device or a pipe, as ``/dev/stdout``, also by a link) is written to.

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
    """Return whether `path` stands for no file of its own, so that nothing must take its place.

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
        replace_file(directory / FACTS, _sealed(facts))
    except OSError as error:
        raise StoreError(f"{directory}: cannot write run.json ({error}); the results are complete") from error


def damaged_facts(directory: Path) -> str:
    """Say what is wrong with the ``run.json`` of a folder; empty where it is as it was written, or there is none."""
    path = directory / FACTS
    if not path.exists():
        return ""
    again = "; run again, which writes it anew and computes nothing twice"
    try:
        data = path.read_bytes()
        facts: Any = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return f"{path}: it cannot be read{again}"
    if not isinstance(facts, dict) or facts.pop(_SEAL, None) is None:
        return f"{path}: it has no {_SEAL}: it is damaged, or an older rankbench wrote it{again}"
    return "" if _sealed(facts) == data else f"{path}: it is not what was written: its {_SEAL} is another one{again}"


def _sealed(facts: dict[str, Any]) -> bytes:
    """Return a file of JSON that says the sha256 of what else is in it."""
    text = json.dumps(facts, indent=2, sort_keys=True)
    sealed = facts | {_SEAL: hashlib.sha256(text.encode()).hexdigest()}
    return (json.dumps(sealed, indent=2, sort_keys=True) + "\n").encode()
