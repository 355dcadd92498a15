"""Row geometric means of a reciprocal matrix: log least squares.

References
----------
.. [CW85] G. Crawford and C. Williams. A note on the analysis of subjective judgment
   matrices. Journal of Mathematical Psychology 29(4), 1985.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.aggregators.pair_sums import item_sums, log_odds
from rankbench.aggregators.priorities import Scale, on_scale
from rankbench.component import Property
from rankbench.kinds.aggregator import Aggregator

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.counts import PairCounts

__all__ = ["GeometricMean"]


class GeometricMean(Aggregator):
    r"""Row geometric means of the reciprocal matrix of smoothed ratios.

    .. math:: s(i) \propto \Bigl( \prod_j A_{ij} \Bigr)^{1/m}, \quad
       A_{ij} = \frac{w_{ij} + c}{w_{ji} + c} = \frac{1}{A_{ji}}

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. A pair that
    was not observed has ratio 1, as the formula says. It is the variant of `eigenvector`
    that has a closed form: the logarithms minimize
    :math:`\sum_{i<j} (\log A_{ij} - (x_i - x_j))^2` over *all* pairs, where
    `thurstone-mosteller` fits the observed ones alone. Up to three items the two variants agree.

    With ``scale=ratio`` the scores are positive, with mean 1; with ``scale=log`` they are
    the logarithms, which sum to zero and are (m - 1) / m times the `mean-log-odds`. An item
    without judgments scores 0 on the log scale.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity, with ``counts``: :math:`r_i - \bar r`
    on the log scale, (m - 1) / m times the limit scores (27), and so proportional to
    :math:`e^{r_i}` on the ratio scale. Multiplying all weights by a constant leaves ``joint``
    as it is; for ``counts`` it makes the smoothing count for less.
    """

    name: ClassVar[str] = "geometric-mean"
    source: ClassVar[str] = "[DMJ13]_ section 5.1, principal eigenvector method; [CW85]_"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant"})

    smoothing: float = Field(default=0.5, gt=0, allow_inf_nan=False, description="Added to both sides, c.")
    frequencies: Literal["counts", "joint"] = Field(
        default="counts", description="Whether c is added to counts or to frequencies among the k judgments."
    )
    scale: Scale = Field(default="ratio", description="Positive scores with mean 1, or their logarithms.")

    def score_unit(self) -> str:
        """Return what the scores are in, with this scale."""
        return "logarithms of strength" if self.scale == "log" else "strength, 1 on average"

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,)."""
        odds = log_odds(counts, self.smoothing, joint=self.frequencies == "joint")
        logs = item_sums(counts, odds) / counts.m
        # The logarithms sum to zero as they are, and centering would blur exact zeros.
        return logs if self.scale == "log" else on_scale(logs, self.scale)

    def kernel(self) -> Kernel:
        """Return the compiled form; its scratch memory is a table of m x m counts."""
        from rankbench.aggregators.kernels.eigenvector import geometric_mean
        from rankbench.aggregators.kernels.mean_log_odds import parameters
        from rankbench.aggregators.kernels.pair_table import table_size
        from rankbench.kernels.signatures import Kernel

        odds = parameters(self.smoothing, joint=self.frequencies == "joint")
        return Kernel(geometric_mean, np.concatenate([[float(self.scale == "log")], odds]), table_size)
