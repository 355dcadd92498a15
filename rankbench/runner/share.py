"""What worker processes share: prepared arrays, mapped into memory, never pickled."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rankbench.data.dataset import Dataset
from rankbench.plugin.manager import component_class, names
from rankbench.protocols.base import Prepared
from rankbench.runner.prepare import dataset_of, protocol_of

__all__ = ["open_shared", "shared"]


@contextmanager
def shared(sources: Sequence[Prepared]) -> Iterator[Path]:
    """Write what blocks are drawn from to a temporary folder that workers map into memory."""
    written: dict[int, str] = {}
    with TemporaryDirectory(prefix="rankbench-") as name:
        for index, prepared in enumerate(sources):
            for array in prepared.arrays.values():
                # What sources share, as protocols on one log do, is one file.
                if id(array) not in written:
                    written[id(array)] = f"array-{len(written)}.npy"
                    np.save(Path(name) / written[id(array)], array, allow_pickle=False)
            facts = {
                "protocol": str(prepared.protocol),
                "dataset": _shared_spec(prepared.dataset),
                "fingerprint": prepared.fingerprint,
                "units": {split: list(names) for split, names in prepared.units.items()},
                "arrays": {of: written[id(array)] for of, array in prepared.arrays.items()},
                "scale": prepared.scale,
            }
            (Path(name) / f"source-{index}.json").write_text(json.dumps(facts), encoding="utf-8")
        yield Path(name)


def _shared_spec(dataset: Dataset | None) -> str:
    """Return the spec by which a worker makes the data set again; empty if it cannot.

    A data set that is not registered (a file of one's own, an object made in a script) is
    known to the parent process alone; its blocks have all that they need in the arrays.
    """
    if dataset is None or dataset.name not in names("dataset"):
        return ""
    return str(dataset) if component_class("dataset", dataset.name) is type(dataset) else ""


def open_shared(folder: Path, source: int) -> Prepared:
    """Open one of what `shared` wrote, its arrays mapped read-only."""
    facts = json.loads((folder / f"source-{source}.json").read_text(encoding="utf-8"))
    arrays = {name: np.load(folder / file, mmap_mode="r", allow_pickle=False) for name, file in facts["arrays"].items()}
    units = {split: tuple(names) for split, names in facts["units"].items()}
    dataset = dataset_of(facts["dataset"]) if facts["dataset"] else None
    return Prepared(protocol_of(facts["protocol"]), dataset, facts["fingerprint"], units, arrays, float(facts["scale"]))
