"""What worker processes share: prepared arrays, mapped into memory, never pickled.

Foreign code runs as the same user, so it can write to the files, or replace them. `Shared`
tells, and writes them again.
"""

from __future__ import annotations

import hashlib
import json
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from rankbench.data.dataset import Dataset
from rankbench.plugin.manager import component_class, names
from rankbench.protocols.base import Prepared
from rankbench.runner.prepare import dataset_of, protocol_of

__all__ = ["Shared", "open_shared", "shared", "spec_of"]

_OBJECTS = ("protocol", "dataset", "arrays")
"""Fields of `Prepared` that are not written as plain values."""

SHARE = 0.01
"""Of the time of blocks with foreign code, what checking the files may take."""


class Shared:
    """A folder with what blocks are drawn from.

    Parameters
    ----------
    folder : Path
        Empty.
    sources : sequence of Prepared

    Attributes
    ----------
    folder : Path
    """

    def __init__(self, folder: Path, sources: Sequence[Prepared]) -> None:
        self.folder = folder
        self._arrays: dict[str, NDArray[Any]] = {}
        self._texts: dict[str, str] = {}
        written: dict[int, str] = {}
        for index, prepared in enumerate(sources):
            for array in prepared.arrays.values():
                # What sources share, as protocols on one log do, is one file.
                if id(array) not in written:
                    written[id(array)] = f"array-{len(written)}.npy"
                    self._arrays[written[id(array)]] = array
            facts = {name: getattr(prepared, name) for name in _plain_fields()} | {
                "protocol": str(prepared.protocol),
                "dataset": spec_of(prepared.dataset),
                "arrays": {of: written[id(array)] for of, array in prepared.arrays.items()},
            }
            self._texts[f"source-{index}.json"] = json.dumps(facts, default=_plain)
        self._digests: dict[str, str] = {}
        self.write()
        self._digests = {name: _digest(folder / name) for name in (*self._arrays, *self._texts)}
        self._checked, self._cost = time.monotonic(), 0.0

    def write(self) -> None:
        """Write all files, new ones: whoever still has an old one open changes nothing."""
        self.folder.mkdir(exist_ok=True)
        for name in (*self._arrays, *self._texts):
            path = self.folder / name
            path.unlink(missing_ok=True)
            if name in self._arrays:
                np.save(path, self._arrays[name], allow_pickle=False)
            else:
                path.write_text(self._texts[name], encoding="utf-8")
            path.chmod(stat.S_IRUSR)

    def due(self) -> bool:
        """Return whether enough time has gone by since the files were checked, that `SHARE` is kept to."""
        return (time.monotonic() - self._checked) * SHARE >= self._cost

    def altered(self) -> list[str]:
        """Return the files that are not as they were written: changed, replaced or gone."""
        started = time.monotonic()
        found = [name for name, digest in self._digests.items() if _digest(self.folder / name) != digest]
        self._checked = time.monotonic()
        self._cost = self._checked - started
        return found


@cache
def _plain_fields() -> dict[str, TypeAdapter[Any]]:
    """Return what reads and writes each plain field of `Prepared`: whatever fields it will have."""
    hints = get_type_hints(Prepared)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(Prepared) if field.name not in _OBJECTS}


def _plain(value: Any) -> Any:
    """Return what JSON writes, of a mapping or a NumPy scalar."""
    return dict(value) if isinstance(value, Mapping) else value.item()


def _digest(path: Path) -> str:
    """Return a file's digest; empty if it is no file that can be read."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError:
        return ""


@contextmanager
def shared(sources: Sequence[Prepared]) -> Iterator[Shared]:
    """Write what blocks are drawn from to a temporary folder that workers map into memory."""
    with TemporaryDirectory(prefix="rankbench-", ignore_cleanup_errors=True) as name:
        yield Shared(Path(name), sources)


def spec_of(dataset: Dataset | None) -> str:
    """Return the spec by which a worker makes the data set again; empty if it cannot.

    A data set that is not registered (a file of one's own, an object made in a script) is
    known to the parent process alone; its blocks have all that they need in the arrays.
    """
    if dataset is None or dataset.name not in names("dataset"):
        return ""
    return str(dataset) if component_class("dataset", dataset.name) is type(dataset) else ""


def open_shared(folder: Path, source: int) -> Prepared:
    """Open one of what `shared` wrote, its arrays mapped read-only.

    Equal to what was written in every field, but for a data set that `spec_of` has no word
    for: it is None.
    """
    facts = json.loads((folder / f"source-{source}.json").read_text(encoding="utf-8"))
    arrays = {name: np.load(folder / file, mmap_mode="r", allow_pickle=False) for name, file in facts["arrays"].items()}
    plain = {name: adapter.validate_python(facts[name]) for name, adapter in _plain_fields().items()}
    dataset = dataset_of(facts["dataset"]) if facts["dataset"] else None
    return Prepared(protocol=protocol_of(facts["protocol"]), dataset=dataset, arrays=arrays, **plain)
