"""How files of a run's folder are written: whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: Path, data: bytes) -> Path:
    """Write a new file beside `path` and put it in its place.

    The new file has a name that nobody can guess and is opened only if it does not exist,
    so that no link that somebody planted is followed; its permissions are those that the
    process's umask leaves. A link at `path` itself is replaced, not followed.

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
        It cannot be written; what was there before is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except FileExistsError:
        raise
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path
