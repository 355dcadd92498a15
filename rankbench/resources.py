"""What this machine has left, and the refusal of what needs more before any of it is begun."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from rankbench.errors import SpecError

__all__ = ["check_disk", "check_memory", "free_disk", "free_memory"]

GB = 1e9


def free_memory() -> int | None:
    """Return the bytes of memory that a process may still take; None where the system does not say.

    The least of what the machine has, what the process's group is allowed (containers), and the process itself.
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


def check_memory(needed: float, what: str, less: str) -> None:
    """Refuse what needs more memory than there is.

    Parameters
    ----------
    needed : float
        Bytes, at least.
    what : str
        What needs them, as the subject of a sentence.
    less : str
        What to take less of.

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
