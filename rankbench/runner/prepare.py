"""From a suite's data set to the design and held-out queries that its blocks share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from rankbench.data.dataset import Dataset
from rankbench.data.load import load_dataset, usable
from rankbench.data.queries import Queries
from rankbench.data.shards import design_heldout
from rankbench.data.transforms import apply
from rankbench.errors import InputError
from rankbench.suites.schema import Suite

__all__ = ["Prepared", "open_shared", "prepare", "shared"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Queries of a run.

    Attributes
    ----------
    dataset : Dataset
    fingerprint : str
        sha256 of the data.
    design, heldout : Queries
        Transformed; judged, and only evaluated on.
    scale : float
        By which the suite's n are multiplied: 1 where there are as many design queries
        as the suite wants.
    notes : tuple of str
        What a reader must know about all this.
    """

    dataset: Dataset
    fingerprint: str
    design: Queries
    heldout: Queries
    scale: float
    notes: tuple[str, ...]

    def scaled(self, n: int) -> int:
        """Return the number of judgments that stands for the suite's n."""
        return max(1, round(n * self.scale))


def prepare(suite: Suite, dataset: Dataset) -> Prepared:
    """Load a data set, leave out what cannot be judged, split and transform it.

    Raises
    ------
    InputError
        The data is not there, cannot be read, or has fewer than two usable queries.
    """
    queries = load_dataset(dataset)
    chosen = usable(queries)
    if len(chosen) < 2:
        raise InputError(
            f"data set {dataset!s} has {len(chosen)} usable queries; two with at least two different labels are needed"
        )
    notes = []
    if len(chosen) < len(queries):
        notes.append(
            f"{len(queries) - len(chosen)} of {len(queries)} queries left out: all their labels are equal, "
            "or they have fewer than two items."
        )
    design, heldout = design_heldout([queries.ids[q] for q in chosen], suite.design_queries, suite.heldout_queries)
    scale = len(design) / suite.design_queries
    if len(design) < suite.design_queries:
        notes.append(
            f"{len(design)} design and {len(heldout)} held-out queries instead of {suite.design_queries} and "
            f"{suite.heldout_queries}; every n is scaled by {scale:.4g}, which keeps the judgments per query."
        )
    return Prepared(
        dataset,
        dataset.fingerprint(),
        apply(suite.transforms, queries.take(chosen[design])),
        apply(suite.transforms, queries.take(chosen[heldout])),
        scale,
        tuple(notes),
    )


@contextmanager
def shared(prepared: Prepared) -> Iterator[Path]:
    """Write the queries to a temporary folder that worker processes map into memory."""
    with TemporaryDirectory(prefix="rankbench-") as name:
        for split, queries in (("design", prepared.design), ("heldout", prepared.heldout)):
            folder = Path(name) / split
            folder.mkdir()
            np.save(folder / "x.npy", queries.x)
            np.save(folder / "offsets.npy", queries.offsets)
            np.save(folder / "labels.npy", queries.labels)
            (folder / "ids.txt").write_text("\n".join(queries.ids), encoding="utf-8")
        yield Path(name)


def open_shared(folder: Path) -> tuple[Queries, Queries]:
    """Open what `shared` wrote: design and held-out queries, features mapped read-only."""

    def load(split: str, name: str) -> NDArray[np.float64]:
        array: NDArray[np.float64] = np.load(folder / split / f"{name}.npy", allow_pickle=False)
        return array

    def queries(split: str) -> Queries:
        ids = (folder / split / "ids.txt").read_text(encoding="utf-8").split("\n")
        x = np.load(folder / split / "x.npy", mmap_mode="r", allow_pickle=False)
        return Queries(ids, load(split, "offsets").astype(np.int64), x, load(split, "labels"))

    return queries("design"), queries("heldout")
