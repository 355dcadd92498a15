"""Ways in which files of compiled code are damaged, and who may be asked to damage them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

__all__ = ["DAMAGE", "one_bit", "posix", "root_alone"]

root_alone = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
posix = pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    random.Random(path.name).shuffle(data)
    path.write_bytes(data)


def one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


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
} | ({"pipe": piped} if hasattr(os, "mkfifo") else {})
