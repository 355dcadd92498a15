"""The floor under every leaderboard: scores that know nothing."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.kinds.method import Block, Fitted, Method
from rankbench.kinds.queries import Queries

__all__ = ["RandomScores"]


class RandomScores(Method):
    """Score items by independent standard normal draws, whatever the judgments say.

    All m! orders of a query are equally likely, so its mean loss is that of a random
    order: what a contender must beat to have learned anything.

    The draws belong to the block and the stream: scoring the same queries again gives the
    same scores, and two streams are independent of one another.
    """

    name: ClassVar[str] = "random-scores"
    source: ClassVar[str] = "Baseline: i.i.d. N(0, 1) scores"
    properties: ClassVar[frozenset[Property]] = frozenset({"stochastic"})
    needs_features: ClassVar[bool] = False

    stream: int = Field(default=0, ge=0, description="Which of the independent baselines this one is.")

    def fit(self, block: Block) -> Fitted:
        """Return a scorer that draws from the block's generator for this stream."""

        def score(queries: Queries) -> NDArray[np.float64]:
            return block.generator(self).standard_normal(int(queries.offsets[-1]))

        return Fitted(score)
