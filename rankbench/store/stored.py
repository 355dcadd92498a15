"""What a report is made from, wherever it is kept: a run's journal, or the rows that were published of it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.cell import Curve, Split
from rankbench.store.contents import StoredCell
from rankbench.store.records import Member, SuiteRecord

__all__ = ["StoredResults"]


class StoredResults(Protocol):
    """A run's plan and all that was computed for it.

    Attributes
    ----------
    path : Path
        What errors name.
    """

    path: Path

    def suite_text(self) -> str:
        """Return the JSON of the suite's record."""

    def record(self) -> SuiteRecord:
        """Return the suite's record."""

    def members(self) -> list[Member]:
        """Return every cell that an experiment shows, in a fixed order."""

    def cells(self) -> dict[str, StoredCell]:
        """Return what became of every cell of the plan that was computed."""

    def losses(self, cell: str, metric: str, split: Split) -> NDArray[np.float64] | None:
        """Return a cell's loss of every unit, shape (U_split,), or None where it has none."""

    def curves(self, cell: str) -> dict[str, Curve]:
        """Return a cell's curves by metric."""

    def progress(self) -> tuple[int, int]:
        """Return how many cells of the plan were computed, and how many there are."""
