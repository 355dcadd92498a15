"""The interface of methods on score tables: systems, tasks and seeds to a score for each system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankbench.component import JudgmentKind
from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.scores import finite_scores
from rankbench.returned import Promise

__all__ = ["ScoreAggregator"]


class ScoreAggregator(Aggregator):
    """Base of aggregators of score tables.

    A subclass gives `cells`, where its scores are means over seeds and tasks of something that each cell of the table
    shows by itself: intervals and rank ranges then need no second look at the table. Any other gives `from_scores`,
    which is asked for each resample. One that defines one of the two anew does not inherit the other.

    Attributes
    ----------
    direction : {"minimize", "maximize"}
        Which scores are better.
    unit : str
        What a score is, in words.
    """

    judgments: ClassVar[JudgmentKind] = "measurements"
    promises: ClassVar[Mapping[str, Promise]] = {**Aggregator.promises, "cells": "array", "from_scores": "array"}
    direction: ClassVar[Literal["minimize", "maximize"]] = "maximize"
    unit: ClassVar[str] = "score"

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        """Take back the form of another formula."""
        super().__pydantic_init_subclass__(**kwargs)
        own = {"cells", "from_scores"} & set(vars(cls))
        if len(own) == 1:
            (other,) = {"cells", "from_scores"} - own
            setattr(cls, other, vars(ScoreAggregator)[other])

    @classmethod
    def defect(cls) -> str:
        """Return what is missing; see `Component.defect`."""
        if not cls.has_cells() and cls.from_scores is ScoreAggregator.from_scores:
            return "it has neither cells nor from_scores"
        if cls.direction not in ("minimize", "maximize"):
            return f"direction is {cls.direction!r}, neither 'minimize' nor 'maximize'"
        return super().defect()

    @classmethod
    def has_cells(cls) -> bool:
        """Return whether scores are means of `cells`."""
        return cls.cells is not ScoreAggregator.cells

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each cell gives each system, shape (R, T, S); its mean over seeds and tasks is the score.

        Parameters
        ----------
        values : ndarray of float64, shape (R, T, S)
            Finite; R seeds, T tasks, S systems, at least two of these. More is better.
        """
        raise TypeError(f"aggregator {self.name!r} makes no mean over cells; ask from_scores")

    def from_scores(self, values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the systems' scores, shape (S,).

        Parameters
        ----------
        values : ndarray of float64, shape (R, T, S)
            As `cells` gets them.
        weights : ndarray of float64, shape (R, T)
            How often each cell counts: whole numbers, some of them 0, not all.
        """
        shares = weights / weights.sum()
        return np.asarray(np.einsum("rt,rts->s", shares, self.checked_cells(values)))

    def checked_cells(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `cells`, which must be finite and of the shape of the values.

        Raises
        ------
        ContenderDiverged
            A cell is not finite.
        SpecError
            They have another shape.
        """
        found = np.asarray(self.cells(values), dtype=np.float64)
        if found.shape != values.shape:
            raise SpecError(f"aggregator {self.name!r}: cells have shape {found.shape}, not {values.shape}")
        finite_scores(found.ravel(), found.size)
        return found

    def resampled_scores(
        self, values: NDArray[np.float64], of_seeds: NDArray[np.float64], of_tasks: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return `from_scores` of B resamples, shape (B, S); nan in a row where there are no scores.

        Parameters
        ----------
        values : ndarray of float64, shape (R, T, S)
        of_seeds, of_tasks : ndarray of float64, shapes (B, R) and (B, T)
            How often each is in a resample.
        """
        found = np.full((len(of_tasks), values.shape[2]), np.nan)
        for row, seeds, tasks in zip(found, of_seeds, of_tasks, strict=True):
            try:
                row[:] = finite_scores(self.from_scores(values, np.outer(seeds, tasks)), values.shape[2])
            except (ContenderDiverged, InputError):
                continue
        return found
