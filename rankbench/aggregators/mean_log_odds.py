"""The average empirical log-odds of an item, the structure function of [DMJ13]_ section 6.2."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.pair_sums import item_sums, log_odds
from rankbench.component import Property
from rankbench.kinds.aggregator import Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.counts import PairCounts

__all__ = ["MeanLogOdds"]


class MeanLogOdds(Aggregator):
    r"""Mean log-odds of being preferred to the other items, smoothed.

    .. math:: s(i) = \frac{1}{m-1} \sum_{j \ne i} \log \frac{w_{ij} + c}{w_{ji} + c}

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. A pair that
    was not observed contributes 0. The scores sum to zero.

    With ``frequencies=joint`` the weights are divided by the total weight W of the k
    judgments before c is added, as in section 5.1. With c fixed, that is smoothing by c W
    counts, which never fades.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: the limit scores (27) for
    ``counts``. For ``joint`` it is *not* (27) but
    :math:`\frac{1}{m-1} \sum_{j \ne i} \log \frac{p_{ij} / M + c}{p_{ji} / M + c}` with
    M = m (m - 1) / 2, close to linear in the win margin as soon as c M is not small.

    Multiplying all weights by a constant leaves ``joint`` as it is; for ``counts`` it makes
    the smoothing count for less.
    """

    name: ClassVar[str] = "mean-log-odds"
    unit: ClassVar[str] = "log-odds"
    source: ClassVar[str] = "[DMJ13]_ section 6.2, eq. (27); smoothing: section 5.1"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    smoothing: float = Field(default=0.5, gt=0, allow_inf_nan=False, description="Added to both sides, c.")
    frequencies: Literal["counts", "joint"] = Field(
        default="counts", description="Whether c is added to counts or to frequencies among the k judgments."
    )

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the mean log-odds, shape (m,)."""
        odds = log_odds(counts, self.smoothing, joint=self.frequencies == "joint")
        return item_sums(counts, odds) / (counts.m - 1)

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is a table of m x m counts."""
        from rankbench.aggregators.kernels.mean_log_odds import mean_log_odds, parameters
        from rankbench.aggregators.kernels.pair_table import table_size
        from rankbench.kernels.signatures import Kernel

        return Kernel(mean_log_odds, parameters(self.smoothing, joint=self.frequencies == "joint"), table_size)
