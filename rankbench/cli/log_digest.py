"""The sha256 of what a ranking was made from."""

from __future__ import annotations

import hashlib
from pathlib import Path

__all__ = ["log_sha256"]


def log_sha256(log: str) -> str | None:
    """Return the sha256 of a file, or of a folder's files with their names, or of a named data set; else None.

    Parameters
    ----------
    log : str
        As on the command line; what was read from a pipe, or from elsewhere, has none.
    """
    from rankbench.data.convert import sha256_of

    path = Path(log)
    if path.is_file():
        return sha256_of(path)
    if path.is_dir():
        whole = hashlib.sha256()
        for part in sorted(one for one in path.rglob("*") if one.is_file()):
            whole.update(f"{part.relative_to(path).as_posix()} {sha256_of(part)}\n".encode())
        return whole.hexdigest()
    from rankbench.errors import RankbenchError
    from rankbench.kinds.dataset import Dataset
    from rankbench.plugin import manager

    try:
        return manager.get(Dataset, log).fingerprint()
    except RankbenchError:
        return None
