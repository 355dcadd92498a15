"""What a score table becomes: the scores of S systems on T tasks, in R runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["TaskScores"]


@dataclass(frozen=True, eq=False)
class TaskScores:
    """Scores of systems on tasks, by seed.

    Attributes
    ----------
    systems, tasks, seeds : list of str, of lengths S, T and R
        Names, in the order in which they first appear. Without seeds there is one, of the empty name.
    values : ndarray of float64, shape (R, T, S)
        nan where a cell is missing.
    """

    systems: list[str]
    tasks: list[str]
    seeds: list[str]
    values: NDArray[np.float64]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which cells have a score of one seed at least, shape (T, S)."""
        return np.asarray((~np.isnan(self.values)).any(axis=0))
