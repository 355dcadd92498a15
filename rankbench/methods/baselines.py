"""Methods that learn nothing: scores that know nothing, one feature, the truth itself."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Property
from rankbench.errors import SpecError
from rankbench.kinds.method import Block, Fitted, Method
from rankbench.kinds.queries import Queries

__all__ = ["Feature", "Oracle", "RandomScores"]


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


class Oracle(Method):
    """Score items by their relevance labels, those of the queries that are judged included.

    Not a competitor but a yardstick: where judgments follow the labels, as under BTL (26),
    its loss is the Bayes risk, and what another contender loses more is that one's excess
    risk. Take it as the experiment's `baseline`, and the paired differences on the
    leaderboard are excess risks with their intervals.

    Notes
    -----
    Under BTL the limit scores (27) increase with the labels and ``p_ij > 1/2`` just where
    label i is larger. So the labels' order is optimal for the NDCG family (14) on (27),
    where it loses 0; for the ERR family (16), by exchange of neighbors; and for pairwise
    disagreement (10), which contradicts the smaller of p_ij and p_ji in every pair. Items
    of equal labels are tied, which costs as much as any order of them. For other laws
    `Loss.bayes_risk` has the Bayes risk, and the labels may not attain it.
    """

    name: ClassVar[str] = "oracle"
    source: ClassVar[str] = "Bayes risk under BTL, [DMJ13]_ eq. (26), (27)"
    needs_features: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = True

    def fit(self, block: Block) -> Fitted:
        """Learn nothing: the labels come with the queries that are to be scored."""
        return Fitted(_labels)


def _labels(queries: Queries) -> NDArray[np.float64]:
    return np.array(queries.labels, dtype=np.float64)
