"""What worker processes share: prepared arrays, mapped into memory, never pickled."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from rankbench.kinds.dataset import Dataset
from rankbench.kinds.metric import Metric
from rankbench.kinds.protocol import Prepared
from rankbench.plugin.manager import component_class, names
from rankbench.runner.prepare import dataset_of, protocol_of
from rankbench.system import give_back

__all__ = ["open_shared", "shared", "spec_of", "write_shared"]

_OBJECTS = ("protocol", "dataset", "arrays")
"""Fields of `Prepared` that are not written as plain values."""

_ALIGNMENT = 64
"""Arrays begin at multiples of so many bytes, as NumPy's own do."""

_LENGTH = 8
"""Bytes at the end that say how long the facts before them are."""


def write_shared(sources: Sequence[Prepared], file: BinaryIO) -> None:
    """Write what blocks are drawn from: every array once, in NumPy's format, then a JSON text of the rest."""
    written: dict[int, int] = {}
    facts = []
    for prepared in sources:
        for array in prepared.arrays.values():
            # What sources share, as protocols on one log do, is written once.
            if id(array) not in written:
                file.write(bytes(-file.tell() % _ALIGNMENT))
                written[id(array)] = file.tell()
                np.lib.format.write_array(file, array, version=(2, 0), allow_pickle=False)
        facts.append(
            {name: getattr(prepared, name) for name in _plain_fields()}
            | {
                "protocol": str(prepared.protocol),
                "dataset": spec_of(prepared.dataset),
                "arrays": {of: written[id(array)] for of, array in prepared.arrays.items()},
            }
        )
    text = json.dumps(facts, default=_plain).encode()
    file.write(text + len(text).to_bytes(_LENGTH, "little"))


@cache
def _plain_fields() -> dict[str, TypeAdapter[Any]]:
    """Return what reads and writes each plain field of `Prepared`: whatever fields it will have."""
    hints = get_type_hints(Prepared)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(Prepared) if field.name not in _OBJECTS}


def _plain(value: Any) -> Any:
    """Return what JSON writes, of a metric, a mapping or a NumPy scalar."""
    if isinstance(value, Metric):
        return asdict(value)
    return dict(value) if isinstance(value, Mapping) else value.item()


@contextmanager
def shared(sources: list[Prepared]) -> Iterator[Path]:
    """Write what blocks are drawn from to a temporary file that workers map into memory.

    So does this process: sources with mapped arrays take the place of those in the list, whose memory is free
    when nobody else holds them. For workers that run no foreign code, while none runs: it could change the file. See
    `rankbench.runner.sealed_files`.
    """
    with TemporaryDirectory(prefix="rankbench-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "shared"
        with path.open("wb") as file:
            write_shared(sources, file)
        # Not by a loop, whose variable would hold the last source as long as blocks run.
        sources[:] = [replace(one, arrays=open_shared(path, source).arrays) for source, one in enumerate(sources)]
        give_back()
        yield path


def spec_of(dataset: Dataset | None) -> str:
    """Return the spec by which a worker makes the data set again; empty if it cannot.

    A data set that is not registered (a file of one's own, an object made in a script) is
    known to the parent process alone; its blocks have all that they need in the arrays.
    """
    if dataset is None or dataset.name not in names("dataset"):
        return ""
    return str(dataset) if component_class(Dataset, dataset.name) is type(dataset) else ""


def open_shared(place: str | Path, source: int) -> Prepared:
    """Open one of what `write_shared` wrote, its arrays mapped read-only.

    Equal to what was written in every field, but for a data set that `spec_of` has no word
    for: it is None.
    """
    with Path(place).open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    end = len(mapped) - _LENGTH
    facts = json.loads(mapped[end - int.from_bytes(mapped[end:], "little") : end])[source]
    arrays = {name: _array(mapped, first) for name, first in facts["arrays"].items()}
    plain = {name: adapter.validate_python(facts[name]) for name, adapter in _plain_fields().items()}
    dataset = dataset_of(facts["dataset"]) if facts["dataset"] else None
    return Prepared(protocol=protocol_of(facts["protocol"]), dataset=dataset, arrays=arrays, **plain)


def _array(mapped: mmap.mmap, first: int) -> NDArray[Any]:
    """Return the array that begins at a byte."""
    mapped.seek(first)
    np.lib.format.read_magic(mapped)
    shape, columns, dtype = np.lib.format.read_array_header_2_0(mapped)
    return np.ndarray(shape, dtype, mapped, mapped.tell(), order="F" if columns else "C")
