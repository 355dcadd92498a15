"""Where a user's own data cards are: what the environment or a file in the working folder says."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from rankbench.errors import InputError, nearest
from rankbench.text import check_keys, short_repr

__all__ = ["SETTINGS", "VARIABLE", "own_cards_folder"]

VARIABLE = "RANKBENCH_CARDS"
"""The environment's variable; it comes before the file."""

SETTINGS = "rankbench.toml"
"""The file in the working folder, with ``cards = "FOLDER"``; the folder is meant from there."""

_KEYS = ("cards",)


def own_cards_folder() -> Path | None:
    """Return the folder with the user's own cards; None if nothing says one.

    Raises
    ------
    InputError
        What is named is no folder; the file is not TOML, or has other keys.
    """
    said = os.environ.get(VARIABLE, "")
    if said:
        return _folder(Path(said), f"{VARIABLE} does not name a folder")
    path = Path(SETTINGS)
    if not path.is_file():
        return None
    try:
        settings = tomllib.loads(check_keys(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not TOML: {error}", path=path) from error
    for key in settings:
        if key not in _KEYS:
            raise InputError(f"there is no key {short_repr(key)}{nearest(key, _KEYS)}", path=path, column=key)
    folder = settings.get("cards")
    if folder is None:
        return None
    if not isinstance(folder, str):
        raise InputError("cards must be the path of a folder, a text", path=path, column="cards")
    return _folder(Path(folder), f"cards in {SETTINGS} does not name a folder")


def _folder(path: Path, otherwise: str) -> Path:
    if not path.is_dir():
        raise InputError(otherwise, path=path)
    return path.resolve()
