"""An aggregator that averages Elo ratings over random orders of the judgments.

References
----------
.. [BKEHF23] M. Boubdir, E. Kim, B. Ermis, S. Hooker and M. Fadaee. Elo uncovered: robustness and best practices in
   language model evaluation. GEM workshop, 2023.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.sequential import Elo
from rankbench.interfaces.aggregator import ComparisonAggregator
from rankbench.interfaces.queries import Comparisons


class PermutedElo(ComparisonAggregator):
    r"""The mean of Elo ratings over random orders of the judgments, so that their own order says nothing.

    .. math:: s = \frac1P \sum_{p=1}^P \text{elo}(Y_{\pi_p(1)}, \ldots, Y_{\pi_p(k)})

    for P permutations :math:`\pi_p` of the sorted judgments, which are random, but the same for every log of k
    judgments. `elo` has the rule. Other names of the items sort the judgments otherwise, and change scores a little.
    [BKEHF23]_ report that ratings of language models settle with 100 permutations or more.

    Prefer it to `elo` where strengths do not change, and Elo ratings are asked for. `bradley-terry` fits them without
    permutations.

    Notes
    -----
    There is no limit: for many judgments the mean fluctuates around :math:`r_i - \bar r`, the less the larger P is
    and the smaller K.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "bob", "bob"], "loser": ["bob", "cy", "ada"]}
    >>> rankbench.aggregate(votes, "permuted-elo").table.select("item", "score").rows()
    [('bob', 0.0883...), ('ada', 0.0037...), ('cy', -0.0921...)]
    """

    name: ClassVar[str] = "permuted-elo"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[BKEHF23]_"

    factor: float = Field(
        default=32.0, gt=0, allow_inf_nan=False, description="K, the most Elo points that one judgment moves."
    )
    permutations: int = Field(default=100, ge=1, le=10_000, strict=True, description="Number of orders, P.")

    def aggregate(
        self, winners: NDArray[np.int32], losers: NDArray[np.int32], weights: NDArray[np.float64], m: int
    ) -> NDArray[np.float64]:
        """Return the mean ratings, shape (m,)."""
        return self.from_comparisons(Comparisons(np.array([0, len(winners)]), winners, losers, weights), m)

    def from_comparisons(self, comparisons: Comparisons, m: int) -> NDArray[np.float64]:
        """Return the mean ratings, shape (m,); a tie is one update."""
        rule, total = Elo(factor=self.factor), np.zeros(m)
        ties = np.zeros(len(comparisons), np.bool_) if comparisons.ties is None else comparisons.ties
        # Which item a tie names first means nothing, so it must not decide where the tie is sorted.
        named, other = comparisons.winners, comparisons.losers
        first, second = (
            np.where(ties, end(named, other), own) for end, own in ((np.minimum, named), (np.maximum, other))
        )
        sorted_rows = np.lexsort((comparisons.weights, ties, second, first))
        for p in range(self.permutations):
            order = np.random.default_rng([p]).permutation(sorted_rows)
            winners, losers, weights = (column[order] for column in (first, second, comparisons.weights))
            total += rule.from_comparisons(Comparisons(comparisons.offsets, winners, losers, weights, ties[order]), m)
        return total / self.permutations
