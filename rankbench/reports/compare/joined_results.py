"""Two results as one, so that the same statistics tell them apart that tell contenders apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Curve, Split
from rankbench.store.contents import StoredCell
from rankbench.store.records import Member, SuiteRecord
from rankbench.store.stored import StoredResults

__all__ = ["BASE", "HEAD", "JoinedResults"]

BASE, HEAD = "base ", "head "
"""What stands before the labels and cells of either."""


class JoinedResults:
    """Results whose contenders are those of two results, each with its own.

    Parameters
    ----------
    base, head : StoredResults
        The record is that of `head`, whose experiments `base` has too.
    experiments : set of str
        Those that are joined.
    """

    def __init__(self, base: StoredResults, head: StoredResults, experiments: set[str]) -> None:
        self._parts = {BASE: base, HEAD: head}
        self._experiments = experiments
        self.path: Path = head.path

    def suite_text(self) -> str:
        """Return the JSON of the record of `head`."""
        return self._parts[HEAD].suite_text()

    def record(self) -> SuiteRecord:
        """Return the record of `head`."""
        return self._parts[HEAD].record()

    def members(self) -> list[Member]:
        """Return the cells of both, those of `base` first."""
        return [
            replace(member, label=side + member.label, cell=side + member.cell)
            for side, part in self._parts.items()
            for member in part.members()
            if member.experiment in self._experiments
        ]

    def cells(self) -> dict[str, StoredCell]:
        """Return what became of every cell of both."""
        return {side + name: cell for side, part in self._parts.items() for name, cell in part.cells().items()}

    def losses(self, cell: str, metric: str, split: Split) -> NDArray[np.float64] | None:
        """Return a cell's loss of every unit."""
        side = cell[: len(BASE)]
        return self._parts[side].losses(cell.removeprefix(side), metric, split)

    def curves(self, cell: str) -> dict[str, Curve]:
        """Return a cell's curves by metric."""
        side = cell[: len(BASE)]
        return self._parts[side].curves(cell.removeprefix(side))

    def progress(self) -> tuple[int, int]:
        """Return how many cells of both plans were computed, and how many there are."""
        known, planned = zip(*(part.progress() for part in self._parts.values()), strict=True)
        return sum(known), sum(planned)
