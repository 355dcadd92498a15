"""How files of a run's folder are written: whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rankbench.errors import StoreError
from rankbench.scratch import replacement

__all__ = ["replace_file", "write_facts"]

_DEVICES = (Path("/dev"), Path("/proc"))
_FILES = (Path("/dev/shm"),)


def replace_file(path: Path, data: bytes) -> Path:
    """Write a new file beside `path` and put it in its place.

    The new file has a name that nobody can guess and is opened only if it does not exist,
    so that no link that somebody planted is followed; its permissions are those that the
    process's umask leaves. Those that a killed process left there are removed. A link to a
    file at `path` itself is replaced, not followed. What is there and is no file (a device or a
    pipe, as ``/dev/stdout``, also by a link) is written to.

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
    text = json.dumps(facts, indent=2, sort_keys=True) + "\n"
    try:
        replace_file(directory / "run.json", text.encode())
    except OSError as error:
        raise StoreError(f"{directory}: cannot write run.json ({error}); the results are complete") from error
