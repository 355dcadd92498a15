"""The ceiling over every leaderboard: scores that know the truth."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.kinds.method import Block, Fitted, Method
from rankbench.kinds.queries import Queries

__all__ = ["Oracle"]


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
