"""Ways in which files of compiled code are damaged."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

__all__ = ["DAMAGE", "one_bit"]


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    random.Random(path.name).shuffle(data)
    path.write_bytes(data)


def one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("so that it cannot be removed")


def other(path: Path) -> None:
    """Put another function's file in its place, whole as it is."""
    name = path.name.replace("double", "thrice") if "double" in path.name else path.name.replace("thrice", "double")
    (found,) = path.parent.glob(f"{name.split('-')[0]}-*{path.suffix}")
    path.write_bytes(found.read_bytes())


DAMAGE: dict[str, Callable[[Path], None]] = {
    "bit": one_bit,
    "shuffled": flipped,
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "empty": lambda path: os.truncate(path, 0),
    "others": other,
    "folder": folder,
}
