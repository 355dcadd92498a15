"""Templates: files in `templates/` with ``@NAME@`` where something is filled in."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rankbench.errors import InputError

__all__ = ["filled", "write_all"]

FOLDER = Path(__file__).with_name("templates")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return a template with every ``@NAME@`` replaced.

    Parameters
    ----------
    template : str
        Path below `templates/`.
    values : mapping of str to str

    Raises
    ------
    KeyError
        The template has a name that `values` has not.
    """
    text = (FOLDER / template).read_text(encoding="utf-8")
    return re.sub(r"@([A-Z]+)@", lambda match: values[match[1]], text)


def write_all(target: Path, files: Mapping[str, str]) -> None:
    """Write a new folder, or, for files of the name "", a new file: all of it or nothing.

    Parameters
    ----------
    target : Path
        Must not be there yet; its parent must.
    files : mapping of str to str
        Contents by path below `target`.

    Raises
    ------
    InputError
        The target is there already, or cannot be written.
    """
    if os.path.lexists(target):
        raise InputError("it is there already; nothing was written", path=target)
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=target) from error
    try:
        whole = draft / target.name
        for name, text in files.items():
            path = whole / name if name else whole
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        # The draft stands on the same file system: the name appears with all that belongs to it.
        whole.rename(target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=target) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
