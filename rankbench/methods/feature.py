"""One feature as the score: the baseline that a learned model must beat."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.errors import SpecError
from rankbench.kinds.method import Block, Fitted, Method
from rankbench.kinds.queries import Queries

__all__ = ["Feature"]


class Feature(Method):
    """Score items by one of their features, whatever the judgments say: larger is better.

    BM25 among the features of a web search query, or a movie's mean rating, is what a
    combination of all features must beat to have learned anything.
    """

    name: ClassVar[str] = "feature"
    source: ClassVar[str] = "Baseline"

    index: int = Field(default=0, ge=0, description="Which feature, from 0.")

    def fit(self, block: Block) -> Fitted:
        """Return a scorer that reads the column.

        Raises
        ------
        SpecError
            There are fewer features.
        """
        d = block.design.x.shape[1]
        if self.index >= d:
            raise SpecError(f"method 'feature': index={self.index}, but items have the features 0 to {d - 1}")

        def score(queries: Queries) -> NDArray[np.float64]:
            return queries.x[:, self.index].astype(np.float64)

        return Fitted(score)
